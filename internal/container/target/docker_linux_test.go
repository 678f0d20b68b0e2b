package target

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
)

// TestDocker uses a daemon of its own. PLIMSOLL_DOCKERD makes it the current version.
func TestDocker(t *testing.T) {
	t.Parallel()
	l := newAPILab(t, dockertest.Start(t))
	t.Run("Names", func(t *testing.T) { testAPINames(t, l, Docker) })
	t.Run("NotRunning", func(t *testing.T) { testAPINotRunning(t, l, Docker) })
	t.Run("Ends", func(t *testing.T) { testAPIEnds(t, l) })
	t.Run("Volume", func(t *testing.T) { testAPIVolume(t, l, Docker) })
	t.Run("Ambiguous", func(t *testing.T) { testDockerAmbiguous(t, l) })
	t.Run("Containerd", func(t *testing.T) { testDockerContainerd(t, l) })
	t.Run("Events", func(t *testing.T) { testAPIEvents(t, l, Docker) })
	// This test comes last, because it stops the daemon.
	t.Run("DaemonDown", func(t *testing.T) { testDockerDown(t, l) })
}

// TestPodman uses Podman's socket.
func TestPodman(t *testing.T) {
	t.Parallel()
	l := newAPILab(t, dockertest.Podman(t, dockertest.PodmanOptions{}))
	t.Run("Names", func(t *testing.T) { testAPINames(t, l, Podman) })
	t.Run("NotRunning", func(t *testing.T) { testAPINotRunning(t, l, Podman) })
	t.Run("Ends", func(t *testing.T) { testAPIEnds(t, l) })
	t.Run("Volume", func(t *testing.T) { testAPIVolume(t, l, Podman) })
	t.Run("Storage", func(t *testing.T) { testPodmanStorage(t, l) })
	t.Run("StorageEvents", func(t *testing.T) { testPodmanStorageEvents(t, l) })
	t.Run("LateEvents", func(t *testing.T) { testPodmanLateEvents(t, l) })
	t.Run("Events", func(t *testing.T) { testAPIEvents(t, l, Podman) })
}

// testAPINames: each way to name a container finds it, with all fields that a selector needs.
func testAPINames(t *testing.T, l *apiLab, engine Engine) {
	folder := t.TempDir()
	id := l.create(t, "web", map[string]string{"team": "blue", "com.docker.compose.project": "shop"}, &container.HostConfig{
		Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "names", Target: "/data"}, {Type: mount.TypeBind, Source: folder, Target: "/tmp"}},
	})
	l.start(t, id)
	f := finder(t, l.options())
	for _, s := range []string{"web", id, id[:12], string(engine) + ":web", string(engine) + ":" + id[:12]} {
		got := resolve(t, f, s)
		wantRunning(t, f, got, l.pid(t, id))
		wantTold(t, s, got, told{Engine: engine, ID: id, Name: "web", Team: "blue"})
		for what, is := range map[string][2]string{
			"kind": {string(got.Kind), string(Container)}, "state": {got.State, "running"}, "system": {got.OS, "linux"}, "host": {got.Host, l.d.Host},
			"project": {got.Labels["com.docker.compose.project"], "shop"}, "ref": {got.Ref(), string(engine) + ":web"},
		} {
			if is[0] != is[1] {
				t.Errorf("Resolve(%s): %s %q, want %q", s, what, is[0], is[1])
			}
		}
		if !strings.HasSuffix(got.Image, dockertest.SleeperImage) {
			t.Errorf("Resolve(%s): image %s", s, got.Image)
		}
		volume, bound := wantMount(t, s, got, "/data"), wantMount(t, s, got, "/tmp")
		if volume.Volume != "names" || volume.Driver != "local" {
			t.Errorf("Resolve(%s): mount %+v, want the volume names", s, volume)
		}
		if !strings.HasSuffix(volume.Source, "/names/_data") {
			t.Errorf("Resolve(%s): mount %+v, want the volume's folder", s, volume)
		}
		if bound.Source != folder || bound.Volume != "" {
			t.Errorf("Resolve(%s): mount %+v, want the folder %s", s, bound, folder)
		}
	}
	all, err := f.List(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != id {
		t.Errorf("List() = %+v, %v; want the one container", all, err)
	}
	e := wantErr[*NotFoundError](t, resolveErr(t, f, "webb"), "there is no container webb", engine.title()+" at "+l.d.Host, "did you mean web?")
	if e != nil && e.Near != "web" {
		t.Errorf("Near = %q", e.Near)
	}
	wantErr[*NotFoundError](t, resolveErr(t, f, "12"), "pid:12")
	other := Podman
	if engine == Podman {
		other = Docker
	}
	wantErr[*NotFoundError](t, resolveErr(t, f, string(other)+":web"), "no container web of "+other.title())
	wantErr[*NotFoundError](t, resolveErr(t, f, "crio:web"), "no container web of CRI-O")
}

