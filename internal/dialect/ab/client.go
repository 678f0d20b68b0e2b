package ab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// A timing is what is kept of a request, in microseconds, as in ab. start is the
// time of day, connect how long the connection took (0 if it was there), wait how long the first byte, total
// the whole.
type timing struct{ start, connect, wait, total int64 }

// A tally is what all requests came to.
type tally struct {
	timings []timing
	// server and length are those of the first answer.
	server string
	length int64
	// failed counts requests, by what failed: a request is in one of the four.
	connect, receive, wrongLength, exceptions int
	writeErrors, notSuccess, keptAlive        int
	// read, body and sent are bytes: of all answers, of their bodies, of all requests.
	read, body, sent int64
	elapsed          time.Duration
	tls              tlsInfo
}

// failed is how many requests failed.
func (t *tally) failed() int { return t.connect + t.receive + t.wrongLength + t.exceptions }

// A client does a test.
type client struct {
	test    *Test
	address string
	request []byte
	config  *tls.Config
	begin   time.Time
	end     time.Time // of -t; zero: none
	stdout  io.Writer
	stderr  io.Writer
	beat    int // every how many requests to tell; 0: never

	mu      sync.Mutex
	t       tally
	started int
	good    int
	fatal   error
	stop    context.CancelFunc
}

// run makes all requests, and returns when all connections are done. The tally
// holds what was done until an error, or until ctx ended.
func (c *client) run(ctx context.Context) error {
	ctx, c.stop = context.WithCancel(ctx)
	defer c.stop()
	c.begin = time.Now()
	if c.test.Limit > 0 {
		c.end = c.begin.Add(time.Duration(c.test.Limit) * time.Second)
	}
	var all sync.WaitGroup
	for range c.test.Concurrency {
		all.Go(func() { c.work(ctx) })
	}
	all.Wait()
	if ctx.Err() != nil || c.over() {
		// It ended while requests were in flight, not with the last of them.
		c.t.elapsed = time.Since(c.begin)
	}
	return c.fatal
}

// take counts a request in and reports whether there is one left to make.
func (c *client) take(ctx context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || c.fatal != nil || c.started >= c.test.Requests || c.over() {
		return false
	}
	c.started++
	return true
}

// over reports whether the time of -t is.
func (c *client) over() bool { return !c.end.IsZero() && !time.Now().Before(c.end) }

// work is one of the concurrent clients: it asks again when it has its answer.
func (c *client) work(ctx context.Context) {
	var conn net.Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	buf := make([]byte, 16<<10)
	for c.take(ctx) {
		var again bool
		for again = true; again; {
			conn, again = c.ask(ctx, conn, buf)
		}
	}
}

// ask makes one request, over conn if there is one, and returns the connection for the next; nil if it is closed. It is to be
// called again if the server had closed an idle connection, which is its right.
func (c *client) ask(ctx context.Context, conn net.Conn, buf []byte) (_ net.Conn, again bool) {
	reused := conn != nil
	start := time.Now()
	connected := start
	if !reused {
		var err error
		if conn, err = c.connect(ctx); err != nil {
			c.lost(ctx, &c.t.connect, timing{start: start.UnixMicro()}, answer{}, err)
			return nil, false
		}
		connected = time.Now()
	}
	c.deadline(conn)
	// A stop ends what is in flight.
	unwatch := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	sent, err := conn.Write(c.request)
	written := time.Now()
	if err != nil {
		unwatch()
		conn.Close()
		if reused && sent == 0 && ctx.Err() == nil && !c.over() {
			return nil, true
		}
		c.lost(ctx, &c.t.exceptions, since(start, connected, time.Now()), answer{}, fmt.Errorf("send: %w", err))
		return nil, false
	}
	a, err := readAnswer(conn, buf, c.test.KeepAlive, c.test.Head)
	keep := unwatch()
	if err == nil && a.reusable && keep {
		c.done(ctx, start, connected, written, a, int64(sent))
		return conn, false
	}
	conn.Close()
	gone := a.read == 0 && (errors.Is(err, io.EOF) || isReset(err))
	switch {
	case reused && gone && ctx.Err() == nil && !c.over():
		return nil, true
	case err == nil || a.read == 0 && errors.Is(err, io.EOF):
		// An end without an answer is an answer of no length to ab.
		if a.first.IsZero() {
			a.first = written
		}
		c.done(ctx, start, connected, written, a, int64(sent))
	default:
		c.lost(ctx, &c.t.receive, since(start, connected, time.Now()), a, fmt.Errorf("receive: %w", err))
	}
	return nil, false
}

