package ab

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A server is a web server on this machine that answers as a test wants it, byte by byte.
type server struct {
	t        *testing.T
	listener net.Listener
	// answer writes what a request gets; n numbers the requests from 1. It returns whether the connection
	// stays open.
	answer func(w net.Conn, request string, n int) bool

	mu       sync.Mutex
	requests []string
	conns    map[net.Conn]bool
	all      sync.WaitGroup
}

// serve starts a server, which ends with the test.
func serve(t *testing.T, answer func(w net.Conn, request string, n int) bool) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, listener: l, answer: answer, conns: map[net.Conn]bool{}}
	s.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[c] = true
			s.mu.Unlock()
			s.all.Go(func() { s.talk(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.all.Wait()
	})
	return s
}

// talk answers the requests of a connection.
func (s *server) talk(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		var request bytes.Buffer
		length := 0
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			request.WriteString(line)
			if name, v, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, "content-length") {
				length, _ = strconv.Atoi(strings.TrimSpace(v))
			}
			if line == "\r\n" {
				break
			}
		}
		if _, err := io.CopyN(&request, r, int64(length)); err != nil {
			return
		}
		s.mu.Lock()
		s.requests = append(s.requests, request.String())
		n := len(s.requests)
		s.mu.Unlock()
		if !s.answer(c, request.String(), n) {
			return
		}
	}
}

// url is the server's address with a path.
func (s *server) url(path string) string { return "http://" + s.listener.Addr().String() + path }

// seen returns the requests and forgets them.
func (s *server) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests
	s.requests = nil
	return r
}

// plain answers like a usual server: it keeps the connection if it is asked to. The path says what comes:
// /var answers of several lengths, /500 an error, /drop every second time nothing.
func plain(w net.Conn, request string, n int) bool {
	keep := strings.Contains(request, "Keep-Alive")
	status, body := "200 OK", strings.Repeat("x", 100)
	switch path := strings.Fields(request)[1]; {
	case path == "/500":
		status = "500 Internal Server Error"
	case path == "/var":
		body = body[:50+n%2]
	case path == "/drop" && n%2 == 0:
		return false
	case path == "/slow":
		fmt.Fprintf(w, "HTTP/1.1 200 OK\r\n")
		time.Sleep(30 * time.Millisecond)
		fmt.Fprintf(w, "Server: s\r\n\r\n")
		time.Sleep(60 * time.Millisecond)
		fmt.Fprint(w, body)
		return false
	}
	connection := "close"
	if keep {
		connection = "Keep-Alive"
	}
	head := fmt.Sprintf("HTTP/1.1 %s\r\nServer: test/1.0 (of Plimsoll)\r\nContent-Length: %d\r\nConnection: %s\r\n\r\n", status, len(body), connection)
	if strings.HasPrefix(request, "HEAD ") {
		body = ""
	}
	_, err := io.WriteString(w, head+body)
	return keep && err == nil
}
