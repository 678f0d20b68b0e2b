package httpload

import (
	"io"
	"strings"
	"testing"

	"plimsoll/internal/testkit/fuzztest"
)

func TestReadAnswer(t *testing.T) {
	const ka = "HTTP/1.1 200 OK\r\nServer: a/1 b\r\nconnection: keep-alive\r\nContent-Length: 4\r\n\r\n"
	for _, c := range []struct {
		name, in         string
		keep, head       bool
		status           string
		body, read       int64
		reusable, broken bool
	}{
		{name: "to the end", in: "HTTP/1.0 200 OK\r\n\r\nhello", status: "200", body: 5, read: 24},
		{name: "length", in: ka + "abcd", keep: true, status: "200", body: 4, reusable: true},
		{name: "not asked to keep", in: ka + "abcd", status: "200", body: 4},
		{name: "cut", in: ka + "ab", keep: true, status: "200", body: 2},
		{name: "head only", in: ka, keep: true, head: true, status: "200", reusable: true},
		{name: "no content", in: "HTTP/1.1 204 No Content\r\nConnection: Keep-Alive\r\n\r\n", keep: true, status: "204", reusable: true},
		{name: "bare newlines", in: "HTTP/1.0 404 No\nServer: x\n\nabc\r\n\r\n", status: "404", body: 7},
		{name: "half a head", in: "HTTP/1.0 200 OK\r\nSer"},
		{name: "garbage", in: "x\r\n\r\ny", body: 1},
		{name: "nothing", broken: true},
		{name: "endless head", in: strings.Repeat("a: b\r\n", 20000), broken: true},
	} {
		for _, chunk := range []int{1, 16 << 10} {
			a, err := readAnswer(&chunked{c.in, chunk}, make([]byte, 16<<10), c.keep, c.head)
			if (err != nil) != c.broken {
				t.Errorf("%s by %d: %v, want an error: %v", c.name, chunk, err, c.broken)
			}
			if a.status != c.status || a.reusable != c.reusable {
				t.Errorf("%s by %d: status %q, reusable %v, want %q, %v", c.name, chunk, a.status, a.reusable, c.status, c.reusable)
			}
			if a.body != c.body || c.read > 0 && a.read != c.read {
				t.Errorf("%s by %d: a body of %d of %d bytes, want %d of %d", c.name, chunk, a.body, a.read, c.body, c.read)
			}
		}
	}
}

// chunked is a reader that returns a few bytes at a time.
type chunked struct {
	left string
	n    int
}

func (c *chunked) Read(p []byte) (int, error) {
	if c.left == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(c.n, len(p))], c.left)
	c.left = c.left[n:]
	return n, nil
}

func FuzzReadAnswer(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nabcd", 3, true)
	f.Add("HTTP/1.0 404\n\nx", 1, false)
	f.Fuzz(tryAnswer)
}

// tryAnswer reads an answer that comes by chunks of bytes, within bounds.
func tryAnswer(t *testing.T, in string, chunk int, keep bool) {
	fuzztest.Bounded(t, in, func() {
		a, err := readAnswer(&chunked{in, max(chunk, 1)}, make([]byte, 512), keep, false)
		if a.body+int64(len(a.head)) != a.read || a.read > int64(len(in)) {
			t.Errorf("%q: %+v", in, a)
		}
		if err == nil && a.read == 0 {
			t.Errorf("%q: nothing read and no error", in)
		}
	})
}

// TestHostileAnswers: what is much too long is answered too, in bounds.
func TestHostileAnswers(t *testing.T) {
	tryAnswer(t, "HTTP/1.1 200 OK\r\n"+strings.Repeat("a: b\r\n", 1<<18), 1, true)
	tryAnswer(t, "HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", 1<<22), 7, true)
}
