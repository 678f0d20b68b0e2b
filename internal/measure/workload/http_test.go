package workload

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/httpload"
	"plimsoll/load"
)

func asking(address string) Spec {
	return Spec{Name: "ab", Kind: HTTP, HTTP: &httpload.Spec{
		Address: address, Request: []byte("GET / HTTP/1.0\r\n\r\n"), Requests: 30, Concurrency: 3, Timeout: 10 * time.Second,
	}}
}

// TestHTTP: requests are the operations of the class that counts, and what ab needs travels with them.
func TestHTTP(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(2 * time.Millisecond)
		io.WriteString(w, "hello")
	}))
	defer s.Close()
	r, err := Prepare(t.Context(), asking(strings.TrimPrefix(s.URL, "http://")), Folders{Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var seen int64
	got, err := r.Run(t.Context(), func(s load.Sample) { seen += s.Ops })
	if err != nil {
		t.Fatal(err)
	}
	c := got.Classes[0]
	if c.Name != "request" || c.Bytes != got.HTTP.Read {
		t.Errorf("class %q with %d bytes, want \"request\" with the %d that were read", c.Name, c.Bytes, got.HTTP.Read)
	}
	if got.Ops() != 30 || seen != 30 {
		t.Errorf("%d requests in the result and %d in the samples, want 30", got.Ops(), seen)
	}
	if n, least := c.Lat.Count(), time.Duration(c.Lat.Min()); n != 30 || least < 2*time.Millisecond {
		t.Errorf("%d latencies of at least %v, want 30 of at least 2ms", n, least)
	}
	if read, written := got.Bytes(); read != 0 || written != 0 {
		t.Errorf("%d bytes were read from storage and %d written", read, written)
	}
	text, err := json.Marshal(got)
	var back Result
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if n := len(back.HTTP.Timings); n != 30 || back.HTTP.Timings[29] != got.HTTP.Timings[29] {
		t.Errorf("%d timings are in JSON, want the same 30: %s", n, text)
	}
	if back.HTTP.Length != 5 {
		t.Errorf("an answer has %d bytes in JSON, want 5", back.HTTP.Length)
	}
	if m := asking("x").Metric(); m.Name != "requests" || got.Value(m) <= 0 {
		t.Errorf("%+v: %v", m, got.Value(m))
	}
}

func TestHTTPFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	r, err := Prepare(t.Context(), asking(l.Addr().String()), Folders{Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := r.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%+v, %v", res, err)
	}
	for _, bad := range []Spec{{Kind: HTTP}, {Kind: HTTP, HTTP: &httpload.Spec{}}} {
		if _, err := Prepare(t.Context(), bad, Folders{Work: t.TempDir()}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
