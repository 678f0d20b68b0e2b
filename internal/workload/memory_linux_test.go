package workload

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/leaktest"
	"plimsoll/load"
)

// TestDirectInMemory: a direct job is done on a file system in memory, whether the
// kernel takes O_DIRECT there or not. On tmpfs Linux refuses it before 6.6, on ramfs always.
func TestDirectInMemory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root is needed to mount a file system")
	}
	for _, kind := range []string{"tmpfs", "ramfs"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			leaktest.Check(t, dir)
			if err := unix.Mount(kind, dir, kind, 0, ""); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
					t.Errorf("unmount %s: %v", dir, err)
				}
			})
			r := prepare(t, Spec{Kind: Block, Job: load.Job{RW: load.RandRead, BS: 4096, Size: 1 << 20, NumberIOs: 20, Direct: true}}, dir)
			defer r.Close()
			res, err := r.Run(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			f := res.File
			if !f.DirectAsked || f.DirectOpen != (f.DirectError == "") || (kind == "ramfs" && f.DirectError != "invalid argument") {
				t.Errorf("file = %+v, want direct asked for, and what was said to it", f)
			}
		})
	}
}

// TestDirectRefused: elsewhere a refusal stays one.
func TestDirectRefused(t *testing.T) {
	_, err := Prepare(t.Context(), Spec{Kind: Block, Job: load.Job{RW: load.Read, Filename: "/proc/version", Size: 4096, Direct: true}}, t.TempDir())
	var e *load.DirectError
	if !errors.As(err, &e) {
		t.Errorf("Prepare = %v, want a *load.DirectError", err)
	}
}
