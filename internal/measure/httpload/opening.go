package httpload

import (
	"context"
	"net"
	"time"
)

// open lets the other clients begin.
func (c *Client) open() { c.once.Do(func() { close(c.answered) }) }

// firstByte is a connection whose first byte lets the other clients begin: ab opens one connection, and all others at
// once when that has an answer.
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

// leastPending is the minimum time after which an unestablished connection may count as stuck.
const leastPending = 200 * time.Millisecond

// stood records how long a connection took to be established, or, if conn is nil, how long it had been pending when the
// test ended.
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

// waiting returns how many connections were not established by the end, after far longer than any other took.
func (c *Client) waiting() (n int) {
	for _, p := range c.pending {
		if p > leastPending && p > 2*c.slowest {
			n++
		}
	}
	return n
}
