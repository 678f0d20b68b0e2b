package vm_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/workload"
)

// changedQEMU finds a QEMU whose arguments a shell's script changes: for each of them, in $a, and in $@ at the end.
func changedQEMU(t *testing.T, each, end string) func(string) (string, error) {
	t.Helper()
	real, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Fatal(err)
	}
	fake := filepath.Join(t.TempDir(), "qemu-system-x86_64")
	script := "#!/bin/sh\nfor a; do shift\n" + each + "\nset -- \"$@\" \"$a\"; done\n" + end + "\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return func(name string) (string, error) {
		if name == "qemu-system-x86_64" {
			return fake, nil
		}
		return exec.LookPath(name)
	}
}

// injectNMI has a QEMU that listens on a socket interrupt the guest.
func injectNMI(t *testing.T, socket string) {
	t.Helper()
	c, err := net.DialTimeout("unix", socket, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, `{"execute":"qmp_capabilities"}`+"\n"+`{"execute":"inject-nmi"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	// Its greeting, and two answers.
	for d := json.NewDecoder(c); ; {
		var said map[string]any
		if err := d.Decode(&said); err != nil {
			return // The guest may be gone, and QEMU with it, before the last.
		}
		if said["error"] != nil {
			t.Fatalf("inject-nmi: %v", said["error"])
		}
	}
}

// TestVMPanicInTrial: if the guest's kernel panics in the middle of a trial, the error has the kernel's own words, and the console is kept.
func TestVMPanicInTrial(t *testing.T) {
	needVM(t)
	o := testOptions(t, t.TempDir())
	// Its path is short enough for a socket's.
	dir, err := os.MkdirTemp("/var/tmp", "plimsoll-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "qmp")
	o.Boot = true
	o.LookPath = changedQEMU(t, `case $a in console=*) a="unknown_nmi_panic $a";; esac`, "case $1 in --version);; *) set -- \"$@\" -qmp unix:"+socket+",server=on,wait=off;; esac")
	a := openVM(t, vm.New(o), "panics-1", layerSpec(""))
	defer wantNothingLeft(t, o.State, "panics-1")
	defer a.Close(context.WithoutCancel(t.Context()))
	if err := a.Prepare(t.Context(), "1", workload.Spec{Name: "long", Kind: workload.WAL, Runtime: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	injectNMI(t, socket)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = a.Wait(ctx, "1", nil)
	var te *agent.TrialError
	if !errors.As(err, &te) || !strings.Contains(te.Text, "the guest's kernel panicked: NMI: Not continuing") {
		t.Errorf("Wait() = %v, want the kernel's panic", err)
	}
	if te != nil && (!strings.Contains(te.Log, "Kernel panic - not syncing: NMI: Not continuing") || te.Phase != "worker") {
		t.Errorf("the error keeps, of phase %s, %q, want the console", te.Phase, te.Log)
	}
}
