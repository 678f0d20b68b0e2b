package httpload

import (
	"context"
	"net"
	"time"
)

// open lets the other clients begin.
func (c *Client) open() { c.once.Do(func() { close(c.answered) }) }

// firstByte is a connection whose first byte lets the other clients begin: ab opens one connection, and the others all at once when
// it has an answer.
type firstByte struct {
	net.Conn
	c *Client
}

// Read implements io.Reader.
func (f *firstByte) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if n > 0 {
		f.c.open()
	}
	return n, err
}

// leastPending is how long a connection may take to stand, at least, before it seems stuck.
const leastPending = 200 * time.Millisecond

// stood notes how long a connection took, or how long it had not stood when the test ended: conn is nil then.
func (c *Client) stood(ctx context.Context, conn net.Conn, took time.Duration) {
	again := conn != nil && sentAgain(conn, took)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case conn != nil:
		c.slowest = max(c.slowest, took)
		if again {
			c.t.SentAgain++
		}
	case ctx.Err() != nil || c.over():
		c.pending = append(c.pending, took)
	}
}

// waiting is how many connections had not stood at the end, for far longer than any other took.
func (c *Client) waiting() (n int) {
	for _, p := range c.pending {
		if p > leastPending && p > 2*c.slowest {
			n++
		}
	}
	return n
}
