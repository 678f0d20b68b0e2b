package httpload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// A Client does a Spec. Its fields may be left empty; Run is called once.
type Client struct {
	Spec Spec
	// Secure, if not nil, makes a connection one with TLS, within its deadline: what it returns is talked over. The time counts
	// as connecting.
	Secure func(ctx context.Context, conn net.Conn) (net.Conn, error)
	// OnAnswer, if not nil, is told every answer with a whole head, and OnDone how many requests are done, failed ones
	// included. Both are called one at a time, while the tally stands still: they have to be quick.
	OnAnswer func(head []byte, status string)
	OnDone   func(done int)

	begin time.Time
	end   time.Time // of the limit; zero: none

	mu      sync.Mutex
	t       Tally
	started int
	good    int
	fatal   error
	stop    context.CancelFunc
}

// Resolve looks the host of an address up, so that no request waits for names. One of several addresses is asked: the
// first.
func Resolve(ctx context.Context, address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || net.ParseIP(host) != nil {
		return address, err
	}
	all, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(all[0], port), nil
}

// Run makes all requests, and returns when all connections are done. The tally
// holds what was done until an error, or until ctx ended, which is no error.
func (c *Client) Run(ctx context.Context) (*Tally, error) {
	var err error
	if c.Spec.Address, err = Resolve(ctx, c.Spec.Address); err != nil {
		return &c.t, err
	}
	ctx, c.stop = context.WithCancel(ctx)
	defer c.stop()
	c.begin = time.Now()
	if c.Spec.Limit > 0 {
		c.end = c.begin.Add(c.Spec.Limit)
	}
	var all sync.WaitGroup
	for range c.Spec.Concurrency {
		all.Go(func() { c.work(ctx) })
	}
	all.Wait()
	if ctx.Err() != nil || c.over() {
		// It ended while requests were in flight, not with the last of them.
		c.t.Elapsed = time.Since(c.begin)
	}
	return &c.t, c.fatal
}

// take counts a request in and reports whether there is one left to make.
func (c *Client) take(ctx context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || c.fatal != nil || c.started >= c.Spec.Requests || c.over() {
		return false
	}
	c.started++
	return true
}

// over reports whether the time of -t is.
func (c *Client) over() bool { return !c.end.IsZero() && !time.Now().Before(c.end) }

// work is one of the concurrent clients: it asks again when it has its answer.
func (c *Client) work(ctx context.Context) {
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
func (c *Client) ask(ctx context.Context, conn net.Conn, buf []byte) (_ net.Conn, again bool) {
	reused := conn != nil
	start := time.Now()
	connected := start
	if !reused {
		var err error
		if conn, err = c.connect(ctx); err != nil {
			c.lost(ctx, &c.t.Connect, Timing{Start: start.UnixMicro()}, answer{}, err)
			return nil, false
		}
		connected = time.Now()
	}
	c.deadline(conn)
	// A stop ends what is in flight.
	unwatch := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	sent, err := conn.Write(c.Spec.Request)
	written := time.Now()
	if err != nil {
		unwatch()
		conn.Close()
		if reused && sent == 0 && ctx.Err() == nil && !c.over() {
			return nil, true
		}
		c.lost(ctx, &c.t.Exceptions, since(start, connected, time.Now()), answer{}, fmt.Errorf("send: %w", err))
		return nil, false
	}
	a, err := readAnswer(conn, buf, c.Spec.KeepAlive, c.Spec.HeadOnly)
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
		c.lost(ctx, &c.t.Receive, since(start, connected, time.Now()), a, fmt.Errorf("receive: %w", err))
	}
	return nil, false
}

// since is the Timing of a request that failed.
func since(start, connected, end time.Time) Timing {
	return Timing{Start: start.UnixMicro(), Connect: connected.Sub(start).Microseconds(), Total: end.Sub(start).Microseconds()}
}

// deadline limits the time of a request.
func (c *Client) deadline(conn net.Conn) {
	d := time.Now().Add(c.Spec.Timeout)
	if !c.end.IsZero() && c.end.Before(d) {
		d = c.end
	}
	_ = conn.SetDeadline(d) // A connection without deadlines would be caught by ctx only.
}

// connect opens a connection, with TLS if the address has it.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	deadline := time.Now().Add(c.Spec.Timeout)
	if !c.end.IsZero() && c.end.Before(deadline) {
		deadline = c.end
	}
	d := net.Dialer{Deadline: deadline}
	conn, err := d.DialContext(ctx, "tcp", c.Spec.Address)
	if err != nil || c.Secure == nil {
		return conn, err
	}
	_ = conn.SetDeadline(deadline)
	secure, err := c.Secure(ctx, conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// done counts a request that was answered.
func (c *Client) done(ctx context.Context, start, connected, written time.Time, a answer, sent int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || c.fatal != nil {
		return // It came after the end.
	}
	c.good++
	c.t.Read, c.t.Body, c.t.Sent = c.t.Read+a.read, c.t.Body+a.body, c.t.Sent+sent
	switch {
	case c.good == 1:
		c.t.Server, c.t.Length = a.server, a.body
	case a.body != c.t.Length && !c.Spec.AnyLength:
		c.t.WrongLength++
	}
	if a.reusable {
		c.t.KeptAlive++
	}
	if a.whole && c.OnAnswer != nil {
		c.OnAnswer(a.head, a.status)
	}
	if a.whole && (a.status == "" || a.status[0] != '2') {
		c.t.NotSuccess++
	}
	c.keep(Timing{
		Start: start.UnixMicro(), Connect: connected.Sub(start).Microseconds(),
		Wait: max(a.first.Sub(written).Microseconds(), 0), Total: a.last.Sub(start).Microseconds(),
	})
}

// lost counts a request that failed, which ends the test unless -r was given. What is interrupted by the
// end of the test isn't counted.
func (c *Client) lost(ctx context.Context, kind *int, t Timing, a answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || c.fatal != nil || c.over() {
		return
	}
	if !c.Spec.GoOn {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%w (-s %v)", err, c.Spec.Timeout.Seconds())
		}
		c.fatal = fmt.Errorf("%w; -r goes on after it", err)
		c.stop()
		return
	}
	*kind++
	if kind == &c.t.Exceptions {
		c.t.WriteErrors++
	}
	c.t.Read, c.t.Body = c.t.Read+a.read, c.t.Body+a.body
	c.keep(t)
}

// keep adds a timing. The time taken is up to the last of them.
func (c *Client) keep(t Timing) {
	c.t.Timings = append(c.t.Timings, t)
	c.t.Elapsed = time.Since(c.begin)
	if c.OnDone != nil {
		c.OnDone(len(c.t.Timings))
	}
}