// since is the timing of a request that failed.
func since(start, connected, end time.Time) timing {
	return timing{start: start.UnixMicro(), connect: connected.Sub(start).Microseconds(), total: end.Sub(start).Microseconds()}
}

// deadline limits the time of a request.
func (c *client) deadline(conn net.Conn) {
	d := time.Now().Add(time.Duration(c.test.Timeout) * time.Second)
	if !c.end.IsZero() && c.end.Before(d) {
		d = c.end
	}
	_ = conn.SetDeadline(d) // A connection without deadlines would be caught by ctx only.
}

// connect opens a connection, with TLS if the address has it.
func (c *client) connect(ctx context.Context) (net.Conn, error) {
	deadline := time.Now().Add(time.Duration(c.test.Timeout) * time.Second)
	if !c.end.IsZero() && c.end.Before(deadline) {
		deadline = c.end
	}
	d := net.Dialer{Deadline: deadline}
	conn, err := d.DialContext(ctx, "tcp", c.address)
	if err != nil || c.config == nil {
		return conn, err
	}
	_ = conn.SetDeadline(deadline)
	t := tls.Client(conn, c.config)
	if err := t.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("tls: %w", err)
	}
	c.mu.Lock()
	if c.t.tls.protocol == "" {
		c.t.tls = newTLSInfo(t.ConnectionState(), c.config.ServerName)
	}
	c.mu.Unlock()
	return t, nil
}

// done counts a request that was answered.
func (c *client) done(ctx context.Context, start, connected, written time.Time, a answer, sent int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || c.fatal != nil {
		return // It came after the end.
	}
	c.good++
	c.t.read, c.t.body, c.t.sent = c.t.read+a.read, c.t.body+a.body, c.t.sent+sent
	switch {
	case c.good == 1:
		c.t.server, c.t.length = a.server, a.body
	case a.body != c.t.length && !c.test.AnyLength:
		c.t.wrongLength++
	}
	if a.reusable {
		c.t.keptAlive++
	}
	c.tell(a)
	if a.whole && (a.status == "" || a.status[0] != '2') {
		c.t.notSuccess++
	}
	c.keep(timing{
		start: start.UnixMicro(), connect: connected.Sub(start).Microseconds(),
		wait: max(a.first.Sub(written).Microseconds(), 0), total: a.last.Sub(start).Microseconds(),
	})
}

// lost counts a request that failed, which ends the test unless -r was given. What is interrupted by the
// end of the test isn't counted.
func (c *client) lost(ctx context.Context, kind *int, t timing, a answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || c.fatal != nil || c.over() {
		return
	}
	if !c.test.GoOn {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%w (-s %d)", err, c.test.Timeout)
		}
		c.fatal = fmt.Errorf("%w; -r goes on after it", err)
		c.stop()
		return
	}
	*kind++
	if kind == &c.t.exceptions {
		c.t.writeErrors++
	}
	c.t.read, c.t.body = c.t.read+a.read, c.t.body+a.body
	c.keep(t)
}

// keep adds a timing. The time taken is up to the last of them.
func (c *client) keep(t timing) {
	c.t.timings = append(c.t.timings, t)
	c.t.elapsed = time.Since(c.begin)
	if n := len(c.t.timings); c.beat > 0 && n%c.beat == 0 {
		fmt.Fprintf(c.stderr, "Completed %d requests\n", n)
	}
}

// tell prints what -v asks for.
func (c *client) tell(a answer) {
	if c.test.Verbosity < 2 || !a.whole {
		return
	}
	fmt.Fprintf(c.stdout, "LOG: header received:\n%s\n", a.head)
	switch {
	case a.status == "" || a.status[0] != '2':
		fmt.Fprintf(c.stdout, "WARNING: Response code not 2xx (%s)\n", a.status)
	case c.test.Verbosity >= 3:
		fmt.Fprintf(c.stdout, "LOG: Response code = %s\n", a.status)
	}
}
