package dockerapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAskAtOnce: a daemon that is slow to tell of itself is asked for both at once: each answer waits here until the other is
// asked for.
func TestAskAtOnce(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		wait := func() { both.Done(); both.Wait() }
		switch {
		case strings.HasSuffix(r.URL.Path, "/version"):
			wait()
			fmt.Fprint(w, `{"Version": "27.3.1", "Os": "linux", "Arch": "amd64", "Components": [{"Name": "Podman Engine", "Version": "5.4.0"}]}`)
		case strings.HasSuffix(r.URL.Path, "/info"):
			wait()
			fmt.Fprint(w, `{"OSType": "linux", "Name": "box"}`)
		}
	}))
	defer s.Close()
	api, err := Open(Address{Host: "tcp://" + strings.TrimPrefix(s.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	d, err := Ask(t.Context(), api, "")
	if err != nil {
		both.Add(-1) // What was asked for alone still waits for the other.
		t.Fatal(err)
	}
	want := *d
	want.Name, want.Version, want.Info.Name, want.OS = "podman", "5.4.0", "box", "linux"
	if diff := cmp.Diff(want, *d); diff != "" {
		t.Errorf("Ask (-want +got):\n%s", diff)
	}
}
