package vm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/procfs"
)

// accelOf has an engine choose what runs its processors, and counts the machines that it needed for that.
func accelOf(t *testing.T, v *Engine, dir string) (accel, notes string, asked int) {
	t.Helper()
	before, _ := starts(t, dir)
	v.base.accel, v.base.notes = "", nil
	if err := v.chooseAccel(t.Context(), v.base, os.DevNull); err != nil {
		t.Fatal(err)
	}
	after, _ := starts(t, dir)
	return v.base.accel, strings.Join(v.base.notes, "\n"), after - before
}

// noted reads the note on KVM, empty if there is none.
func noted(t *testing.T, v *Engine) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(v.cacheDir(), "kvm.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

// TestKVMWorks: a KVM with which a machine answers is taken, and noted for this QEMU and this kernel; that machine is not saved.
func TestKVMWorks(t *testing.T) {
	v, dir := fakeVM(t)
	choose := func(wantAsked int) {
		t.Helper()
		if accel, notes, asked := accelOf(t, v, dir); accel != AccelKVM || notes != "" || asked != wantAsked {
			t.Errorf("it is %s (%s) after %d machines, want KVM after %d", accel, notes, asked, wantAsked)
		}
	}
	choose(1)
	choose(0)
	b, err := os.ReadFile(filepath.Join(dir, "asked"))
	if err != nil || !strings.Contains(string(b), "-accel kvm ") {
		t.Errorf("QEMU was started with %s, %v, want KVM", b, err)
	}
	if got := savedFiles(t, v); len(got) != 0 {
		t.Errorf("saved are %v, want none", got)
	}
	v.base.version = "7.1"
	choose(1)
	choose(0)
	v.base.image = filepath.Join(dir, "other")
	choose(1)
	choose(0)
	// As an older plimsoll's note, and one of another boot.
	for _, text := range []string{`{"boot": "` + procfs.Boot("/proc") + `", "works": false}`, strings.Replace(noted(t, v), `{"boot":"`, `{"boot":"0`, 1)} {
		touch(t, filepath.Join(v.cacheDir(), "kvm.json"), text)
		choose(1)
	}
}

// TestKVMPasses: a failure that is not KVM's silence may pass: it has the processor emulated, and is not noted.
func TestKVMPasses(t *testing.T) {
	v, dir := fakeVM(t)
	touch(t, filepath.Join(dir, "before"), "#!/bin/sh\necho 'failed to initialize kvm: Device or resource busy' >&2; exit 1\n")
	for range 2 {
		accel, notes, asked := accelOf(t, v, dir)
		if accel != AccelTCG || !strings.Contains(notes, "Device or resource busy") || asked != 1 {
			t.Errorf("it is %s (%s) after %d machines, want TCG with the reason after one", accel, notes, asked)
		}
		if text := noted(t, v); text != "" {
			t.Errorf("noted is %s", text)
		}
	}
	if err := os.Remove(filepath.Join(dir, "before")); err != nil {
		t.Fatal(err)
	}
	if accel, notes, _ := accelOf(t, v, dir); accel != AccelKVM {
		t.Errorf("it is %s (%s), want KVM", accel, notes)
	}
}

// TestKVMSilent: a machine that never answers with KVM is waited for once.
func TestKVMSilent(t *testing.T) {
	t.Parallel()
	v, dir := fakeVM(t)
	touch(t, filepath.Join(dir, "before"), "#!/bin/sh\nexec sleep 1000\n")
	for _, wantAsked := range []int{1, 0} {
		accel, notes, asked := accelOf(t, v, dir)
		if accel != AccelTCG || !strings.Contains(notes, errKVMSilent.Error()) || asked != wantAsked {
			t.Errorf("it is %s (%s) after %d machines, want TCG with the reason after %d", accel, notes, asked, wantAsked)
		}
	}
	if text := noted(t, v); !strings.Contains(text, `"works":false`) {
		t.Errorf("noted is %q", text)
	}
}
