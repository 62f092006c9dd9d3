package main

import (
	"net"
	"net/http"
	"strconv"
	"time"
)

// status answers with a status and headers.
func status(code int, headers ...string) fate {
	return func(w http.ResponseWriter, _ *http.Request) (string, bool) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		return strconv.Itoa(code), code/100 == 2
	}
}

// slow takes its time, and answers with success.
func slow(d time.Duration) fate {
	return func(w http.ResponseWriter, r *http.Request) (string, bool) {
		wait := time.NewTimer(d)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-r.Context().Done():
			return "left after less than " + span(d), false
		}
		w.WriteHeader(http.StatusOK)
		return "200 after " + span(d), true
	}
}

// reset breaks the connection without an answer.
func reset(w http.ResponseWriter, _ *http.Request) (string, bool) {
	hangUp(w)
	return "reset", false
}

// lost breaks the connection as well, when the update has been taken.
func lost(w http.ResponseWriter, _ *http.Request) (string, bool) {
	hangUp(w)
	return "answer lost", true
}

// hang does not answer, for as long as the sender waits.
func hang(_ http.ResponseWriter, r *http.Request) (string, bool) {
	began := time.Now()
	<-r.Context().Done()
	return "given up after " + span(time.Since(began)), false
}

// hangUp ends a connection with RST.
func hangUp(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, is := c.(*net.TCPConn); is {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
