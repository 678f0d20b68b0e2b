package fio

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Direct I/O of less than a sector is done where the file system takes it, as by fio, and is an error where it doesn't.
func TestDirectBytes(t *testing.T) {
	t.Parallel()
	args := strings.Fields("--name=j --rw=read --bs=1 --size=4k --io_size=1 --loops=10 --direct=1")
	for _, base := range []string{"/dev/shm", "/var/tmp"} {
		var dirs [2]string
		for i := range dirs {
			dir, err := os.MkdirTemp(base, "plimsoll-test-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			dirs[i] = dir
		}
		theirs := exec.Command("fio", args...)
		theirs.Dir = dirs[0]
		text, err := theirs.Output()
		out, ours := tryRun(t, dirs[1], nil, args...)
		if (err == nil) != (ours == nil) || err == nil && strings.Join(issued(string(text)), " ") != strings.Join(issued(out), " ") {
			t.Errorf("%s: fio: %v %v, ours: %v %v", base, err, issued(string(text)), ours, issued(out))
		}
		t.Logf("%s: %v", base, ours)
	}
}
