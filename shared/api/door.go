package api

import "net/http"

// New makes the door.
func New(c Config) (http.Handler, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return http.NotFoundHandler(), nil
}
