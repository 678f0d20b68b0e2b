package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPathsAreTheContainers: a whole path in a line that runs in a container is none of this machine: its file is on the place, as on a volume
// that is mounted on the path's folder, and a file of that name on this machine is neither read nor written.
func TestPathsAreTheContainers(t *testing.T) {
	t.Parallel()
	needRun(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "theirs")
	const data = "somebody's data"
	mustDo(t, os.WriteFile(file, []byte(data), 0o600))
	for _, where := range []string{"--engine oci --place layer", "--engine oci --place bind", "--engine oci --place tmpfs", "--place dir"} {
		for _, line := range []string{
			"dd if=/dev/zero of=" + file + " bs=4K count=16",
			"diskspd -b4K -d1 -W0 -w100 -c1M " + file,
			"fio --name=a --rw=write --size=64k --filename=" + file,
		} {
			r := plimsoll(t, t.Context(), t.TempDir(), "", strings.Fields(line+" "+where)...)
			if r.status != exitDone {
				t.Errorf("%s %s: status %d\n%s", line, where, r.status, r.stderr)
			}
		}
		r := plimsoll(t, t.Context(), t.TempDir(), "", strings.Fields("dd if="+file+" of=/dev/null "+where)...)
		r.wantError(t, exitFailure, "does not exist, and is to be read")
		if b, err := os.ReadFile(file); err != nil || string(b) != data {
			t.Fatalf("%s: a file of this machine was written: %d bytes, %v", where, len(b), err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left on this machine: %v", left)
	}
}
