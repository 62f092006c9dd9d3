package main

import (
	"net"
	"net/http"
)

// loopbackOnly refuses requests that name another host. Without authentication
// the address is the only protection, and a web page can point a name of its own
// at 127.0.0.1 (DNS rebinding).
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this server answers to 127.0.0.1, [::1] and localhost only", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
