package fio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// fill_device writes until there is no room, ends without an error, and leaves as much as fio does; with a size it may end before.
func TestFillDeviceIsFios(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		args []string
		size int64
	}{
		"no size":         {[]string{"--rw=write", "--bs=64k"}, 2 << 20},
		"all of it":       {[]string{"--rw=write", "--bs=64k", "--size=100%"}, 2 << 20},
		"more than fits":  {[]string{"--rw=write", "--bs=64k", "--size=1g", "--end_fsync=1"}, 2 << 20},
		"less than fits":  {[]string{"--rw=write", "--bs=64k", "--size=1m"}, 1 << 20},
		"asynchronous":    {[]string{"--rw=write", "--bs=16k", "--ioengine=libaio", "--iodepth=8"}, 2 << 20},
		"by its old name": {[]string{"--rw=write", "--bs=64k", "--fill_fs=1"}, 2 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			did := map[string]string{}
			for who, do := range map[string]func(*testing.T, string, ...string) string{"fio": peer, "ours": run} {
				dir := disktest.Tmpfs(t, "size=2m")
				args := append([]string{"--name=a", "--filename=f", "--fill_device=1"}, v.args...)
				out := do(t, dir, args...)
				st, err := os.Stat(filepath.Join(dir, "f"))
				if err != nil || st.Size() != v.size {
					t.Fatalf("%s: %v, %v, want %d bytes", who, st, err, v.size)
				}
				_, io, _ := strings.Cut(out, ", io=")
				did[who], _, _ = strings.Cut(io, " ")
			}
			if did["fio"] != did["ours"] || did["fio"] == "" {
				t.Errorf("fio did %s, ours %s", did["fio"], did["ours"])
			}
		})
	}
}

// A device is filled to its end, which no error marks.
func TestFillDeviceOfABlockDevice(t *testing.T) {
	device := disktest.Loop(t, disktest.Image(t, 2<<20+4096), false)
	out, err := tryRun(t, t.TempDir(), []string{device}, "--name=a", "--filename="+device, "--rw=write", "--bs=64k", "--fill_device=1")
	if err != nil {
		t.Fatal(err)
	}
	fios := peer(t, t.TempDir(), "--name=a", "--filename="+device, "--rw=write", "--bs=64k", "--fill_device=1")
	if a, b := issued(fios), issued(out); len(a) != 1 || a[0] != b[0] {
		t.Errorf("fio did %v, ours %v", a, b)
	}
}

// fill_device is refused where it can't work as in fio, and it overwrites no file of the user's.
func TestFillDeviceRefusals(t *testing.T) {
	for want, args := range map[string][]string{
		"rw=randrw":     {"--rw=randrw", "--size=1m"},
		"size in bytes": {"--rw=randwrite"},
		"ioengine=mmap": {"--rw=write", "--size=1m", "--ioengine=mmap"},
		"with verify":   {"--rw=write", "--size=1m", "--verify=md5"},
		"several files": {"--rw=write", "--nrfiles=2"},
	} {
		if _, err := Parse(append([]string{"--name=a", "--fill_device=1"}, args...), Source{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "theirs"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryRun(t, dir, nil, "--name=a", "--filename=theirs", "--rw=write", "--fill_device=1", "--size=64k"); err == nil || !strings.Contains(err.Error(), "--destructive") {
		t.Errorf("a file of the user's: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "theirs")); string(data) != "kept" {
		t.Errorf("it holds %q, %v", data, err)
	}
}
