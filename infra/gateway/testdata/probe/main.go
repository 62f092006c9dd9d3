// Command probe is a function of small routes, each of which shows one property of
// the gateway to a test that talks to the compiled binary.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/holdfast-a2a/holdfast/infra/gateway"
)

func main() {
	reserve, _ := time.ParseDuration(os.Getenv("PROBE_RESERVE"))
	mux := http.NewServeMux()
	mux.HandleFunc("/echo/{rest...}", echo)
	mux.HandleFunc("/size", size)
	mux.HandleFunc("/frames", frames)
	mux.HandleFunc("/until", until)
	mux.HandleFunc("/headers", headers)
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic("the-secret") })
	mux.HandleFunc("/panic-late", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "begun")
		w.(http.Flusher).Flush()
		panic("the-secret")
	})
	mux.HandleFunc("/exit", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "begun")
		w.(http.Flusher).Flush()
		if answer, err := http.Get(r.URL.Query().Get("source")); err == nil { // when the caller has it
			_ = answer.Body.Close()
		}
		os.Exit(3)
	})
	mux.HandleFunc("/wide", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Wide", strings.Repeat("x", 17<<10))
		fmt.Fprint(w, "never seen")
	})
	lambda.Start(gateway.Handler(mux, gateway.Options{Reserve: reserve, Logger: slog.New(slog.NewJSONHandler(os.Stdout, nil))}))
}

// echo answers with the request as a handler sees it.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ip, _, _ := strings.Cut(r.RemoteAddr, ":")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"method": r.Method, "path": r.URL.Path, "escaped": r.URL.EscapedPath(), "uri": r.RequestURI, "query": r.URL.Query(),
		"header": r.Header, "host": r.Host, "ip": ip, "base": gateway.BaseURL(r), "body": body, "length": r.ContentLength,
	})
}

func size(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 4<<20))
	if err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	fmt.Fprint(w, n)
}

// frames sends as many frames as there are words to fetch from the address in the
// query: each is asked for only after the one before was flushed.
func frames(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := 1; ; i++ {
		answer, err := http.Get(r.URL.Query().Get("source") + "?frame=" + strconv.Itoa(i))
		if err != nil {
			return
		}
		word, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if len(word) == 0 {
			return
		}
		fmt.Fprintf(w, "data: %s\n\n", word)
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
	}
}

// until streams until its context ends, and says so.
func until(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, "begun\n")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
	fmt.Fprint(w, "ended\n")
}

func headers(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Set-Cookie", "a=1")
	w.Header().Add("Set-Cookie", "b=2")
	w.Header().Add("Vary", "Accept")
	w.Header().Add("Vary", "Origin")
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Length", "999")
	w.WriteHeader(http.StatusAccepted)
	w.WriteHeader(http.StatusTeapot)
	w.Header().Set("X-Late", "1")
	fmt.Fprint(w, "<html>")
}
