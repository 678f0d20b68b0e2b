package vm_test

import (
	"os/exec"
	"testing"

	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/vm"
)

// TestVMShares: Shares returns each way to share a folder and what it lacks, whichever way the engine itself uses. It starts nothing.
func TestVMShares(t *testing.T) {
	needVM(t)
	o := testOptions(t, t.TempDir())
	for _, s := range vm.Shares(t.Context(), vm.New(o)) {
		if s.Missing != "" || s.Fix != "" {
			t.Errorf("%s lacks %q (%s), and the tests have all", s.Name, s.Missing, s.Fix)
		}
	}
	o.Share, o.Root = vm.ShareSMB, t.TempDir()
	o.LookPath = func(name string) (string, error) {
		if name == "qemu-system-x86_64" {
			return exec.LookPath(name)
		}
		return "", exec.ErrNotFound
	}
	got := map[string]string{}
	for _, s := range vm.Shares(t.Context(), vm.New(o)) {
		got[s.Name] = s.Missing + "; " + s.Fix
	}
	for name, want := range map[string]string{
		vm.Share9P:       "; ",
		vm.ShareVirtioFS: "virtiofsd, which serves the share, is not installed; install virtiofsd (Debian 12: qemu-system-common), or use share: 9p",
		vm.ShareSMB:      "smbd, which serves the share, is not installed; install samba (its own services need not run), or use share: 9p",
		vm.ShareNFS: "ganesha.nfsd, which serves the share, is not installed; install nfs-ganesha and nfs-ganesha-vfs (their own services need not run)" +
			", or use another share: 9p, virtiofs or smb",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d shares, want 4", len(got))
	}
	if list := vm.Shares(t.Context(), host.New(t.TempDir(), o.Worker)); list != nil {
		t.Errorf("the host shares folders with itself: %v", list)
	}
}
