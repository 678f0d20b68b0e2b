// Package httpload asks a web server over and over: a closed loop of connections, each of which asks again when it has
// its answer.
//
// The times are those of ApacheBench 2.3, on the socket: connect is until the connection stands, waiting from the last
// byte of the request to the first of the answer, the total up to the last byte. Requests are sent as they are given, bytes are counted as they
// come. An HTTP client that hides the connection (net/http and the load libraries on top of it) speaks HTTP/1.1, takes chunks apart and
// reports other times, so the few lines of protocol that ab knows are spoken here. There is no TLS in it, which would double the worker's
// size: Client.Secure brings it in.
package httpload

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"
)

// A Spec says what is asked. It travels to the worker.
type Spec struct {
	// Address is where to connect to: host and port. A name is looked up once, by the client.
	Address string `json:"address"`
	// Request is what is sent each time, head and body.
	Request []byte `json:"request"`
	// Requests are made in all, Concurrency at a time. No more are begun after Limit, and those in flight then are awaited; 0: no limit.
	Requests    int           `json:"requests"`
	Concurrency int           `json:"concurrency"`
	Limit       time.Duration `json:"limit,omitempty"`
	// Timeout is how long a request may take, with its connection.
	Timeout time.Duration `json:"timeout"`
	// KeepAlive reads an answer up to its length and asks again over the same connection, if the server grants it.
	KeepAlive bool `json:"keep_alive,omitempty"`
	// HeadOnly says that answers have no body, AnyLength that those of another length than the first are no failures.
	HeadOnly  bool `json:"head_only,omitempty"`
	AnyLength bool `json:"any_length,omitempty"`
	// GoOn counts requests that fail instead of ending with the first.
	GoOn bool `json:"go_on,omitempty"`
}

// Validate reports what is wrong with the spec.
func (s Spec) Validate() error {
	switch {
	case s.Address == "" || len(s.Request) == 0:
		return errors.New("http: an address and a request are needed")
	case s.Requests < 1 || s.Concurrency < 1 || s.Concurrency > s.Requests:
		return errors.New("http: at least one request, and no more at a time than in all")
	case s.Timeout <= 0 || s.Limit < 0:
		return errors.New("http: a request needs a time to wait for")
	}
	return nil
}

// A Timing is what is kept of a request, in microseconds, as in ab. Start is the
// time of day, Connect how long the connection took (0 if it was there), Wait how long the first byte, Total
// the whole.
type Timing struct{ Start, Connect, Wait, Total int64 }

// Processing is the time from the connection to the end.
func (t Timing) Processing() int64 { return t.Total - t.Connect }

// A Tally is what all requests came to.
type Tally struct {
	// Timings are those of all requests, failed ones included, in the order of their ends.
	Timings Timings `json:"timings,omitempty"`
	// Server and Length are those of the first answer.
	Server string `json:"server"`
	Length int64  `json:"length"`
	// Connect, Receive, WrongLength and Exceptions count requests that failed, by what failed: one is in one of the four.
	Connect     int `json:"connect,omitempty"`
	Receive     int `json:"receive,omitempty"`
	WrongLength int `json:"wrong_length,omitempty"`
	Exceptions  int `json:"exceptions,omitempty"`
	// WriteErrors are the exceptions that were met in sending. NotSuccess are answers whose status is not 2xx, KeptAlive
	// those after which the connection stayed.
	WriteErrors int `json:"write_errors,omitempty"`
	NotSuccess  int `json:"not_success,omitempty"`
	KeptAlive   int `json:"kept_alive,omitempty"`
	// Read, Body and Sent are bytes: of all answers, of their bodies, of all requests.
	Read int64 `json:"read"`
	Body int64 `json:"body"`
	Sent int64 `json:"sent"`
	// SentAgain counts connections whose first packet (SYN) was dropped and had to be sent again, a second later or more. Waiting
	// are those that did not stand when the test ended, for far longer than any other took: theirs was dropped too.
	SentAgain int `json:"sent_again,omitempty"`
	Waiting   int `json:"waiting,omitempty"`
	// InFlight are the requests that were in flight when the time of Limit was over, but for the first of them that was answered, which is
	// in Timings and ends the test, as in ab. ab leaves the others out. Unanswered of them had no answer within Timeout: they took that long at least.
	// Drained is how long after the test the last of them ended.
	InFlight   Timings       `json:"in_flight,omitempty"`
	Unanswered int           `json:"unanswered,omitempty"`
	Drained    time.Duration `json:"drained,omitempty"`
	// Elapsed is from the beginning to the end of the last request of Timings.
	Elapsed time.Duration `json:"elapsed"`
}

// Failed is how many requests failed.
func (t *Tally) Failed() int { return t.Connect + t.Receive + t.WrongLength + t.Exceptions }

// Timings travel as text of about ten letters each: differences of the starts, and times, as variable-length integers
// (encoding/binary), in base64.
type Timings []Timing

// MaxTravelling is how many timings fit into one message of package wire (16 MiB), however long they took.
const MaxTravelling = 400_000

// MarshalJSON implements json.Marshaler.
func (t Timings) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 9*len(t))
	last := int64(0)
	for _, x := range t {
		b = binary.AppendVarint(b, x.Start-last)
		b = binary.AppendVarint(b, x.Connect)
		b = binary.AppendVarint(b, x.Wait)
		b = binary.AppendVarint(b, x.Total)
		last = x.Start
	}
	return json.Marshal(b)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Timings) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	*t = nil
	last := int64(0)
	for len(b) > 0 {
		var v [4]int64
		for i := range v {
			x, n := binary.Varint(b)
			if n <= 0 {
				return errors.New("timings: a number is cut off")
			}
			v[i], b = x, b[n:]
		}
		last += v[0]
		*t = append(*t, Timing{last, v[1], v[2], v[3]})
	}
	return nil
}
