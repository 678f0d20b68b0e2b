package httpload

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// listen serves connections until the end of the test.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// hello answers every request over one connection.
func hello(conn net.Conn) {
	for r := bufio.NewReader(conn); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if line == "\r\n" {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello")
		}
	}
}

func usual(address string) Spec {
	return Spec{Address: address, Request: []byte("GET / HTTP/1.0\r\n\r\n"), Requests: 20, Concurrency: 4, Timeout: 10 * time.Second, KeepAlive: true}
}

func TestRun(t *testing.T) {
	done := 0
	c := &Client{Spec: usual(listen(t, hello)), OnDone: func(n int) { done = n }}
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Timings) != 20 || done != 20 {
		t.Errorf("%d requests were timed and %d reported, want 20", len(r.Timings), done)
	}
	if r.Failed() != 0 || r.KeptAlive != 20 {
		t.Errorf("%d requests failed and %d answers kept their connection, want 0 and 20", r.Failed(), r.KeptAlive)
	}
	if r.Length != 5 || r.Body != 100 {
		t.Errorf("an answer has %d bytes and all have %d, want 5 and 100", r.Length, r.Body)
	}
	if r.Sent != 20*18 {
		t.Errorf("%d bytes were sent, want %d", r.Sent, 20*18)
	}
}

// TestDeadConnectionIsReplaced: a kept connection on which nothing can be sent costs no request.
func TestDeadConnectionIsReplaced(t *testing.T) {
	address := listen(t, hello)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	c := &Client{Spec: usual(address), stop: func() {}}
	if left, again := c.ask(context.Background(), conn, true, time.Now(), time.Now(), make([]byte, 512)); left != nil || !again {
		t.Errorf("the connection left is %v, again %v", left, again)
	}
	if c.fatal != nil || c.t.Failed() != 0 {
		t.Errorf("%d requests failed, %v", c.t.Failed(), c.fatal)
	}
}

func TestSpecIsValidated(t *testing.T) {
	if err := usual("a:1").Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Spec){
		"an address and a request": func(s *Spec) { s.Address = "" },
		"a request are needed":     func(s *Spec) { s.Request = nil },
		"no more at a time":        func(s *Spec) { s.Concurrency = 21 },
		"at least one":             func(s *Spec) { s.Requests = 0 },
		"a time to wait":           func(s *Spec) { s.Timeout = 0 },
	} {
		s := usual("a:1")
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

// TestTimingsTravel: what is read is what was written, and as many as may travel fit into a message.
func TestTimingsTravel(t *testing.T) {
	all := Timings{{1795246154000000, 400, 1600, 2000}, {1795246153000000, 0, 0, 0}, {1795246155000000, -1, 5000, 1 << 40}}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var got Timings
	if err := json.Unmarshal(b, &got); err != nil || !cmp.Equal(all, got) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{`"gICA"`, `5`, `"AA=="`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s is read as %v", bad, got)
		}
	}
	// Each of a minute, at any time of an hour: as long as numbers get.
	all = all[:0]
	for range MaxTravelling {
		all = append(all, Timing{1795246154000000 + rand.Int64N(3600e6), 60e6, 60e6, 60e6})
	}
	if b, err = json.Marshal(all); err != nil || len(b) > 15<<20 {
		t.Errorf("%d timings take %d bytes, %v", len(all), len(b), err)
	}
}
