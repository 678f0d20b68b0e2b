package docker

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/text/refusal"
)

// runtimes is a daemon's configuration with runc under another name, and one that can't be started. The daemon's own runc: an
// older one refuses what it is asked for.
func runtimes(t *testing.T) string {
	return fmt.Sprintf(`{"runtimes": {"another": {"path": %q}, "broken": {"path": "/nowhere/runc"}}}`, dockertest.Program(t, "runc"))
}

// testDockerRuntime: a container is run by the runtime that was asked for, here runc under another name, and the session says so; one
// that the daemon hasn't got is unsupported, with those that it has.
func testDockerRuntime(t *testing.T, l *labDaemon) {
	e := l.engine(nil)
	spec := layerSpec()
	for _, name := range []string{"another", "runc"} {
		spec.Runtime = name
		s := l.open(t, e, spec)
		if c := l.inspect(t, s); c.HostConfig.Runtime != name || !strings.HasPrefix(s.Info().Runtime, name) {
			t.Errorf("the container's runtime is %s, the session says %q; want %s", c.HostConfig.Runtime, s.Info().Runtime, name)
		}
		if got := s.say(t, "echo hi"); got != "hi" {
			t.Errorf("%s: echo = %q, want hi", name, got)
		}
	}
	for _, name := range []string{"kata-runtime", "io.containerd.nowhere.v1"} {
		spec.Runtime, spec.ID = name, testID()
		_, err := e.Open(t.Context(), spec)
		var u *refusal.Error
		if !errors.As(err, &u) || u.What != "runtime "+name {
			t.Errorf("Open with runtime %s = %v, want it refused", name, err)
		} else if !strings.Contains(u.Why, "it has another, broken") || u.Fix == "" {
			t.Errorf("Open with runtime %s = %v, want what the daemon has, and a fix", name, err)
		}
		l.wantNothing(t, spec.ID)
	}
	// If the daemon knows the runtime's name but can't start it, the error has the daemon's words.
	spec.Runtime, spec.ID = "broken", testID()
	if _, err := e.Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "broken") && !strings.Contains(err.Error(), "/nowhere/runc") {
		t.Errorf("Open with a broken runtime = %v, want an error that names it", err)
	}
	l.wantNothing(t, spec.ID)
}

// TestDockerRuntimeWindows: Windows has no runtimes, and isolation in their place; a daemon of Linux has no such isolation.
func TestDockerRuntimeWindows(t *testing.T) {
	windows := &daemonInfo{dockerapi.Daemon{Name: "docker", OS: "windows", Info: system.Info{Runtimes: map[string]system.RuntimeWithStatus{}}}}
	linux := &daemonInfo{dockerapi.Daemon{Name: "docker", OS: "linux", Info: system.Info{Runtimes: map[string]system.RuntimeWithStatus{"runc": {}}}}}
	layer := place.Spec{Name: "layer", Kind: place.Layer}
	for _, row := range []struct {
		name string
		d    *daemonInfo
		spec engine.Spec
		want string
	}{
		{"a runtime on Windows", windows, engine.Spec{ID: "a", Place: layer, Runtime: "runc"}, "engine docker has no runtime runc: a daemon with Windows containers"},
		{"one that is there", linux, engine.Spec{ID: "a", Place: layer, Runtime: "runc"}, ""},
		{"one that isn't", linux, engine.Spec{ID: "a", Place: layer, Runtime: "runsc"}, "engine docker has no runtime runsc: the daemon does not know it (it has runc); install it"},
	} {
		err := checkSpec(row.spec, row.d)
		if (err == nil) != (row.want == "") {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
	for _, row := range []struct {
		host container.Isolation
		spec string
		want string
	}{{"", "", ""}, {"default", "", ""}, {"hyperv", "", "hyperv"}, {"process", "process", "process"}, {"", "hyperv", "hyperv"}} {
		if got := isolationOf(&container.HostConfig{Isolation: row.host}, engine.Spec{Isolation: row.spec}); got != row.want {
			t.Errorf("isolation %q by the daemon, %q asked for: %q, want %q", row.host, row.spec, got, row.want)
		}
	}
}
