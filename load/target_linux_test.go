package load

import (
	"os"
	"testing"
)

// TestRawCallsOnlyWhereNothingWaits: a thread in a raw system call can't be stopped, so none is
// used where a device may be waited for.
func TestRawCallsOnlyWhereNothingWaits(t *testing.T) {
	path := written(t, 1<<20)
	raw := func(j Job) bool {
		j.Filename, j.IOEngine = path, PSync
		return prepare(t, j).files[0].raw
	}
	if info, err := Inspect(path, 0, 0); err != nil || info.Resident == 1 {
		t.Logf("the file can't be dropped from the page cache here: %+v, %v", info, err)
	} else if raw(Job{RW: RandRead}) {
		t.Error("reads of a cold file are raw")
	}
	if _, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if info, err := Inspect(path, 0, 0); err != nil || info.Resident != 1 {
		t.Fatalf("the file that was read isn't in the page cache: %+v, %v", info, err)
	}
	if !raw(Job{RW: RandRead}) {
		t.Error("reads from the page cache aren't raw, which costs a tenth")
	}
	for _, j := range []Job{{RW: RandWrite}, {RW: RandRW}, {RW: Write, Sync: "dsync"}, {RW: Write, Sync: "sync"}} {
		if raw(j) {
			t.Errorf("%s with sync=%q is raw", j.RW, j.Sync)
		}
	}
}
