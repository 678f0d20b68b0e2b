package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReaderHostile(t *testing.T) {
	for name, row := range map[string]struct{ in, want string }{
		"not JSON":      {"Segmentation fault\n", `not a message: "Segmentation fault"`},
		"null":          {"null\n", "0 things"},
		"number":        {"17\n", "not a message"},
		"list":          {"[]\n", "not a message"},
		"empty object":  {"{}\n", "0 things"},
		"unknown field": {`{"helo":{}}` + "\n", "0 things"},
		"two fields":    {`{"ready":{"id":"1"},"stop":{"id":"1"}}` + "\n", "2 things"},
		"two messages":  {`{"ready":{"id":"1"}}{"ready":{"id":"2"}}` + "\n", "not a message"},
		"wrong type":    {`{"ready":{"id":7}}` + "\n", "not a message"},
		"torn":          {`{"ready":{"id":`, "not a message"},
		"null field":    {`{"ready":null}` + "\n", "0 things"},
		"too long":      {strings.Repeat("x", MaxLine+1) + "\n", "longer than"},
		"long quote":    {strings.Repeat("y", 1000) + "\n", `"` + strings.Repeat("y", 80) + `"`},
	} {
		m, _, err := NewReader(strings.NewReader(row.in)).Next()
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: Next() = %v, want %q in it", name, err, row.want)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
		if m != (Message{}) {
			t.Errorf("%s: a message came with the error: %+v", name, m)
		}
	}
}

// TestReaderSealed: a result that is only passed on is not looked into; all else is, and it has to be a message.
func TestReaderSealed(t *testing.T) {
	const whole = `{"result":{"id":7,"classes":"none"}}`
	for in, want := range map[string]string{
		whole:                          "",
		`{"result":null}`:              "0 things",
		`{"result":[]}`:                "not a message",
		`{"result":{"id":"1"}`:         "not a message",
		`{"result":{},"stop":{}}`:      "2 things",
		`{"sample":{"id":7}}`:          "not a message",
		`{"error":{"id":"1"}}`:         "",
		`{"resulting":{"id":"1"}}`:     "0 things",
		`{"result":{}}{"result":{}}`:   "not a message",
		`{"result": {"id":"\ud800"} }`: "",
	} {
		r := NewReader(strings.NewReader(in + "\n"))
		r.SealedResults = true
		m, line, err := r.Next()
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: Next() = %v, want %q in it", in, err, want)
			}
			continue
		}
		if err != nil || string(line) != in || (m.Result == nil) == (m.Error == nil) {
			t.Errorf("%s: Next() = %+v, %q, %v", in, m, line, err)
		}
		if m.Result != nil && m.Result.ID != "" {
			t.Errorf("%s: it was looked into: %+v", in, m.Result)
		}
	}
	if _, _, err := NewReader(strings.NewReader(whole + "\n")).Next(); err == nil {
		t.Error("a result that is none was read")
	}
}

// TestSendBad: what is no message is not sent.
func TestSendBad(t *testing.T) {
	for want, m := range map[string]Message{"nothing": {}, "several": {Probe: &Probe{}, Stop: &Stop{}}} {
		var b bytes.Buffer
		if err := NewWriter(&b).Send(m); err == nil || !strings.Contains(err.Error(), want) || b.Len() > 0 {
			t.Errorf("Send(%+v) = %v, %q written", m, err, b.String())
		}
	}
	Warm()
}

func TestReaderReadError(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader(`{"stop":{"id":"1"}}`+"\n"), errReader{broken}))
	if m, _, err := r.Next(); err != nil || m.Stop == nil {
		t.Fatalf("Next() = %+v, %v", m, err)
	}
	if _, _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("Next() = %v, want %v", err, broken)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestCodec(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	want := []Message{
		{Run: &Run{ID: "1"}},
		{Error: &Error{ID: "1", Phase: PhaseRun, Text: "two\nlines", Errno: 28}},
	}
	for _, m := range want {
		if err := w.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(b.String(), "\n"); n != len(want) {
		t.Errorf("%d lines for %d messages", n, len(want))
	}
	r := NewReader(strings.NewReader("\n" + b.String() + "\n"))
	for i := range want {
		m, _, err := r.Next()
		if diff := cmp.Diff(want[i], m); err != nil || diff != "" {
			t.Errorf("message %d: %v %s", i, err, diff)
		}
	}
	if _, _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v, want io.EOF", err)
	}
}

// TestMaxLine: what may be sent may be read, and the other way round.
func TestMaxLine(t *testing.T) {
	frame := len(`{"ready":{"id":""}}`)
	for _, row := range []struct {
		length int
		ok     bool
	}{{MaxLine, false}, {MaxLine - 1, true}} {
		var b bytes.Buffer
		err := NewWriter(&b).Send(Message{Ready: &Ready{ID: strings.Repeat("i", row.length-frame)}})
		if (err == nil) != row.ok {
			t.Errorf("Send of %d bytes = %v, want ok %v", row.length, err, row.ok)
		}
		if !row.ok {
			if b.Len() > 0 {
				t.Errorf("%d bytes of a refused message were written", b.Len())
			}
			continue
		}
		if _, line, err := NewReader(&b).Next(); err != nil || len(line) != row.length {
			t.Errorf("Next() of %d bytes = %d bytes, %v", row.length, len(line), err)
		}
	}
}

// TestSendTogether: lines of several goroutines don't mix.
func TestSendTogether(t *testing.T) {
	in, out := io.Pipe()
	w := NewWriter(out)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				w.Send(Message{Ready: &Ready{ID: strings.Repeat("x", 500)}})
			}
		})
	}
	go func() { wg.Wait(); out.Close() }()
	n := 0
	for r := NewReader(in); ; n++ {
		if _, _, err := r.Next(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if n != 400 {
		t.Errorf("%d messages, want 400", n)
	}
}

// FuzzReader: whatever is read as a message can be sent and read again.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"", "\n\n", "null", "{}", `{"hello":{"version":1,"pid":1,"mount":{"fs_type":"ext4"}}}`, `{"run":{"id":"1","spec":{"name":"a","kind":"append"}}}`,
		`{"result":{"id":"1","classes":[{"name":"read","ops":1,"lat":{}}]}}`, `{"sample":{"id":"1","at":5,"ops":1e99}}`, `{"ready":{"id":"\ud800"}}`, "\x00\xff",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		for {
			m, _, err := r.Next()
			if err != nil {
				return
			}
			var again bytes.Buffer
			if err := NewWriter(&again).Send(m); err != nil {
				t.Fatalf("Send(%+v) = %v", m, err)
			}
			first := bytes.Clone(again.Bytes())
			m2, _, err := NewReader(&again).Next()
			if err != nil {
				t.Fatalf("%s can't be read again: %v", first, err)
			}
			var third bytes.Buffer
			if err := NewWriter(&third).Send(m2); err != nil || !bytes.Equal(first, third.Bytes()) {
				t.Fatalf("%s became %s, %v", first, third.Bytes(), err)
			}
		}
	})
}
