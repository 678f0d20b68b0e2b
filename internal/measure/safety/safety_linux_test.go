package safety

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/paralleltest"
	"plimsoll/internal/testkit/workertest"
)

func TestMain(m *testing.M) { paralleltest.Main(m, 4) }

// checked checks a folder with two processes on the host.
func checked(t *testing.T, dir string) *Report {
	t.Helper()
	e := host.New(t.TempDir(), workertest.Source(t))
	r, err := Check(t.Context(), Options{Engine: e, Host: e, Place: place.Spec{Name: dir, Kind: place.Dir, Path: dir}})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() != "lost+found" }) {
		t.Errorf("left in the place: %v, %v", left, err)
	}
	return r
}

// broken lists the keys that were answered with an answer, each once.
func (r *Report) broken(a Answer) (keys []string) {
	for _, f := range r.Findings {
		if f.Answer == a && !slices.Contains(keys, f.Key) {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// find is the finding of a key, the first.
func (r *Report) find(key string) Finding {
	for _, f := range r.Findings {
		if f.Key == key {
			return f
		}
	}
	return Finding{}
}

// slow are answers that depend on the speed of a machine that runs other tests.
var slow = []string{"fdatasync-10ms", "fresh-content", "fresh-held", "fresh-size", "fresh-mtime", "mtime-ns"}

// TestLocal checks file systems of Linux, which keep all that is promised but what they don't have.
func TestLocal(t *testing.T) {
	for _, row := range []struct {
		name  string
		dir   func(*testing.T) string
		lacks []string
	}{
		{"ext4", disk("ext4", ""), []string{"reflink"}},
		{"xfs", disk("xfs", ""), nil},
		{"btrfs", disk("btrfs", ""), nil},
		{"overlay", func(t *testing.T) string {
			_, dir := disktest.Disk(t, disktest.Options{})
			return disktest.Overlay(t, dir)
		}, []string{"reflink"}},
		{"tmpfs", func(t *testing.T) string { return disktest.Tmpfs(t, "size=256m") }, []string{"fsync", "direct", "reflink"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := checked(t, row.dir(t))
			lacks := slices.DeleteFunc(r.broken(No), func(key string) bool { return slices.Contains(slow, key) })
			if !slices.Equal(lacks, row.lacks) {
				t.Errorf("it lacks %q, want %q: %+v", lacks, row.lacks, r.Findings)
			}
			// The tests beside this one flush the machine's disk, too.
			if unknown := r.broken(Unknown); len(unknown) > 1 || len(unknown) == 1 && unknown[0] != "fsync" {
				t.Errorf("not known: %q", unknown)
			}
		})
	}
}

// disk makes a disk on which syncs can be counted.
func disk(kind, options string) func(*testing.T) string {
	return func(t *testing.T) string {
		_, dir := disktest.Disk(t, disktest.Options{Kind: kind, Mount: options, Direct: true})
		return dir
	}
}

// TestLiesOfSyncs plants places that answer a sync before the data is on a disk.
func TestLiesOfSyncs(t *testing.T) {
	for _, row := range []struct {
		name   string
		dir    func(*testing.T) string
		answer Answer
		want   string
	}{
		{"nobarrier", disk("ext4", "nobarrier"), No, "nobarrier"},
		{"disk in memory", func(t *testing.T) string { _, dir := disktest.Disk(t, disktest.Options{Memory: true}); return dir }, No, "tmpfs"},
		{"served without syncs", func(t *testing.T) string { return disktest.BindFS(t, disk("ext4", "")(t), true) }, No, "20 syncs"},
		{"served", func(t *testing.T) string { return disktest.BindFS(t, disk("ext4", "")(t), false) }, Yes, "perhaps"},
	} {
		t.Run(row.name, func(t *testing.T) { // Not in parallel: all disks of the machine are looked at.
			f := checked(t, row.dir(t)).find("fsync")
			if f.Answer != row.answer || !strings.Contains(f.Detail, row.want) {
				t.Errorf("fsync: %s, %q; want %s with %q", f.Answer, f.Detail, row.answer, row.want)
			}
		})
	}
}

// TestFlushedByOthers plants a neighbour that syncs the disk of a place that does not.
func TestFlushedByOthers(t *testing.T) {
	device, dir := disktest.Disk(t, disktest.Options{Direct: true, Mount: "nobarrier"})
	stop, done := make(chan struct{}), make(chan struct{})
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				f.Sync()
				time.Sleep(200 * time.Microsecond)
			}
		}
	}()
	defer func() { close(stop); <-done }()
	if got := checked(t, dir).find("fsync"); got.Answer == Yes {
		t.Errorf("fsync: yes, %q, by the flushes of another program", got.Detail)
	}
}

// TestContainers checks a folder that two containers and the host use.
func TestContainers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	state, dir := t.TempDir(), disk("ext4", "")(t)
	source := workertest.Source(t)
	e := oci.New(state, source, exec.LookPath)
	for kind, want := range map[place.Kind][]Between{
		place.Bind: {Processes, Containers, Sides}, place.Layer: {Processes},
	} {
		spec := place.Spec{Name: "it", Kind: kind}
		if kind == place.Bind {
			spec.Path = dir
		}
		r, err := Check(t.Context(), Options{Engine: e, Host: host.New(state, source), Place: spec})
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		var between []Between
		for _, f := range r.Findings {
			if f.Key == "lock-posix" {
				between = append(between, f.Between)
			}
		}
		if !slices.Equal(between, want) {
			t.Errorf("%s: asked between %q, want %q", kind, between, want)
		}
		lacks := slices.DeleteFunc(r.broken(No), func(key string) bool { return slices.Contains(slow, key) })
		want := []string{"reflink"}
		if kind == place.Bind {
			want = []string{"process-ids", "reflink"} // Each container counts its own.
		}
		if !slices.Equal(lacks, want) {
			t.Errorf("%s: it lacks %q, want %q: %+v", kind, lacks, want, r.Findings)
		}
	}
}
