package httpload

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// An answer is the response to one request.
type answer struct {
	// head is everything up to and including the empty line, or the part that arrived if it isn't complete.
	head  []byte
	whole bool
	// status is the three digits of the first line, "" if it has none. server is the first word of the Server header.
	status, server string
	// read is the number of bytes read, body the part of them after the head.
	read, body int64
	// reusable says that the connection may be used again.
	reusable bool
	// first and last are when the first and the last byte arrived. If the end of the connection ends the answer, last
	// is that end.
	first, last time.Time
}

// maxHead bounds a head in bytes. ab's own bound is 8192.
const maxHead = 64 << 10

// errHead is the error for a head that doesn't end.
var errHead = errors.New("the head of the answer is longer than 64 KiB")

// readAnswer reads an answer from a connection: up to its length if keepAlive was requested and granted, otherwise up
// to the end of the connection. On an error it returns what it has read so far. io.EOF is an error only before the
// first byte.
func readAnswer(r io.Reader, buf []byte, keepAlive, headOnly bool) (a answer, err error) {
	length := int64(-1)
	for {
		n, err := r.Read(buf)
		now := time.Now()
		if n > 0 {
			if a.read == 0 {
				a.first = now
			}
			a.read += int64(n)
			switch {
			case a.whole:
				a.body += int64(n)
			default:
				before := len(a.head)
				a.head = append(a.head, buf[:n]...)
				// The end may have begun in earlier data. To search all of the data again would take quadratic time.
				if a.whole = a.split(max(before-3, 0)); a.whole {
					length = a.parse(keepAlive, headOnly)
				} else if len(a.head) > maxHead {
					return a, errHead
				}
			}
		}
		a.last = now
		switch {
		case length >= 0 && a.body >= length:
			return a, nil
		case err == io.EOF && a.read > 0:
			// An answer that ends with the connection can't be followed by another.
			a.reusable = false
			return a, nil
		case err != nil:
			return a, err
		}
	}
}

// split separates the head from what follows it, and reports whether the head is complete. It searches for the end of
// the head from from on.
func (a *answer) split(from int) bool {
	end := -1
	for _, sep := range []string{"\r\n\r\n", "\n\n"} {
		if i := bytes.Index(a.head[from:], []byte(sep)); i >= 0 && (end < 0 || from+i+len(sep) < end) {
			end = from + i + len(sep)
		}
	}
	if end < 0 {
		return false
	}
	a.body = int64(len(a.head) - end)
	a.head = a.head[:end]
	return true
}

// parse reads the head and returns the length of the body, or -1 if the end of the connection ends it.
func (a *answer) parse(keepAlive, headOnly bool) int64 {
	lines := strings.Split(strings.ReplaceAll(string(a.head), "\r\n", "\n"), "\n")
	if f := strings.Fields(lines[0]); len(f) > 1 && strings.HasPrefix(f[0], "HTTP/") && len(f[1]) == 3 {
		a.status = f[1]
	}
	length, granted := int64(-1), false
	for _, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "server":
			a.server, _, _ = strings.Cut(value, " ")
		case "connection":
			granted = granted || strings.Contains(strings.ToLower(value), "keep-alive")
		case "content-length":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
				length = n
			}
		}
	}
	if !keepAlive || !granted {
		return -1
	}
	if headOnly || a.status == "204" || a.status == "304" {
		length = 0
	}
	a.reusable = length >= 0
	return length
}
