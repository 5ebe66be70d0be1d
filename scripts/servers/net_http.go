// A streaming answer as Go's net/http documents it: a handler that writes (https://pkg.go.dev/net/http#ResponseWriter).
//
//	go build -o target/servers/net_http scripts/servers/net_http.go
//	PORT=8000 target/servers/net_http     GET /health, GET /export
//
// CHUNK: bytes of a write. BYTES: of the whole answer. GOMAXPROCS=1: on one thread. It has no cure: its runtime takes
// a goroutine off its thread after 10 ms.
package main

import (
	"bytes"
	"log"
	"net/http"
	"os"
	"strconv"
)

func number(name string, usual int) int {
	if value, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return value
	}
	return usual
}

func main() {
	total := number("BYTES", 1<<31)
	chunk := bytes.Repeat([]byte("x"), number("CHUNK", 1024))
	http.HandleFunc("/export", func(w http.ResponseWriter, r *http.Request) {
		for left := total; left > 0; left -= len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	http.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("ok"))
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
