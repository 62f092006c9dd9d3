package node

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Serve serves a node that was started until the context ends, then stops it: first the
// node, so that open streams end, then the server. Both have so long together.
func (n *Node) Serve(ctx context.Context, listener net.Listener, stopTime time.Duration) error {
	server := &http.Server{Handler: n.Handler, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return errors.Join(err, n.Stop(context.WithoutCancel(ctx)))
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := n.Stop(stopping)
	if server.Shutdown(stopping) != nil { // somebody does not hang up
		err = errors.Join(err, server.Close())
	}
	return err
}
