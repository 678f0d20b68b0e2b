// Package httpload sends requests to a web server: a closed loop of connections, each of which sends its next request
// when it has its answer.
//
// The times are those of ApacheBench 2.3, measured on the socket: connect is until the connection is established,
// waiting is from the last byte of the request to the first of the answer, and the total is until the last byte.
// Requests are sent as given, and bytes are counted as they arrive. An HTTP client that hides the connection (net/http
// and the load libraries on top of it) speaks HTTP/1.1, decodes chunks and reports other times, so this package
// implements the few lines of protocol that ab knows. It contains no TLS, which would double the worker's size:
// Client.Secure supplies it.
package httpload

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"
)

// A Spec says what to request. It is sent to the worker.
type Spec struct {
	// Address is the host and port to connect to. The client resolves a name once.
	Address string `json:"address"`
	// Request is sent each time: head and body.
	Request []byte `json:"request"`
	// Requests is the total number of requests, Concurrency the number at a time. None begins after Limit, and those in
	// flight then are awaited; 0: no limit.
	Requests    int           `json:"requests"`
	Concurrency int           `json:"concurrency"`
	Limit       time.Duration `json:"limit,omitempty"`
	// Timeout is the maximum time of a request, including its connection.
	Timeout time.Duration `json:"timeout"`
	// KeepAlive reads an answer up to its length and sends the next request over the same connection, if the server
	// agrees.
	KeepAlive bool `json:"keep_alive,omitempty"`
	// HeadOnly says that answers have no body. AnyLength says that an answer of a different length than the first is
	// not a failure.
	HeadOnly  bool `json:"head_only,omitempty"`
	AnyLength bool `json:"any_length,omitempty"`
	// GoOn counts failed requests instead of ending with the first.
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

// A Timing is the record of a request, in microseconds, as in ab. Start is the time of day, Connect the time to connect
// (0 for an existing connection), Wait the time to the first byte, and Total the whole time.
type Timing struct{ Start, Connect, Wait, Total int64 }

// Processing is the time from the connection to the end.
func (t Timing) Processing() int64 { return t.Total - t.Connect }

// A Tally is the result of all requests.
type Tally struct {
	// Timings are the timings of all requests, including failed ones, in the order of their ends.
	Timings Timings `json:"timings,omitempty"`
	// Server and Length are from the first answer.
	Server string `json:"server"`
	Length int64  `json:"length"`
	// Connect, Receive, WrongLength and Exceptions count failed requests by cause: each counts in one of the four.
	Connect     int `json:"connect,omitempty"`
	Receive     int `json:"receive,omitempty"`
	WrongLength int `json:"wrong_length,omitempty"`
	Exceptions  int `json:"exceptions,omitempty"`
	// WriteErrors are the exceptions that occurred in sending. NotSuccess counts answers whose status is not 2xx,
	// KeptAlive those after which the connection stayed open.
	WriteErrors int `json:"write_errors,omitempty"`
	NotSuccess  int `json:"not_success,omitempty"`
	KeptAlive   int `json:"kept_alive,omitempty"`
	// Read, Body and Sent are in bytes: of all answers, of their bodies, and of all requests.
	Read int64 `json:"read"`
	Body int64 `json:"body"`
	Sent int64 `json:"sent"`
	// SentAgain counts connections whose first packet (SYN) was dropped and had to be resent, a second later or more.
	// Waiting counts connections that were not established when the test ended, after far longer than any other took:
	// their packets were dropped too.
	SentAgain int `json:"sent_again,omitempty"`
	Waiting   int `json:"waiting,omitempty"`
	// InFlight are the requests in flight when the time of Limit was over, except the first of them to be answered,
	// which is in Timings and ends the test, as in ab. ab ignores the others. Unanswered is how many of them had no
	// answer within Timeout: they took at least that long. Drained is how long after the test the last of them ended.
	InFlight   Timings       `json:"in_flight,omitempty"`
	Unanswered int           `json:"unanswered,omitempty"`
	Drained    time.Duration `json:"drained,omitempty"`
	// Elapsed lasts from the beginning to the end of the last request in Timings.
	Elapsed time.Duration `json:"elapsed"`
}

// Failed is how many requests failed.
func (t *Tally) Failed() int { return t.Connect + t.Receive + t.WrongLength + t.Exceptions }

// Timings are sent as text of about ten letters each: differences of the starts, and times, as variable-length integers
// (encoding/binary), in base64.
type Timings []Timing

// MaxTravelling is the number of timings that fit into one message of package wire (16 MiB), however long they took.
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
