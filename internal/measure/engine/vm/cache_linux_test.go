package vm_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/text/refusal"
)

// cached lists the files of a state folder's machines, with their sizes.
func cached(t *testing.T, state string) map[string]int64 {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(state, "cache/vm"))
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		sizes[filepath.Join(state, "cache/vm", e.Name())] = st.Size()
	}
	return sizes
}

// TestVMCacheTorn: a kernel or first root file system that a power cut has left a part of is made anew, and what a killed plimsoll had
// begun to write is removed.
func TestVMCacheTorn(t *testing.T) {
	needVM(t)
	o := testOptions(t, t.TempDir())
	if s := vm.Shares(t.Context(), vm.New(o)); len(s) == 0 {
		t.Fatal("no machine can be prepared")
	}
	whole := cached(t, o.State)
	if len(whole) != 2 {
		t.Fatalf("the cache has %v, want a kernel and a first root file system", whole)
	}
	for _, part := range []int64{0, 1 << 20} {
		for path := range whole {
			if err := os.Truncate(path, part); err != nil {
				t.Fatal(err)
			}
		}
		torn := filepath.Join(o.State, "cache/vm/.saved-1")
		if err := os.WriteFile(torn, []byte("a machine's beginning"), 0o600); err != nil {
			t.Fatal(err)
		}
		e := vm.New(o)
		vm.Shares(t.Context(), e)
		if removed, err := e.Sweep(t.Context()); err != nil || strings.Join(removed, "") != "file "+torn {
			t.Errorf("Sweep() = %q, %v, want %s alone", removed, err, torn)
		}
		got := cached(t, o.State)
		for path, size := range whole {
			if got[path] != size {
				t.Errorf("cut to %d bytes, and %s has %d then, want %d", part, path, got[path], size)
			}
		}
		if len(got) != len(whole) {
			t.Errorf("the cache has %v", got)
		}
	}
}

// TestVMCacheOld: what was saved at another boot of this computer is removed by the first that looks for a machine's kernel, and so are kernels
// that were not used for long.
func TestVMCacheOld(t *testing.T) {
	needVM(t)
	o := testOptions(t, t.TempDir())
	dir := filepath.Join(o.State, "cache/vm")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-100 * time.Hour)
	for _, name := range []string{"saved-01234567-0123456789abcdef", "saved-0123456789abcdef", "kernel-1", "kernel-2", "kernel-3", "initramfs-1"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
		long = long.Add(-time.Hour)
	}
	vm.Shares(t.Context(), vm.New(o))
	got := map[string]int{}
	for path := range cached(t, o.State) {
		kind, _, _ := strings.Cut(filepath.Base(path), "-")
		got[kind]++
	}
	if want := map[string]int{"kernel": 3, "initramfs": 2}; !maps.Equal(got, want) {
		t.Errorf("the cache has %v, want %v", got, want)
	}
}

// TestVMCacheOthers: what is in the cache runs in machines and is read by QEMU, so nobody else may have put it there.
func TestVMCacheOthers(t *testing.T) {
	needVM(t)
	o := testOptions(t, t.TempDir())
	dir := filepath.Join(o.State, "cache/vm")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := vm.New(o).Open(t.Context(), layerSpec("others-1"))
	var u *refusal.Error
	if !errors.As(err, &u) || !strings.Contains(err.Error(), "everyone may write to "+dir+"; chmod o-w it") {
		t.Errorf("Open() with a cache for all = %v", err)
	}
	wantNothingLeft(t, o.State, "others-1")
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	vm.Shares(t.Context(), vm.New(o))
	for path := range cached(t, o.State) {
		// As another user's are, or those that anybody may write to.
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	vm.Shares(t.Context(), vm.New(o))
	for path := range cached(t, o.State) {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s was used as it was: %v, %v", path, st.Mode(), err)
		}
	}
}