// testAPINotRunning: a container that doesn't run is found, and the error says how to start it.
func testAPINotRunning(t *testing.T, l *apiLab, engine Engine) {
	id := l.create(t, "idle", nil, nil)
	f := finder(t, l.options())
	e := wantErr[*NotRunningError](t, resolveErr(t, f, "idle"), "container idle", id[:12], "(created)", "start it: "+string(engine)+" start idle")
	if e != nil && (e.Target.ID != id || e.Target.PID != 0) {
		t.Errorf("the error's target is %+v", e.Target)
	}
	l.start(t, id)
	l.kill(t, id)
	wantErr[*NotRunningError](t, resolveErr(t, f, id[:12]), "(exited)")
	if all, err := f.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("List() = %+v, %v; want none", all, err)
	}
}

// testAPIEnds: a target that ended after it was found counts as ended, even if its container was started again.
func testAPIEnds(t *testing.T, l *apiLab) {
	id := l.create(t, "short", nil, nil)
	l.start(t, id)
	f := finder(t, l.options())
	got := resolve(t, f, "short")
	l.kill(t, id)
	wantErr[*GoneError](t, f.Alive(got), "container short", "has ended", "name it again")
	if g, err := f.Groups(got); err == nil {
		t.Errorf("Groups of one that ended = %v", g)
	} else {
		wantErr[*GoneError](t, err)
	}
	l.start(t, id)
	again := resolve(t, f, "short")
	wantRunning(t, f, again, l.pid(t, id))
	wantErr[*GoneError](t, f.Alive(got))
}

// testAPIVolume: a volume is found, with the containers that use it.
func testAPIVolume(t *testing.T, l *apiLab, engine Engine) {
	if _, err := l.api.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: "stock", Labels: map[string]string{"team": "blue"}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.api.VolumeRemove(t.Context(), "stock", client.VolumeRemoveOptions{Force: true}) })
	f := finder(t, l.options())
	v := resolve(t, f, "volume:stock")
	wantTold(t, "volume:stock", v, told{Engine: engine, Name: "stock", Team: "blue"})
	if len(v.Users) > 0 {
		t.Errorf("volume:stock has users: %+v", v.Users)
	}
	if len(v.Mounts) != 1 || v.Mounts[0].Driver != "local" {
		t.Fatalf("volume:stock is mounted at %+v, want one local volume", v.Mounts)
	}
	if st, err := os.Stat(v.Mounts[0].Source); err != nil || !st.IsDir() {
		t.Errorf("its folder %s: %v", v.Mounts[0].Source, err)
	}
	id := l.create(t, "user", nil, &container.HostConfig{Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "stock", Target: "/data"}}})
	idle := l.create(t, "idle-user", nil, &container.HostConfig{Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "stock", Target: "/data"}}})
	l.start(t, id)
	v = resolve(t, f, v.Ref())
	if len(v.Users) != 1 || v.Users[0].ID != id || v.Users[0].PID != l.pid(t, id) {
		t.Errorf("its users are %+v, want %s and not %s", v.Users, id, idle)
	}
	wantErr[*NotFoundError](t, resolveErr(t, f, "volume:stok"), "there is no volume stok")
	testAPIVolumeLater(t, l, f)
}

