package vm_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/engine/vm"
)

// TestVM9P: what a guest mounts a share by 9p with is what was asked for, and what the record says. One that can't mount it ends with the worker's status, as QEMU's
// device for that passes it on, and its last words; where there is no such device, or the guest's kernel has no /dev/port, the words remain.
func TestVM9P(t *testing.T) {
	needVM(t)
	o := testOptions(t, t.TempDir())
	for _, tt := range []struct {
		cache         string
		msize         int64
		storage, have string
	}{
		{"", 0, "9p, cache=none, msize=512000", "msize=512000"},
		{"loose", 64 << 10, "9p, cache=loose, msize=65536", "loose msize=65536"},
		{"fscache", 0, "9p, cache=fscache, msize=512000", "fscache msize=512000"},
		{"mmap", 256 << 10, "9p, cache=mmap, msize=262144", "mmap msize=262144"},
	} {
		t.Run("cache="+tt.cache, func(t *testing.T) {
			o := o
			o.ShareCache, o.MSize = tt.cache, tt.msize
			a := openVM(t, vm.New(o), "caches-1", bindSpec)
			if got := a.Info().Storage; got != tt.storage {
				t.Errorf("Storage = %q, want %q", got, tt.storage)
			}
			m := a.Hello.Mount
			if got := wordsOf(m.Options, "none", "loose", "fscache", "mmap", "msize="); m.FSType != "9p" || got != tt.have {
				t.Errorf("the place is mounted as %+v, want 9p with %s", m, tt.have)
			}
			appends(t, a)
			if err := a.Close(t.Context()); err != nil {
				t.Error(err)
			}
			wantNothingLeft(t, o.State, "caches-1")
		})
	}
	const words = "plimsoll: mount plimsoll-place (9p, trans=virtio,version=9p2000.L,msize=512000,cache=bogus) in the guest: invalid argument"
	for name, want := range map[string]string{
		"status":    "the machine ended as it started: the guest ended with status 1: " + words,
		"no status": "the machine ended as it started: the machine turned itself off: " + words,
	} {
		t.Run(name, func(t *testing.T) {
			o := o
			o.ShareCache = "bogus"
			if name == "no status" {
				// Where it would listen nothing does, and the byte is lost as it is without /dev/port.
				o.Boot, o.LookPath = true, changedQEMU(t, `case $a in isa-debug-exit,*) a=isa-debug-exit,iobase=0x2f4,iosize=1;; esac`, "")
			}
			spec := bindSpec
			spec.ID = "ends-1"
			if _, err := vm.New(o).Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Open() = %v, want %q", err, want)
			}
			wantNothingLeft(t, o.State, spec.ID)
		})
	}
	if saved, _ := filepath.Glob(filepath.Join(o.State, "cache/vm/saved-*")); len(saved) != 1 {
		t.Errorf("saved are %v, want one, that all but the last go on from", saved)
	}
}

// wordsOf are those of a mount's options that begin with one of names.
func wordsOf(options string, names ...string) string {
	var found []string
	for _, o := range strings.Split(options, ",") {
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(strings.TrimPrefix(o, "cache="), n) }) {
			found = append(found, o)
		}
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}
