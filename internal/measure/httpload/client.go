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

// A Client executes a Spec. Its fields may be left empty; Run is called once.
type Client struct {
	Spec Spec
	// Secure, if not nil, turns a connection into a TLS connection, within the connection's deadline. Its time counts
	// as connecting.
	Secure func(ctx context.Context, conn net.Conn) (net.Conn, error)
	// OnAnswer, if not nil, receives every answer with a complete head. OnDone receives the number of requests that are
	// done, including failed ones. They are never called concurrently, and the tally is locked meanwhile, so they must
	// be quick.
	OnAnswer func(head []byte, status string)
	OnDone   func(done int)

	begin time.Time
	end   time.Time // of the limit; zero: none
	ended bool      // a request was answered after it
	// answered is closed when the first byte of an answer has arrived.
	answered chan struct{}
	once     sync.Once

	mu      sync.Mutex
	t       Tally
	started int
	good    int
	fatal   error
	// slowest is the longest time in which a connection was established. pending are the times that unestablished
	// connections had taken by the end.
	slowest time.Duration
	pending []time.Duration
	stop    context.CancelFunc
}

// Resolve resolves the host of an address, so that no request waits for a name. If the host has several addresses, the
// first is used.
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

// Run makes all requests, and returns when all connections are done. The tally holds what was done before an error, or
// before ctx ended, which is no error.
func (c *Client) Run(ctx context.Context) (*Tally, error) {
	var err error
	if c.Spec.Address, err = Resolve(ctx, c.Spec.Address); err != nil {
		return &c.t, err
	}
	ctx, c.stop = context.WithCancel(ctx)
	defer c.stop()
	c.answered = make(chan struct{})
	c.begin = time.Now()
	if c.Spec.Limit > 0 {
		c.end = c.begin.Add(c.Spec.Limit)
	}
	var all sync.WaitGroup
	for i := range c.Spec.Concurrency {
		all.Go(func() {
			c.work(ctx, i)
			c.open() // It may have failed before any answer.
		})
	}
	all.Wait()
	if took := time.Since(c.begin); len(c.t.Timings) < c.Spec.Requests && !c.ended {
		// The test ended while requests were in flight, not with the last of them.
		c.t.Elapsed = took
		if c.Spec.Limit > 0 && len(c.t.InFlight) > 0 {
			c.t.Elapsed = c.Spec.Limit
		}
	}
	for _, t := range c.t.InFlight {
		end := time.UnixMicro(t.Start + t.Total).Sub(c.begin)
		c.t.Drained = max(c.t.Drained, end-c.t.Elapsed)
	}
	c.t.Waiting = c.waiting()
	return &c.t, c.fatal
}

// take claims a request and reports whether there was one left.
func (c *Client) take(ctx context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || c.fatal != nil || c.started >= c.Spec.Requests || c.over() {
		return false
	}
	c.started++
	return true
}

// over reports whether the time of -t is over.
func (c *Client) over() bool { return !c.end.IsZero() && !time.Now().Before(c.end) }

// more reports whether there is a request left to make.
func (c *Client) more(ctx context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ctx.Err() == nil && c.fatal == nil && c.started < c.Spec.Requests && !c.over()
}

// work is one of the concurrent clients: it makes the next request when it has its answer. As in ab, a request is
// claimed once its connection is established, so a connection that doesn't get through holds no request back. The other
// clients begin when the first has an answer.
func (c *Client) work(ctx context.Context, number int) {
	if number > 0 {
		select {
		case <-c.answered:
		case <-ctx.Done():
		}
	}
	var conn net.Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	buf := make([]byte, 16<<10)
	for taken := false; taken || c.more(ctx); {
		start, reused := time.Now(), conn != nil
		connected := start
		if !reused {
			var err error
			if conn, err = c.connect(ctx); err != nil {
				if conn = nil; taken || c.take(ctx) {
					c.lost(ctx, &c.t.Connect, Timing{Start: start.UnixMicro()}, answer{}, err)
				}
				taken = false
				continue
			}
			connected = time.Now()
		}
		if !taken && !c.take(ctx) {
			return
		}
		conn, taken = c.ask(ctx, conn, reused, start, connected, buf)
	}
}

