package dockerapi

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"plimsoll/internal/testkit/winetest"
)

// TestPipe: a daemon on a named pipe, as Docker's on Windows is, is asked over it: one request after the other and two at once.
func TestPipe(t *testing.T) {
	host := winetest.ServePipe(t, "plimsoll-test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.47")
		w.Header().Set("Ostype", "windows")
		w.Header().Set("Content-Type", "application/json")
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/version"):
			fmt.Fprint(w, `{"Version": "27.3.1", "Os": "windows", "Arch": "amd64"}`)
		case strings.HasSuffix(path, "/info"):
			fmt.Fprint(w, `{"OSType": "windows", "Name": "box"}`)
		case strings.HasSuffix(path, "/containers/json"):
			fmt.Fprint(w, `[{"Id": "1", "Names": ["/web"]}]`)
		}
	}))
	api, err := Open(Address{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	d, err := Ask(t.Context(), api, "")
	if err != nil {
		t.Fatal(err)
	}
	want := *d
	want.Name, want.Version, want.Info.Name, want.OS, want.Elsewhere = "docker", "27.3.1", "box", "windows", ""
	if diff := cmp.Diff(want, *d); diff != "" {
		t.Errorf("Ask (-want +got):\n%s", diff)
	}
	list, err := api.ContainerList(t.Context(), client.ContainerListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Names[0] != "/web" {
		t.Errorf("containers: %+v, %v", list, err)
	}
}

// TestPipeMissing: the pipe doesn't exist.
func TestPipeMissing(t *testing.T) {
	api, err := Open(Address{Host: "npipe:////./pipe/plimsoll-none"})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	_, err = Ask(t.Context(), api, "")
	var m *Missing
	if !errors.As(err, &m) || !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("Ask without a pipe: %v", err)
	}
	if !strings.Contains(m.Missing, "no daemon's pipe at //./pipe/plimsoll-none") {
		t.Errorf("Ask without a pipe: %q", m.Missing)
	}
	if !strings.Contains(m.Fix, "Start-Service docker") {
		t.Errorf("Ask without a pipe: the fix is %q", m.Fix)
	}
}

// TestPipeFind: a named pipe is where a daemon is looked for, and may be named.
func TestPipeFind(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", `C:\none`)
	t.Setenv("DOCKER_CONTEXT", "")
	for env, want := range map[string]Address{
		"":                        {Host: "npipe:////./pipe/docker_engine"},
		"npipe:////./pipe/podman": {Host: "npipe:////./pipe/podman", Source: client.EnvOverrideHost},
	} {
		t.Setenv("DOCKER_HOST", env)
		if a, err := Find("", nil); err != nil || a != want {
			t.Errorf("Find with DOCKER_HOST=%s = %+v, %v, want %+v", env, a, err, want)
		}
	}
}