// testAPIVolumeLater: a volume of a device is known to be on that device even while no container has mounted it.
func testAPIVolumeLater(t *testing.T, l *apiLab, f *Finder) {
	loop := disktest.Loop(t, disktest.Image(t, 64<<20), false)
	disktest.Format(t, loop, "ext4")
	folder := t.TempDir()
	for name, opts := range map[string]map[string]string{
		"disk":   {"type": "ext4", "device": loop},
		"folder": {"type": "none", "o": "bind", "device": folder},
		"memory": {"type": "tmpfs", "device": "tmpfs"},
	} {
		if _, err := l.api.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: name, DriverOpts: opts}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.api.VolumeRemove(context.Background(), name, client.VolumeRemoveOptions{Force: true}) })
	}
	for name, want := range map[string]string{"disk": loop, "folder": folder, "memory": "tmpfs:tmpfs"} {
		v := resolve(t, f, "volume:"+name)
		if v.Mounts[0].Later != want || !strings.Contains(strings.Join(v.Notes, "\n"), "its data is on "+want) {
			t.Errorf("volume:%s will be on %q, want %q; notes %q", name, v.Mounts[0].Later, want, v.Notes)
		}
	}
	id := l.create(t, "has-disk", nil, &container.HostConfig{Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "disk", Target: "/data"}}})
	l.start(t, id)
	if v := resolve(t, f, "volume:disk"); v.Mounts[0].Later != "" || len(v.Users) != 1 || len(v.Notes) > 0 {
		t.Errorf("volume:disk, mounted = %+v", v)
	}
	l.kill(t, id)
}

// testAPIEvents: the events that the keeper needs arrive, even if the daemon is killed and started again meanwhile.
func testAPIEvents(t *testing.T, l *apiLab, engine Engine) {
	f := finder(t, l.options())
	on := listen(t, f)
	if e := on.next(Connected, ""); e.Source != engine.title()+" at "+l.d.Host {
		t.Errorf("Source = %q", e.Source)
	}
	id := l.create(t, "noisy", map[string]string{"team": "red"}, nil)
	l.start(t, id)
	e := on.next(Started, id)
	wantRunning(t, f, e.Target, l.pid(t, id))
	if e.Err != nil {
		t.Errorf("event %+v", e)
	}
	wantTold(t, "noisy", e.Target, told{Engine: engine, ID: id, Name: "noisy", Team: "red"})
	if _, err := l.api.ContainerRename(t.Context(), id, client.ContainerRenameOptions{NewName: "quiet"}); err != nil {
		t.Fatal(err)
	}
	if e := on.next(Changed, id); e.Target.Name != "quiet" || e.Target.PID != l.pid(t, id) {
		t.Errorf("event %+v, want the new name", e)
	}
	l.kill(t, id)
	if e := on.next(Ended, id); e.Target.Engine != engine {
		t.Errorf("event %+v", e)
	}
	l.start(t, id)
	if e := on.next(Started, id); e.Target.PID != l.pid(t, id) {
		t.Errorf("event %+v, want process %d", e, l.pid(t, id))
	}
	l.d.Kill()
	if e := on.next(Lost, ""); e.Err == nil {
		t.Errorf("event %+v without a reason", e)
	}
	l.d.Restart(t)
	on.next(Connected, "")
	id = l.create(t, "later", nil, nil)
	l.start(t, id)
	on.next(Started, id)
}

