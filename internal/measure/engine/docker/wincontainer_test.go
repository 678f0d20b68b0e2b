package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/seccomp"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/contracttest"
	"plimsoll/internal/text/refusal"
)

// A windowsFake says of itself that it is a daemon of Windows containers, has one image, and notes the requests that make a
// container. It starts none. Each request is held against the Engine's published description.
type windowsFake struct {
	mu      sync.Mutex
	created []string
	paths   []string
}

func (f *windowsFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Api-Version", "1.47")
	w.Header().Set("Ostype", "windows")
	w.Header().Set("Content-Type", "application/json")
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch path := r.URL.Path; {
	case path == "/_ping":
	case strings.HasSuffix(path, "/version"):
		fmt.Fprint(w, `{"Version": "27.3.1", "Os": "windows", "Arch": "amd64"}`)
	case strings.HasSuffix(path, "/info"):
		fmt.Fprint(w, `{"OSType": "windows", "Architecture": "x86_64", "NCPU": 4, "DockerRootDir": "C:\\ProgramData\\docker", "Driver": "windowsfilter"}`)
	case strings.HasSuffix(path, "/images/nano/json"):
		fmt.Fprint(w, `{"Id": "sha256:1", "Os": "windows", "Architecture": "amd64"}`)
	case strings.HasSuffix(path, "/images/bookworm/json"):
		fmt.Fprint(w, `{"Id": "sha256:2", "Os": "linux", "Architecture": "amd64"}`)
	case strings.HasSuffix(path, "/containers/create"):
		f.created = append(f.created, string(body))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"Id": "web"}`)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		f.paths = append(f.paths, r.Method+" "+r.URL.String())
		http.Error(w, `{"message": "this daemon starts nothing"}`, http.StatusInternalServerError)
	}
}

func newWindowsFake(t *testing.T) (*windowsFake, engine.Engine) {
	f := &windowsFake{}
	return f, windowsEngine(serveFake(t, contracttest.Record(t, f)))
}

func windowsEngine(host string) engine.Engine {
	return New(Options{Host: host, Worker: windowsWorker})
}

// windowsWorker is no worker, and is for Windows alone.
func windowsWorker(goos, goarch string) ([]byte, error) {
	if goos != "windows" || goarch != "amd64" {
		return nil, fmt.Errorf("asked for the worker of %s/%s", goos, goarch)
	}
	return []byte("MZ"), nil
}

// TestDockerWindowsRequest: what a plan's limits and isolation become in the request that makes a Windows container; it is as
// the Engine's published description has it, and has nothing in it that Windows refuses.
func TestDockerWindowsRequest(t *testing.T) {
	api := contracttest.Read(t)
	for name, x := range map[string]struct {
		isolation string
		limits    limit.Limits
		want      map[string]any
	}{
		"the published caps": {"process", limit.Limits{SystemIOPS: 100, SystemBPS: 5 << 20, CPUs: 1.5, Memory: 4 << 30},
			map[string]any{"IOMaximumIOps": 100.0, "IOMaximumBandwidth": 5.0 * (1 << 20), "NanoCpus": 1.5e9, "Memory": 4.0 * (1 << 30), "Isolation": "process"}},
		"hyperv":     {"hyperv", limit.Limits{CPUShares: 1500}, map[string]any{"CpuShares": 1500.0, "Isolation": "hyperv"}},
		"no limits":  {"", limit.Limits{}, map[string]any{}},
		"bytes only": {"", limit.Limits{SystemBPS: limit.MaxBPS}, map[string]any{"IOMaximumBandwidth": float64(limit.MaxBPS)}},
	} {
		t.Run(name, func(t *testing.T) {
			f, e := newWindowsFake(t)
			_, err := e.Open(t.Context(), engine.Spec{ID: "a-1", Image: "nano", Place: place.Spec{Kind: place.Volume}, Limits: x.limits, Isolation: x.isolation})
			if err == nil || !strings.Contains(err.Error(), "this daemon starts nothing") || len(f.created) != 1 {
				t.Fatalf("Open = %v after %d containers, want that one was made and not started", err, len(f.created))
			}
			var body struct {
				User, WorkingDir string
				Entrypoint       []string
				HostConfig       map[string]any
			}
			if err := json.Unmarshal([]byte(f.created[0]), &body); err != nil {
				t.Fatal(err)
			}
			known := map[string]bool{"Isolation": true}
			api.Keys(api.At(t, "definitions", "Resources"), known)
			got := map[string]any{}
			for k, v := range body.HostConfig {
				if known[k] && v != nil && v != 0.0 && v != "" {
					got[k] = v
				}
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("limits of the request (-want +got): %s", diff)
			}
			// Refused by moby's daemon/daemon_windows.go, verifyPlatformContainerResources, and by Windows itself.
			for _, k := range []string{"Ulimits", "MemorySwap", "CapAdd", "SecurityOpt"} {
				if v := body.HostConfig[k]; v != nil && v != 0.0 {
					t.Errorf("%s is %v, which Windows does not support", k, v)
				}
			}
			if body.User != "ContainerAdministrator" || body.WorkingDir != `C:\` {
				t.Errorf("the container is user %q's in %q", body.User, body.WorkingDir)
			}
			if worker := body.Entrypoint[0]; !strings.HasPrefix(worker, `C:\plimsoll-worker-`) || !strings.HasSuffix(worker, ".exe") {
				t.Errorf("the container runs %q", worker)
			}
			if data := body.Entrypoint[3]; !strings.HasPrefix(data, `C:\plimsoll-data-`) {
				t.Errorf("the container's data is in %q", data)
			}
			if strings.Contains(strings.Join(body.Entrypoint, ""), "/") {
				t.Errorf("the container runs %q, with a slash", body.Entrypoint)
			}
			if len(f.paths) == 0 || !strings.Contains(f.paths[0], "/archive") || !strings.Contains(f.paths[0], "path="+url.QueryEscape(archiveRoot)) {
				t.Errorf("the worker went to %q", f.paths)
			}
		})
	}
}

// TestDockerWindowsRefuses: what Windows refuses is refused in its daemon's words, before a container is made.
func TestDockerWindowsRefuses(t *testing.T) {
	for want, spec := range map[string]engine.Spec{
		"invalid option: Windows does not support BlkioDeviceReadBps":   {Limits: limit.Limits{ReadBPS: 5}},
		"invalid option: Windows does not support BlkioDeviceWriteBps":  {Limits: limit.Limits{WriteBPS: 5}},
		"invalid option: Windows does not support BlkioDeviceReadIOps":  {Limits: limit.Limits{ReadIOPS: 5}},
		"invalid option: Windows does not support BlkioDeviceWriteIOps": {Limits: limit.Limits{WriteIOPS: 5}},
		"invalid option: Windows does not support BlkioWeight":          {Limits: limit.Limits{Weight: 5000}},
		"Windows has no target of latency":                              {Limits: limit.Limits{Latency: 5e6}},
		"it needs a Windows image":                                      {Image: "-"},
		"it is for linux, and the daemon runs containers of windows":    {Image: "bookworm"},
		"no file system in memory":                                      {Place: place.Spec{Kind: place.Tmpfs}},
		"Windows has no seccomp":                                        {Seccomp: seccomp.Unconfined},
	} {
		f, e := newWindowsFake(t)
		spec.ID = "a-1"
		if spec.Place.Kind == "" {
			spec.Place.Kind = place.Layer
		}
		switch spec.Image {
		case "":
			spec.Image = "nano"
		case "-":
			spec.Image = ""
		}
		_, err := e.Open(t.Context(), spec)
		var u *refusal.Error
		if !errors.As(err, &u) || !strings.Contains(err.Error(), want) || len(f.created) > 0 {
			t.Errorf("Open(%+v) = %v after %d containers, want %q before one", spec, err, len(f.created), want)
		}
	}
	for want, spec := range map[string]engine.Spec{
		"Nano CPUs and CPU Shares cannot both be set":                        {Limits: limit.Limits{CPUs: 1, CPUShares: 10}},
		"range of CPUShares is from 1 to 10000":                              {Limits: limit.Limits{CPUShares: 10001}},
		"range of CPUs is from 0.01 to 4.00":                                 {Limits: limit.Limits{CPUs: 5}},
		"invalid isolation (vm): Windows supports 'default', 'process', or ": {Isolation: "vm"},
	} {
		f, e := newWindowsFake(t)
		spec.ID, spec.Image, spec.Place.Kind = "a-1", "nano", place.Layer
		if _, err := e.Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), want) || len(f.created) > 0 {
			t.Errorf("Open(%+v) = %v after %d containers, want %q before one", spec, err, len(f.created), want)
		}
	}
}

// TestDockerWindowsProbe: the daemon is usable, with an image; without a worker for Windows it says what has one.
func TestDockerWindowsProbe(t *testing.T) {
	_, e := newWindowsFake(t)
	p := e.Probe(t.Context())
	want := []place.Kind{place.Layer, place.Volume}
	if onWindows { // The daemon's folders are this machine's.
		want = append(want, place.Bind)
	}
	if !p.OK || !strings.Contains(strings.Join(p.Notes, "\n"), "need an image of Windows") || cmp.Diff(want, p.Places) != "" {
		t.Errorf("Probe() = %+v", p)
	}
}

// TestWindowsLimitsElsewhere: Docker on Linux refuses what Windows alone has, in its own words.
func TestWindowsLimitsElsewhere(t *testing.T) {
	linux := &daemonInfo{dockerapi.Daemon{Name: "docker", OS: "linux"}}
	linux.Info.NCPU = 2
	docker := func(s engine.Spec) error {
		_, _, err := (&Engine{}).containerConfig(s, linux, &workerImage{}, nil, nil)
		return err
	}
	for _, x := range []struct {
		err  error
		want string
	}{
		{docker(engine.Spec{Limits: limit.Limits{SystemIOPS: 100}}), "invalid option: QoS maximum IOPs configuration is not supported on linux"},
		{docker(engine.Spec{Limits: limit.Limits{SystemBPS: 100}}), "invalid option: QoS maximum bandwidth configuration is not supported on linux"},
		{docker(engine.Spec{Isolation: "hyperv"}), "invalid isolation (hyperv): linux only supports 'default'"},
	} {
		var u *refusal.Error
		if !errors.As(x.err, &u) || !strings.Contains(x.err.Error(), x.want) {
			t.Errorf("%v, want %q", x.err, x.want)
		}
	}
}
