// A server on several threads, and five things that make its requests late. WHAT names the one that /work
// does; /health needs the same lock, or a place in the same pool.
//
//	go build -o target/servers/threads scripts/servers/threads.go
//	PORT=8080 WHAT=lock target/servers/threads
//
// GOMAXPROCS says on how many threads at once.
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// How long a piece of work takes, how much it writes, and how much of that at once.
const (
	length = 800 * time.Millisecond
	bytes  = 20 << 20
	block  = 64 << 10
)

var (
	lock sync.Mutex
	pool = make(chan struct{}, 5)
	sink int
)

// hold keeps others out for a while.
func hold() {
	lock.Lock()
	defer lock.Unlock()
	time.Sleep(length)
}

// compute keeps a thread busy.
func compute() {
	for until := time.Now().Add(length); time.Now().Before(until); {
		for i := 0; i < 1_000_000; i++ {
			sink += i
		}
	}
}

// write puts bytes on the disk, each block before the next, and keeps others out meanwhile.
func write() {
	lock.Lock()
	defer lock.Unlock()
	file, err := os.CreateTemp("", "threads-")
	if err != nil {
		panic(err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	fd, zeros := int(file.Fd()), make([]byte, block)
	for at := 0; at < bytes; at += block {
		if _, err := syscall.Write(fd, zeros); err != nil {
			panic(err)
		}
		syscall.Fdatasync(fd)
	}
}

// place takes one of five places for a while.
func place() {
	pool <- struct{}{}
	defer func() { <-pool }()
	time.Sleep(length)
}

func main() {
	what := os.Getenv("WHAT")
	work := map[string]func(){"lock": hold, "compute": compute, "write": write, "pool": place}[what]
	if work == nil && what != "downloads" {
		panic("WHAT is one of lock, compute, write, pool, downloads")
	}
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		switch what {
		case "lock", "write":
			lock.Lock()
			lock.Unlock()
		case "pool":
			pool <- struct{}{}
			<-pool
		}
		fmt.Fprint(w, "ok")
	})
	http.HandleFunc("/work", func(w http.ResponseWriter, _ *http.Request) {
		if work != nil {
			work()
			fmt.Fprint(w, "done")
			return
		}
		block := make([]byte, 32<<10)
		for sent := 0; sent < 2<<30; sent += len(block) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
