package contracttest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// A Recorder is a proxy in front of a real or fake daemon. It compares each request with the description; if one differs, the test
// fails at its end.
type Recorder struct {
	description *Description
	next        http.Handler

	mu       sync.Mutex
	asked    map[string]int
	problems []string
}

// Record makes a Recorder in front of next.
func Record(t *testing.T, next http.Handler) *Recorder {
	t.Helper()
	r := &Recorder{description: Read(t), next: next, asked: map[string]int{}}
	t.Cleanup(func() {
		for _, p := range r.Problems() {
			t.Errorf("a request is not as the Engine's API has it: %s", p)
		}
	})
	return r
}

// ServeHTTP implements http.Handler.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body := ""
	// An archive may be large, and the data after a request to attach is the container's input.
	if q.Header.Get("Upgrade") == "" && q.Header.Get("Content-Type") != "application/x-tar" {
		b, err := io.ReadAll(q.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body, q.Body = string(b), io.NopCloser(bytes.NewReader(b))
	}
	template, _ := r.description.Operation(q.Method, q.URL.Path)
	problems := r.description.RequestProblems(q.Method, q.URL, q.Header, body)
	r.mu.Lock()
	r.asked[q.Method+" "+template]++
	r.problems = append(r.problems, problems...)
	r.mu.Unlock()
	r.next.ServeHTTP(w, q)
}

// Asked returns how often each operation of the description was requested: "POST /containers/create".
func (r *Recorder) Asked() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.asked)
}

// Problems returns the differences found, each once.
func (r *Recorder) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.problems)
	slices.Sort(all)
	return slices.Compact(all)
}