// testDockerAmbiguous: a name that two engines have is refused, and so is the common beginning of two ids.
func testDockerAmbiguous(t *testing.T, l *apiLab) {
	r := newRuntime(t, "runc")
	name := ociName("twin")
	if err := r.create(t, name, ""); err != nil {
		t.Fatal(err)
	}
	opt := l.options()
	opt.Runc = []string{r.root}
	f := finder(t, opt)
	if got := resolve(t, f, name); got.Engine != OCI {
		t.Errorf("Resolve(%s) = %+v", name, got)
	}
	id := l.create(t, name, nil, nil)
	l.start(t, id)
	e := wantErr[*AmbiguousError](t, resolveErr(t, f, name), "docker:"+name, "oci:"+name, "name one of them")
	if e != nil && len(e.Candidates) != 2 {
		t.Errorf("candidates %+v", e.Candidates)
	}
	if got := resolve(t, f, "docker:"+name); got.ID != id {
		t.Errorf("docker:%s = %+v", name, got)
	}
	if got := resolve(t, f, "oci:"+name); got.ID != name || got.PID == l.pid(t, id) {
		t.Errorf("oci:%s = %+v", name, got)
	}
	if all, err := f.List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("List() = %+v, %v; want both", all, err)
	}

	// Ids are random, so the test makes containers until two ids begin alike. An id that begins like that of a running container
	// isn't ambiguous: it means the running one.
	byFirst := map[byte]string{}
	for len(byFirst) < 16 {
		next := l.create(t, "", nil, nil)
		if next[0] == id[0] {
			continue
		}
		if before := byFirst[next[0]]; before != "" {
			f := finder(t, l.options())
			e := wantErr[*AmbiguousError](t, resolveErr(t, f, "docker:"+next[:1]), "docker:"+next, "docker:"+before)
			if e != nil && len(e.Candidates) < 2 {
				t.Errorf("candidates %+v", e.Candidates)
			}
			return
		}
		byFirst[next[0]] = next
	}
	t.Error("more ids begin differently than there are digits")
}

// testDockerContainerd: containerd has Docker's containers too, and they are reported once, as Docker's.
func testDockerContainerd(t *testing.T, l *apiLab) {
	id := l.create(t, "both", nil, nil)
	l.start(t, id)
	opt := l.options()
	opt.Containerd = []ContainerdRoot{{State: l.d.ContainerdState(), Address: filepath.Join(l.d.Dir, "containerd.sock")}}
	f := finder(t, opt)
	got := resolve(t, f, id)
	if got.Engine != Docker || got.Name != "both" || got.Namespace != "moby" {
		t.Errorf("Resolve(%s) = %+v, want Docker's", id, got)
	}
	all, err := f.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Engine != Docker {
		t.Errorf("List() = %+v, %v; want one, Docker's", all, err)
	}
	as := resolve(t, f, "containerd:moby/"+id)
	wantRunning(t, f, as, got.PID)
	if diff := cmp.Diff(got.Groups, as.Groups); diff != "" {
		t.Errorf("its groups differ: %s", diff)
	}
}

// testDockerDown: without the daemon its containers run on, and containerd knows them.
func testDockerDown(t *testing.T, l *apiLab) {
	id := l.create(t, "orphan", nil, nil)
	l.start(t, id)
	pid := l.pid(t, id)
	opt := l.options()
	opt.Containerd = []ContainerdRoot{{State: l.d.ContainerdState()}}
	f := finder(t, opt)
	resolve(t, f, "orphan")
	l.d.Kill()
	t.Cleanup(func() { l.d.Restart(t) })
	err := resolveErr(t, f, "docker:orphan")
	wantErr[*NotFoundError](t, err, "not asked", l.d.Host)
	got := resolve(t, f, id)
	wantRunning(t, f, got, pid)
	if got.Engine != Containerd || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "not known") {
		t.Errorf("Resolve(%s) = %+v, want containerd's with a note that the daemon was not asked", id, got)
	}
	all, err := f.List(t.Context())
	if err == nil || !strings.Contains(err.Error(), l.d.Host) {
		t.Errorf("List(): %v, want that %s was not asked", err, l.d.Host)
	}
	if !slices.ContainsFunc(all, func(t Target) bool { return t.ID == id }) {
		t.Errorf("List() = %+v, want %s in it", all, id)
	}
	if errors.Is(err, os.ErrPermission) {
		t.Errorf("List(): %v", err)
	}
}
