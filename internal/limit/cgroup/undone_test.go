package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
)

// TestAllOrNothing: whichever write is refused, all files are as before.
func TestAllOrNothing(t *testing.T) {
	for _, version := range []int{1, 2, 3} {
		want := Want{Change: limit.Change{Set: full}, Devices: []device.Number{vda, sdb}}
		f := newFake(t, version, "/c/a", "/c/b")
		// What was there before has to come back, too.
		for name, content := range map[string]string{
			"cg/blkio/c/blkio.throttle.read_bps_device": "254:0 9\n", "cg/blkio/c/blkio.bfq.weight": "70\n", "cg/blkio/c/blkio.bfq.weight_device": "default 70\n8:16 80\n",
			"cg/c/io.max": "254:0 rbps=5 wbps=max riops=7 wiops=max\n", "cg/c/io.bfq.weight": "default 70\n8:16 80\n", "cg/c/cpu.max": "7000 50000\n",
		} {
			if f.has(f.root, name) {
				f.put(name, content)
			}
		}
		before := f.everything()
		for n := 0; ; n++ {
			seen := 0
			f.before = func(string, string) error {
				seen++
				if seen == n+1 {
					return syscall.EACCES
				}
				return nil
			}
			_, err := f.host.Hold(f.target("/c"), want)
			if seen <= n {
				if err != nil || n < 8 {
					t.Errorf("version %d: %d writes, %v", version, n, err)
				}
				break
			}
			var fault *Fault
			if !errors.As(err, &fault) || !errors.Is(err, syscall.EACCES) {
				t.Fatalf("version %d, write %d: %v, want a fault of the write", version, n, err)
			}
			if fault.Undone != (n > 0) || len(fault.Left) > 0 {
				t.Errorf("version %d, write %d: undone %v, left %q", version, n, fault.Undone, fault.Left)
			}
			if !strings.Contains(err.Error(), "not permitted; run as root") {
				t.Errorf("version %d, write %d: %v", version, n, err)
			}
			if diff := cmp.Diff(before, f.everything()); diff != "" {
				t.Fatalf("version %d, write %d refused: %s", version, n, diff)
			}
		}
	}
}

// TestLateFault: a refusal in a later round undoes the rounds before, the last first: memory alone may not
// be more than memory and swap.
func TestLateFault(t *testing.T) {
	f := newFake(t, 1, "/c")
	f.put("cg/memory/c/memory.limit_in_bytes", "8388608\n")
	f.put("cg/memory/c/memory.memsw.limit_in_bytes", "8388608\n")
	before := f.everything()
	f.before = func(file, _ string) error {
		if strings.Contains(file, "/late/") {
			f.before = nil
			return syscall.EPERM
		}
		if !f.has(f.dirs("/c/late")[0], "cgroup.procs") {
			f.group("/c/late")
		}
		return nil
	}
	_, err := f.host.Hold(f.target("/c"), Want{Change: limit.Change{Set: limit.Limits{WriteBPS: 100, Memory: 64 << 20}}, Devices: []device.Number{vda}})
	if !errors.Is(err, syscall.EPERM) || !strings.Contains(err.Error(), "the earlier writes were undone") {
		t.Errorf("Hold = %v", err)
	}
	f.remove("/c/late")
	if diff := cmp.Diff(before, f.everything()); diff != "" {
		t.Error(diff)
	}
}

// TestNotRestored: what could not be undone is named with the value that it should have.
func TestNotRestored(t *testing.T) {
	f := newFake(t, 2, "/c")
	f.put("cg/c/io.max", "254:0 rbps=5 wbps=max riops=max wiops=max\n")
	writes := 0
	f.before = func(string, string) error {
		if writes++; writes > 1 {
			return syscall.EIO
		}
		return nil
	}
	_, err := f.host.Hold(f.target("/c"), Want{Change: limit.Change{Set: limit.Limits{ReadBPS: 100, CPUs: 1}}, Devices: []device.Number{vda}})
	var fault *Fault
	if !errors.As(err, &fault) || len(fault.Left) != 1 || !strings.Contains(err.Error(), `NOT restored: "254:0 rbps=5" to `) {
		t.Errorf("Hold = %v", err)
	}
}

// TestDryRun: a diff says what would be written, and nothing is.
func TestDryRun(t *testing.T) {
	f := newFake(t, 2, "/c")
	d, err := f.host.Plan(f.target("/c"), Want{Change: limit.Change{Set: limit.Limits{ReadBPS: 100, CPUs: 1}}, Devices: []device.Number{vda}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range d.Edits {
		lines = append(lines, strings.ReplaceAll(e.String(), f.root, ""))
	}
	if diff := cmp.Diff([]string{`write "254:0 rbps=100" to /cg/c/io.max (was "254:0 rbps=max")`, `write "100000 100000" to /cg/c/cpu.max (was "max 100000")`}, lines); diff != "" {
		t.Error(diff)
	}
	if len(f.writes) != 0 {
		t.Errorf("written: %q", f.writes)
	}
}

// TestNotKept: a value that doesn't stay is said to, and not written for ever.
func TestNotKept(t *testing.T) {
	f := newFake(t, 2, "/c")
	before := f.everything()
	n := 0
	f.before = func(file, _ string) error {
		n++
		return nil
	}
	target := f.target("/c")
	f.host.io = meddler{f, "io.max"}
	_, err := f.host.Hold(target, Want{Change: limit.Change{Set: limit.Limits{ReadBPS: 100, CPUs: 1}}, Devices: []device.Number{vda}})
	if !errors.Is(err, ErrNotKept) || !strings.Contains(err.Error(), `read_bps on 254:0: writing "254:0 rbps=100" to `) {
		t.Errorf("Hold = %v", err)
	}
	if n != 4 { // Two values, and both restored.
		t.Errorf("%d writes", n)
	}
	if diff := cmp.Diff(before, f.everything()); diff != "" {
		t.Error(diff)
	}
}

// A meddler is another program: it empties a file as soon as it was written.
type meddler struct {
	*fake
	file string
}

func (m meddler) write(path, text string) error {
	err := m.fake.write(path, text)
	if filepath.Base(path) == m.file && err == nil {
		err = os.WriteFile(path, nil, 0o644)
	}
	return err
}
