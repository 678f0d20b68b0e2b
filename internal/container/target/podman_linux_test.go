package target

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
)

// storageOf returns the Storage of a test's Podman.
func storageOf(l *apiLab) Storage {
	return Storage{Graph: filepath.Join(l.d.Dir, "root"), Run: filepath.Join(l.d.Dir, "run")}
}

// program runs the podman that belongs to the daemon.
func (l *apiLab) program(ctx context.Context, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, l.d.Command[0], append(slices.Clone(l.d.Command[1:]), argv...)...)
	cmd.Env = l.d.Env
	return cmd.Output()
}

// testPodmanStorage: without a socket Podman's containers are found in its folders.
func testPodmanStorage(t *testing.T, l *apiLab) {
	id := l.create(t, "filed", map[string]string{"team": "blue"}, &container.HostConfig{
		Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "filed-data", Target: "/data"}},
	})
	idle := l.create(t, "filed-idle", nil, nil)
	l.start(t, id)
	f := finder(t, Options{Storage: []Storage{storageOf(l)}, Podman: l.program})
	for _, s := range []string{"filed", "podman:filed", "podman:" + id[:12]} {
		got := resolve(t, f, s)
		wantRunning(t, f, got, l.pid(t, id))
		wantTold(t, s, got, told{Engine: Podman, ID: id, Name: "filed", Team: "blue"})
		if got.Image == "" {
			t.Errorf("Resolve(%s): no image", s)
		}
		if m := wantMount(t, s, got, "/data"); m.Volume != "filed-data" || m.Driver != "local" {
			t.Errorf("Resolve(%s): mount %+v, want the volume filed-data", s, m)
		}
	}
	if all, err := f.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("List() = %+v, %v; want one", all, err)
	} else if c := all[0]; c.ID != id || c.Labels["team"] != "blue" {
		t.Errorf("List() has %s with labels %v, want %s of team blue", c.ID, c.Labels, id)
	}
	v := resolve(t, f, "volume:filed-data")
	if v.Engine != Podman || len(v.Users) != 1 || v.Users[0].ID != id {
		t.Errorf("volume:filed-data = %+v", v)
	}
	// A container that was made and never started has no config.json yet.
	if err := resolveErr(t, f, "filed-idle"); idle == "" || err == nil {
		t.Error(err)
	}

	// Podman's socket and runc's folder both have the container; it is listed once.
	opt := l.options()
	opt.Storage, opt.Runc = []Storage{storageOf(l)}, []string{"/run/runc"}
	both := finder(t, opt)
	got := resolve(t, both, id)
	if got.Name != "filed" || got.Host == "" {
		t.Errorf("Resolve(%s) = %+v, want what the daemon says", id, got)
	}
	n := 0
	all, _ := both.List(t.Context()) // Others' containers in /run/runc may come and go.
	for _, c := range all {
		if c.ID == id {
			n++
		}
	}
	if n != 1 {
		t.Errorf("List() has the container %d times", n)
	}

	l.kill(t, id)
	wantErr[*NotRunningError](t, resolveErr(t, f, "filed"), "container filed", "podman start filed")

	silent := finder(t, Options{Storage: []Storage{storageOf(l)}, Podman: Exec("plimsoll-no-such-program")})
	l.start(t, id)
	if got := resolve(t, silent, "filed"); len(got.Notes) != 1 || got.PID == 0 {
		t.Errorf("without the program: %+v, want a note that labels are not known", got)
	}
}

// testPodmanStorageEvents: a start and an end are reported without a socket.
func testPodmanStorageEvents(t *testing.T, l *apiLab) {
	before := l.create(t, "before", nil, nil)
	l.start(t, before)
	f := finder(t, Options{Storage: []Storage{storageOf(l)}, Podman: l.program})
	on := listen(t, f)
	on.next(Connected, "")
	id := l.create(t, "filed-noisy", map[string]string{"team": "red"}, nil)
	l.start(t, id)
	e := on.next(Started, id)
	wantRunning(t, f, e.Target, l.pid(t, id))
	if e.Target.Name != "filed-noisy" || e.Target.Labels["team"] != "red" {
		t.Errorf("event %+v", e)
	}
	l.kill(t, id)
	on.next(Ended, id)
	l.kill(t, before)
	on.next(Ended, before)
	l.start(t, id)
	if e := on.next(Started, id); e.Target.PID != l.pid(t, id) {
		t.Errorf("event %+v, want process %d", e, l.pid(t, id))
	}
}
