package engineapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/testkit/contracttest"
)

// A fake is a daemon that stores what it is asked to and notes each request.
type fake struct {
	*httptest.Server
	t *testing.T
	// recorder holds each request against the Engine's published description.
	recorder *contracttest.Recorder
	// version and os are what it says of itself; drops and warns what it does with an update.
	version, os string
	drops       bool
	warns       []string
	refuses     string
	// keeps is what no update changes.
	keeps string

	mu       sync.Mutex
	host     map[string]any
	requests []string
}

func newFake(t *testing.T, version, osType string) *fake {
	f := &fake{t: t, version: version, os: osType, host: map[string]any{}}
	f.recorder = contracttest.Record(t, http.HandlerFunc(f.serve))
	f.Server = httptest.NewServer(f.recorder)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Api-Version", f.version)
	w.Header().Set("Ostype", f.os)
	w.Header().Set("Content-Type", "application/json")
	answer := func(v any) { json.NewEncoder(w).Encode(v) }
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodPost {
		f.requests = append(f.requests, string(body))
	}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/_ping"):
	case strings.HasSuffix(path, "/version"):
		answer(map[string]any{"Version": "fake", "Os": f.os})
	case strings.HasSuffix(path, "/info"):
		answer(map[string]any{"OSType": f.os, "NCPU": 4, "CPUShares": true, "CpuCfsQuota": true, "MemoryLimit": true, "CgroupVersion": "2"})
	case strings.HasSuffix(path, "/containers/web/json"):
		answer(map[string]any{"Id": "web", "State": map[string]any{"Running": true}, "HostConfig": f.host})
	case strings.HasSuffix(path, "/containers/web/update"):
		if f.refuses != "" {
			w.WriteHeader(http.StatusInternalServerError)
			answer(map[string]any{"message": f.refuses})
			// Once: what was there before is taken back.
			f.refuses = ""
			return
		}
		var update map[string]any
		if err := json.Unmarshal(body, &update); err != nil {
			f.t.Errorf("update with %s: %v", body, err)
		}
		for k, v := range update {
			// As Docker does: null and 0 leave what there is, a list takes its place.
			if v != nil && v != 0.0 && v != "" && k != f.keeps && !(f.drops && strings.HasPrefix(k, "BlkioDevice")) {
				f.host[k] = v
			}
		}
		answer(map[string]any{"Warnings": f.warns})
	case strings.HasSuffix(path, "/containers/create"):
		w.WriteHeader(http.StatusCreated)
		answer(map[string]any{"Id": "web"})
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(map[string]any{"message": "no such thing: " + path})
	}
}

func (f *fake) open() *API {
	f.t.Helper()
	a, err := Open(f.t.Context(), "tcp://"+strings.TrimPrefix(f.URL, "http://"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { a.Close() })
	return a
}

func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

// TestContract: the requests are as the Engine's published description has them, which the fake's recorder looks at.
func TestContract(t *testing.T) {
	f := newFake(t, "1.55", "linux")
	a := f.open()
	if o, err := a.Set(t.Context(), "web", Resources{Devices: []Device{sdb}, Weight: 300, CPUs: 1.5, CPUShares: 512, Memory: 1 << 30}); err != nil || !o.Live || !o.Stored {
		t.Fatalf("Set = %+v, %v", o, err)
	}
	if left, err := a.Forget(t.Context(), "web", Which{}); err != nil || len(left.Devices) > 0 {
		t.Fatalf("Forget = %+v, %v", left, err)
	}
	if len(f.asked()) != 2 {
		t.Errorf("requests %q, want two", f.asked())
	}
	for _, x := range []struct {
		l       Resources
		windows bool
	}{
		{Resources{Devices: []Device{sdb}, Weight: 300, CPUs: 1.5, CPUShares: 512, Memory: 1 << 30}, false},
		{Resources{SystemBPS: 10 << 20, SystemIOPS: 500, CPUPercent: 50, Memory: 1 << 30, Isolation: "hyperv"}, true},
		{Resources{SystemBPS: 1<<64 - 1, CPUCount: 2, Isolation: "process"}, true},
	} {
		d := linux()
		if x.windows {
			d = windows()
		}
		host := &container.HostConfig{}
		if err := Create(d, x.l, host); err != nil {
			t.Fatal(err)
		}
		f := newFake(t, "1.55", d.OS)
		if _, err := f.open().client.ContainerCreate(t.Context(), client.ContainerCreateOptions{Config: &container.Config{Image: "x"}, HostConfig: host}); err != nil {
			t.Fatal(err)
		}
		if n := f.recorder.Asked()["POST /containers/create"]; n != 1 {
			t.Errorf("%d requests to make a container", n)
		}
	}
}
