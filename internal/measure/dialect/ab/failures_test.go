package ab

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestFailures(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + dead.Addr().String() + "/"
	dead.Close()
	out, _, err := run(t, context.Background(), "-n", "3", refused)
	if !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "with -r the test goes on") || strings.Contains(out, "Server Software") {
		t.Errorf("%s, %v", out, err)
	}
	out, _, err = run(t, context.Background(), "-n", "3", "-r", refused)
	if err != nil || !strings.Contains(out, "\nComplete requests:      3\nFailed requests:        3\n   (Connect: 3, Receive: 0, Length: 0, Exceptions: 0)\n") {
		t.Errorf("%s, %v", out, err)
	}

	s := serve(t, func(w net.Conn, request string, n int) bool {
		if n%2 == 0 {
			// A close with data unread or with linger 0 is a reset.
			io.WriteString(w, "HTTP/1.0 200 OK\r\n\r\nhal")
			time.Sleep(10 * time.Millisecond)
			_ = w.(*net.TCPConn).SetLinger(0)
			return false
		}
		return plain(w, request, n)
	})
	out, _, err = run(t, context.Background(), "-n", "4", "-r", s.url("/"))
	if err != nil || !strings.Contains(out, "(Connect: 0, Receive: 2, Length: 0, Exceptions: 0)") {
		t.Errorf("%s, %v", out, err)
	}
	s.seen()
	out, _, err = run(t, context.Background(), "-n", "4", s.url("/"))
	if !errors.Is(err, syscall.ECONNRESET) || !strings.Contains(out, "Total of 1 requests completed\n") {
		t.Errorf("%s, %v", out, err)
	}

	hang := serve(t, func(w net.Conn, _ string, _ int) bool { _, err := io.Copy(io.Discard, w); return err == nil })
	_, _, err = run(t, context.Background(), "-s", "1", hang.url("/"))
	if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "-s 1") {
		t.Error(err)
	}
}

// TestTimeLimit: with -t the first answer after the time ends the test and is in the report, as in ab: a server that stalls at the end makes a
// long test and a long time.
func TestTimeLimit(t *testing.T) {
	const stall = 1500 * time.Millisecond
	stalling := func() *server {
		var once sync.Once
		var from time.Time
		return serve(t, func(w net.Conn, request string, n int) bool {
			once.Do(func() { from = time.Now() })
			late := time.Since(from) > 200*time.Millisecond // Well before the end, so that a client without a CPU comes in time.
			time.Sleep(2 * time.Millisecond)
			if late {
				time.Sleep(stall)
			}
			return plain(w, request, n)
		})
	}
	want, _ := realAB(t, "-t", "1", "-k", stalling().url("/"))
	r, err := measured(t, "-t", "1", "-k", stalling().url("/"))
	if err != nil || r.Failed() != 0 || len(r.InFlight) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	longest := regexp.MustCompile(`(?m)^ 100% +(\d+) `).FindStringSubmatch(want)
	taken := regexp.MustCompile(`(?m)^Time taken for tests: +([\d.]+) seconds`).FindStringSubmatch(want)
	if longest == nil || taken == nil {
		t.Fatal(want)
	}
	ms, _ := strconv.ParseFloat(longest[1], 64)
	seconds, _ := strconv.ParseFloat(taken[1], 64)
	last := r.Timings[len(r.Timings)-1]
	if ms < float64(stall.Milliseconds()) || seconds < 1.3 {
		t.Errorf("ab: %v ms at most, in %v s", ms, seconds)
	}
	if last.Total < stall.Microseconds() || r.Elapsed < 1300*time.Millisecond {
		t.Errorf("%d us at most, in %v", last.Total, r.Elapsed)
	}
}

// TestTimeLimitInFlight: with -t, answers after the one that ended the test are not in ab's report. They are awaited, up to -s, and reported beside it if
// they took longer.
func TestTimeLimitInFlight(t *testing.T) {
	for _, c := range []struct {
		stall      time.Duration
		patience   string
		unanswered int
		say        string
	}{
		{3 * time.Second, "60", 0, "more requests were in flight at the end of -t, which ab leaves out: the longest took "},
		{time.Hour, "3", 1, "; 1 of them had no answer by then (-s)"},
	} {
		over := make(chan struct{})
		s := serve(t, func(w net.Conn, request string, n int) bool {
			time.Sleep(2 * time.Millisecond)
			if n == 30 {
				select {
				case <-time.After(c.stall):
				case <-over:
				}
			}
			return plain(w, request, n)
		})
		r, err := measured(t, "-t", "1", "-c", "3", "-s", c.patience, "-k", s.url("/"))
		if err != nil || r.Failed() != 0 {
			t.Errorf("%v: %d failed, %v", c.stall, r.Failed(), err)
		}
		if len(r.InFlight) == 0 || r.Unanswered != c.unanswered {
			t.Errorf("%v: %d in flight, %d unanswered, want some and %d", c.stall, len(r.InFlight), r.Unanswered, c.unanswered)
		}
		if r.Elapsed > 2500*time.Millisecond || r.Drained < 100*time.Millisecond {
			t.Errorf("%v: it took %v, and %v for the last answers, want at most 2.5s and at least 100ms", c.stall, r.Elapsed, r.Drained)
		}
		var said bytes.Buffer
		noteInFlight(&said, r)
		if !strings.Contains(said.String(), c.say) {
			t.Errorf("%v: %s", c.stall, said.String())
		}
		close(over)
	}
}

// TestInterruptReports: what was done before an interrupt is reported.
func TestInterruptReports(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := serve(t, func(w net.Conn, request string, n int) bool {
		if n == 4 {
			cancel()
			_, err := io.Copy(io.Discard, w)
			return err == nil
		}
		return plain(w, request, n)
	})
	out, _, err := run(t, ctx, "-n", "100", "-s", "600", s.url("/"))
	if !errors.Is(err, context.Canceled) || !strings.Contains(out, "\nComplete requests:      3\nFailed requests:        0\n") {
		t.Errorf("%s, %v", out, err)
	}
}
