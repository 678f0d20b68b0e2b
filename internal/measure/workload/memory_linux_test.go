package workload

import (
	"errors"
	"testing"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// TestDirectInMemory: a direct job is done on a file system in memory, whether the
// kernel takes O_DIRECT there or not. On tmpfs Linux refuses it before 6.6, on ramfs always.
func TestDirectInMemory(t *testing.T) {
	for _, kind := range []string{"tmpfs", "ramfs"} {
		t.Run(kind, func(t *testing.T) {
			dir := disktest.Mount(t, kind, kind, 0, "")
			r := prepare(t, Spec{Kind: Block, Job: load.Job{RW: load.RandRead, BS: 4096, Size: 1 << 20, NumberIOs: 20, Direct: true}}, dir)
			defer r.Close()
			res, err := r.Run(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			f := res.File
			if !f.DirectAsked {
				t.Errorf("file = %+v, want direct asked for", f)
			}
			if f.DirectOpen != (f.DirectError == "") {
				t.Errorf("file = %+v, want it direct, or why not", f)
			}
			if kind == "ramfs" && f.DirectError != "invalid argument" {
				t.Errorf("ramfs refuses O_DIRECT with %q", f.DirectError)
			}
		})
	}
}

// TestDirectRefused: elsewhere a refusal stays one.
func TestDirectRefused(t *testing.T) {
	_, err := Prepare(t.Context(), Spec{Kind: Block, Job: load.Job{RW: load.Read, Filename: "/proc/version", Size: 4096, Direct: true}}, Folders{Work: t.TempDir()})
	var e *load.DirectError
	if !errors.As(err, &e) {
		t.Errorf("Prepare = %v, want a *load.DirectError", err)
	}
}
