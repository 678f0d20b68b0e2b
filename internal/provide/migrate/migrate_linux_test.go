package migrate

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/provide/volume"
	"plimsoll/internal/testkit/dockertest"
)

func TestMain(m *testing.M) { os.Exit(dockertest.Run(m)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMigrate moves a volume of a real Docker daemon to Plimsoll and back.
func TestMigrate(t *testing.T) {
	d := dockertest.SharedDocker(t)
	api, err := dockerapi.Open(dockerapi.Address{Host: d.Host})
	must(t, err)
	defer api.Close()
	ctx := t.Context()
	s := volume.New(filepath.Join(t.TempDir(), "state"))
	t.Cleanup(func() {
		list, _ := s.List()
		for _, v := range list {
			if err := s.Remove(context.Background(), v.Name, true); err != nil {
				t.Error(err)
			}
		}
	})
	m := Migration{Volumes: s, Docker: api}
	made, err := api.VolumeCreate(ctx, client.VolumeCreateOptions{Name: "web"})
	must(t, err)
	defer api.VolumeRemove(context.Background(), "web", client.VolumeRemoveOptions{})
	folder := made.Volume.Mountpoint
	must(t, os.WriteFile(filepath.Join(folder, "f"), []byte("text"), 0o640))
	must(t, os.Lchown(filepath.Join(folder, "f"), 12, 34))
	must(t, unix.Setxattr(filepath.Join(folder, "f"), "user.note", []byte("x"), 0))
	o := Options{Create: map[string]string{"capacity": "64MiB"}}

	for from, want := range map[string]string{"none": "Docker has no volume none"} {
		if _, err := m.FromDocker(ctx, from, "new", o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("from %s: %v, want %s", from, err, want)
		}
	}
	dockertest.ImportSleeper(t, api)
	c, err := api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config:     &container.Config{Image: dockertest.SleeperImage, Cmd: []string{"/sleeper"}},
		HostConfig: &container.HostConfig{Binds: []string{"web:/data"}, NetworkMode: "none"},
	})
	must(t, err)
	_, err = api.ContainerStart(ctx, c.ID, client.ContainerStartOptions{})
	must(t, err)
	o.Remove = true
	if _, err := m.FromDocker(ctx, "web", "web", o); err == nil || !strings.Contains(err.Error(), "containers use Docker's volume web: ") {
		t.Errorf("while a container uses it: %v", err)
	}
	_, err = api.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true})
	must(t, err)
	v, err := m.FromDocker(ctx, "web", "web", o)
	must(t, err)
	if _, err := api.VolumeInspect(ctx, "web", client.VolumeInspectOptions{}); !cerrdefs.IsNotFound(err) {
		t.Errorf("Docker's volume is still there: %v", err)
	}
	must(t, m.ToDocker(ctx, v.Name, "back", Options{Remove: true}))
	defer api.VolumeRemove(context.Background(), "back", client.VolumeRemoveOptions{})
	back, err := api.VolumeInspect(ctx, "back", client.VolumeInspectOptions{})
	must(t, err)
	var st unix.Stat_t
	must(t, unix.Lstat(filepath.Join(back.Volume.Mountpoint, "f"), &st))
	b, err := os.ReadFile(filepath.Join(back.Volume.Mountpoint, "f"))
	if err != nil || string(b) != "text" || st.Uid != 12 || st.Gid != 34 || st.Mode&0o777 != 0o640 {
		t.Errorf("it came back as %q, %v, %+v", b, err, st)
	}
	if _, err := s.Get("web"); err == nil {
		t.Error("the source is still there")
	}
}

// TestCompare finds each kind of difference.
func TestCompare(t *testing.T) {
	for what, change := range map[string]func(dir string) error{
		"":       func(string) error { return nil },
		"bytes":  func(dir string) error { return os.WriteFile(filepath.Join(dir, "f"), []byte("tent"), 0o600) },
		"became": func(dir string) error { return os.Chmod(filepath.Join(dir, "f"), 0o644) },
		"leads":  func(dir string) error { return os.Rename(filepath.Join(dir, "m"), filepath.Join(dir, "l")) },
		"lacks":  func(dir string) error { return os.Mkdir(filepath.Join(dir, "d", "x"), 0o700) },
		"no such": func(dir string) error {
			return os.Remove(filepath.Join(dir, "f"))
		},
	} {
		var dirs []string
		for range 2 {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "f"), []byte("text"), 0o600))
			must(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
			for name, to := range map[string]string{"l": "f", "m": "g"} {
				must(t, os.Symlink(to, filepath.Join(dir, name)))
			}
			dirs = append(dirs, dir)
		}
		must(t, change(dirs[1]))
		for _, dir := range dirs { // The times aren't the subject.
			for _, name := range []string{".", "f", "d", "l", "m"} {
				unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(dir, name), make([]unix.Timespec, 2), unix.AT_SYMLINK_NOFOLLOW)
			}
		}
		err := Compare(t.Context(), dirs[0], dirs[1])
		if (err == nil) != (what == "") || err != nil && !strings.Contains(err.Error(), what) {
			t.Errorf("%q: %v", what, err)
		}
	}
}
