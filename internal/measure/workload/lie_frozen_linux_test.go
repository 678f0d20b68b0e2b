package workload

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// FIFREEZE and FITHAW stop and resume a file system's writes (linux/fs.h).
const (
	fiFreeze = 0xC0045877
	fiThaw   = 0xC0045878
)

// TestLieFrozenWindow: the file system stands still for all of the window, which then lasts until its first operation ended. That
// operation's bytes and its flush come after the runtime, and would seem lost by the counters of the runtime.
func TestLieFrozenWindow(t *testing.T) {
	const frozen = 300 * time.Millisecond
	for name, spec := range map[string]Spec{
		"wal":   {Name: "w", Kind: WAL, BS: 8192, Runtime: 50 * time.Millisecond},
		"block": {Name: "w", Kind: Block, Job: load.Job{RW: load.Write, BS: 8192, Size: 1 << 20, Fsync: 1, IOEngine: load.PSync, Runtime: 50 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			device, dir := disktest.Disk(t, disktest.Options{Direct: true})
			r, err := Prepare(context.Background(), spec, Folders{Work: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			folder, err := os.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer folder.Close()
			if err := unix.IoctlSetInt(int(folder.Fd()), fiFreeze, 0); err != nil {
				t.Fatal(err)
			}
			thaw := func() { unix.IoctlSetInt(int(folder.Fd()), fiThaw, 0) } // Fails where it was thawed before.
			defer thaw()
			time.AfterFunc(frozen, thaw)
			res, err := r.Run(context.Background(), func(load.Sample) {})
			if err != nil {
				t.Fatal(err)
			}
			if res.Elapsed < frozen/2 {
				t.Fatalf("the window lasted %v", res.Elapsed)
			}
			for _, d := range res.Disks {
				if d.Name == filepath.Base(device) {
					if d.WrittenBytes < spec.BS+spec.Job.BS || d.Flushes == 0 {
						t.Errorf("in %v %d operations are counted, and on the disk %d bytes and %d flushes", res.Elapsed, res.Ops(), d.WrittenBytes, d.Flushes)
					}
					return
				}
			}
			t.Errorf("in %v %d operations are counted, and nothing on the disk", res.Elapsed, res.Ops())
		})
	}
}
