package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/inroot"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/disktest"
)

// TestVerifyFolder: the folder is where the limit was looked up: a volume's at each user's own place, a group's from
// where this process is.
func TestVerifyFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	mounts := []target.Mount{{Source: "/data", Destination: "/other"}, {Source: "/srv/v", Destination: "/v"}}
	for _, row := range []struct {
		pid    int
		volume bool
		path   string
		want   string
	}{
		{0, false, "/a/b", "/a/b"},
		{0, false, "mnt", filepath.Join(here, "mnt")},
		{1, false, "data", "/data"},
		// That of the container's, not what a folder of the host's with the same name is mounted on.
		{1, false, "/data", "/data"},
		{1, true, "/srv/v", "/v"},
		{1, true, "/srv/gone", ""},
	} {
		v := verification{ground: hold.Ground{Path: row.path}, volume: row.volume}
		v.part.Target = &target.Target{PID: row.pid, Kind: target.Container, Mounts: mounts}
		if got, err := v.folder(); got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%+v: %q, %v", row, got, err)
		}
	}
}

// TestVerifyElsewhere: a folder on another device than the limit's is refused, and one that is found from the working
// directory is written to.
func TestVerifyElsewhere(t *testing.T) {
	l := newBadLab(t)
	lim, err := (&app{targets: &l.targets}).newLimiter()
	if err != nil {
		t.Fatal(err)
	}
	defer lim.Close()
	e, err := lim.Explain.Path(l.path)
	if err != nil || len(e.Hard) != 1 {
		t.Fatalf("%+v, %v", e, err)
	}
	for _, row := range []struct {
		spot explain.Spot
		ok   bool
	}{{e.Hard[0], true}, {explain.Spot{Name: "other", Major: 254, Minor: 99}, false}, {explain.Spot{Name: e.Hard[0].Name, Major: e.Hard[0].Major, Minor: e.Hard[0].Minor + 1}, false}} {
		v := verification{spot: row.spot}
		v.part.Target = &target.Target{}
		f, err := inroot.Dir("/", l.path)
		if err != nil {
			t.Fatal(err)
		}
		err = lim.standsOn(v, f)
		f.Close()
		var impossible *hold.ImpossibleError
		if row.ok != (err == nil) || err != nil && !errors.As(err, &impossible) {
			t.Errorf("%v: %v", row.spot, err)
		}
	}

	t.Chdir(filepath.Dir(l.path))
	v := l.run(t, "verify", l.name, "--path", filepath.Base(l.path), "--write-bps", "1MiB", "--modes", "direct", "--time", "3s", "--json")
	var got []verified
	if err := json.Unmarshal([]byte(v.stdout), &got); err != nil || len(got) != 1 || len(got[0].Rows) != 1 {
		t.Fatalf("status %d: %v: %s%s", v.status, err, v.stdout, v.stderr)
	}
	// The application's I/O reached the limited device, however fast the machine is now.
	if r := got[0].Rows[0]; r.Error != "" || r.Device < r.App/2 || r.App <= 0 {
		t.Errorf("%+v", r)
	}
}

// TestVerifyReadOnly: where no scratch file can be written, nothing can be tried: that is no error of a measurement.
func TestVerifyReadOnly(t *testing.T) {
	t.Parallel() // It waits while the target is looked at.
	l := newBadLab(t)
	disktest.Remount(t, l.path, unix.MS_RDONLY)
	l.says(t, exitCannot, []string{"can't be tried here: it is on a read-only file system, and verify writes a scratch file"}, "verify", l.name, "--path", l.path)
}