// ask makes one request over conn, which was used before or was opened from start to connected. It returns the
// connection for the next request, or nil if it is closed. If the server had closed an idle connection, as it may, the
// request must be made again.
func (c *Client) ask(ctx context.Context, conn net.Conn, reused bool, start, connected time.Time, buf []byte) (_ net.Conn, again bool) {
	c.deadline(conn)
	// A stop ends the requests in flight.
	unwatch := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	sent, err := conn.Write(c.Spec.Request)
	written := time.Now()
	if err != nil {
		unwatch()
		conn.Close()
		if reused && sent == 0 && ctx.Err() == nil {
			return nil, true
		}
		c.lost(ctx, &c.t.Exceptions, since(start, connected, time.Now()), answer{}, fmt.Errorf("send: %w", err))
		return nil, false
	}
	a, err := readAnswer(&firstByte{conn, c}, buf, c.Spec.KeepAlive, c.Spec.HeadOnly)
	keep := unwatch()
	if err == nil && a.reusable && keep {
		c.done(ctx, start, connected, written, a, int64(sent))
		return conn, false
	}
	conn.Close()
	gone := a.read == 0 && (errors.Is(err, io.EOF) || isReset(err))
	switch {
	case reused && gone && ctx.Err() == nil:
		return nil, true
	case err == nil || a.read == 0 && errors.Is(err, io.EOF):
		// To ab, an end without an answer is an answer of length 0.
		if a.first.IsZero() {
			a.first = written
		}
		c.done(ctx, start, connected, written, a, int64(sent))
	default:
		c.lost(ctx, &c.t.Receive, since(start, connected, time.Now()), a, fmt.Errorf("receive: %w", err))
	}
	return nil, false
}

// since returns the Timing of a request that failed.
func since(start, connected, end time.Time) Timing {
	return Timing{Start: start.UnixMicro(), Connect: connected.Sub(start).Microseconds(), Total: end.Sub(start).Microseconds()}
}

// deadline limits the time of a request, which may end after the time of -t.
func (c *Client) deadline(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(c.Spec.Timeout)) // Without a deadline, only ctx would end a hanging connection.
}

// connect opens a connection, with TLS if the address asks for it.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	deadline := time.Now().Add(c.Spec.Timeout)
	if !c.end.IsZero() && c.end.Before(deadline) {
		deadline = c.end
	}
	d := net.Dialer{Deadline: deadline}
	begin := time.Now()
	conn, err := d.DialContext(ctx, "tcp", c.Spec.Address)
	c.stood(ctx, conn, time.Since(begin))
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
		return // It arrived after the end.
	}
	timing := Timing{
		Start: start.UnixMicro(), Connect: connected.Sub(start).Microseconds(),
		Wait: max(a.first.Sub(written).Microseconds(), 0), Total: a.last.Sub(start).Microseconds(),
	}
	if c.over() {
		if c.ended {
			c.t.InFlight = append(c.t.InFlight, timing)
			return
		}
		c.ended = true
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
	c.keep(timing)
}

// lost counts a request that failed, which ends the test unless -r was given. After the time of -t, it counts only a
// request that was not answered in its own time.
func (c *Client) lost(ctx context.Context, kind *int, t Timing, a answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || c.fatal != nil {
		return
	}
	if c.over() {
		if kind == &c.t.Receive && errors.Is(err, os.ErrDeadlineExceeded) {
			c.t.InFlight = append(c.t.InFlight, t)
			c.t.Unanswered++
		}
		return
	}
	if !c.Spec.GoOn {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%w (-s %v)", err, c.Spec.Timeout.Seconds())
		}
		c.fatal = fmt.Errorf("%w; with -r the test goes on after such errors", err)
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

// keep adds a timing. The elapsed time lasts until the last of them.
func (c *Client) keep(t Timing) {
	c.t.Timings = append(c.t.Timings, t)
	c.t.Elapsed = time.Since(c.begin)
	if c.OnDone != nil {
		c.OnDone(len(c.t.Timings))
	}
	if len(c.t.Timings) == c.Spec.Requests {
		c.stop() // Clients that still wait for a connection have no requests left to make.
	}
}
