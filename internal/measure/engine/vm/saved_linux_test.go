package vm_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
)

// openVM opens a machine, which the caller closes.
func openVM(t *testing.T, e engine.Engine, id string, spec engine.Spec) *agent.Agent {
	t.Helper()
	spec.ID = id
	s, err := e.Open(t.Context(), spec)
	if err != nil {
		t.Fatalf("Open(%s) = %v", id, err)
	}
	a, err := agent.Open(t.Context(), s)
	if err != nil {
		t.Errorf("%v; log: %s", err, s.Log())
		s.Close(t.Context())
		t.FailNow()
	}
	return a
}

// appends does a few appends, which need a folder that works.
func appends(t *testing.T, a *agent.Agent) {
	t.Helper()
	if err := a.Prepare(t.Context(), "1", workload.Spec{Name: "append", Kind: workload.Append, Count: 20}); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(t.Context(), "1", nil); err != nil {
		t.Fatal(err)
	}
}

// machineMemory is what the one QEMU that this process has started has of the machine's memory, in bytes.
func machineMemory(t *testing.T) int64 {
	t.Helper()
	machines := procfs.Children("/proc", os.Getpid(), "qemu-system")
	if len(machines) != 1 {
		t.Fatalf("this process has %d machines, want 1", len(machines))
	}
	bytes, err := procfs.Memory("/proc", machines[0])
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// TestVMSaved: a machine that has booted is saved, and others of its kind go on from there with a disk or share of
// their own.
func TestVMSaved(t *testing.T) {
	needVM(t)
	state := t.TempDir()
	o := testOptions(t, state)
	o.CPUs = 0
	e := vm.New(o)
	for _, kind := range []place.Kind{place.Layer, place.Bind} {
		t.Run(string(kind), func(t *testing.T) {
			spec := engine.Spec{Place: place.Spec{Name: "p", Kind: kind}}
			for i, what := range []string{"boots", "goes on", "goes on again"} {
				begin := time.Now()
				a := openVM(t, e, string(kind)+"-"+string(rune('a'+i)), spec)
				t.Logf("%s: %v to its hello", what, time.Since(begin))
				appends(t, a)
				if bytes := machineMemory(t); bytes <= 0 || bytes > 300_000_000 {
					t.Errorf("%s: the machine takes %d MiB, want 286 at most", what, bytes>>20)
				} else {
					t.Logf("%s: the machine takes %d MiB", what, bytes>>20)
				}
				if err := a.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if left, _ := os.ReadDir(filepath.Join(state, "vm")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestVMSavedDamaged: a file that is no machine any more costs a boot, whatever daemon serves the machine's folder. Without one it is
// TestSavedDamaged's.
func TestVMSavedDamaged(t *testing.T) {
	needVM(t)
	for _, share := range []string{vm.ShareSMB, vm.ShareNFS} {
		t.Run(share, func(t *testing.T) {
			switch share {
			case vm.ShareSMB:
				needSMBD(t)
			case vm.ShareNFS:
				needGanesha(t)
			}
			o := testOptions(t, sharedState(t))
			o.Share = share
			e := vm.New(o)
			saved := ""
			for _, id := range []string{"whole", "damaged"} {
				if saved != "" {
					if err := os.Truncate(saved, 1<<20); err != nil {
						t.Fatal(err)
					}
				}
				a := openVM(t, e, id, bindSpec)
				appends(t, a)
				if err := a.Close(t.Context()); err != nil {
					t.Error(err)
				}
				wantNothingLeft(t, o.State, id)
				saved = lastSaved(t, o.State)
			}
			if st, err := os.Stat(saved); err != nil || st.Size() == 1<<20 {
				t.Errorf("the damaged file is still there: %v", err)
			}
		})
	}
}

// lastSaved is the saved machine of a state folder that was used last.
func lastSaved(t *testing.T, state string) (path string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(state, "cache/vm/saved-*"))
	if err != nil {
		t.Fatal(err)
	}
	var used time.Time
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if st.ModTime().After(used) {
			path, used = p, st.ModTime()
		}
	}
	if path == "" {
		t.Fatal("no machine is saved")
	}
	return path
}
