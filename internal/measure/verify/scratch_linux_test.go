package verify

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/inroot"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/text/refusal"
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
		v := subject{place: hold.Place{Path: row.path}, volume: row.volume}
		v.groupSet.Target = &target.Target{PID: row.pid, Kind: target.Container, Mounts: mounts}
		if got, err := v.folder(); got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%+v: %q, %v", row, got, err)
		}
	}
}

// TestVerifyElsewhere: a folder on another device than the limit's is refused.
func TestVerifyElsewhere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root is needed")
	}
	_, path := disktest.Disk(t, disktest.Options{})
	h, err := hold.New(device.Host(), target.New(target.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	p := &Verifier{Holder: h}
	e, err := p.Explain.Path(path)
	if err != nil || len(e.Hard) != 1 {
		t.Fatalf("%+v, %v", e, err)
	}
	for _, row := range []struct {
		spot explain.Spot
		ok   bool
	}{{e.Hard[0], true}, {explain.Spot{Name: "other", Number: device.Number{Major: 254, Minor: 99}}, false}, {explain.Spot{Name: e.Hard[0].Name, Number: device.Number{Major: e.Hard[0].Number.Major, Minor: e.Hard[0].Number.Minor + 1}}, false}} {
		v := subject{spot: row.spot}
		v.groupSet.Target = &target.Target{}
		f, err := inroot.Dir("/", path)
		if err != nil {
			t.Fatal(err)
		}
		err = p.standsOn(v, f)
		f.Close()
		var impossible *refusal.Error
		if row.ok != (err == nil) || err != nil && !errors.As(err, &impossible) {
			t.Errorf("%v: %v", row.spot, err)
		}
	}
}
