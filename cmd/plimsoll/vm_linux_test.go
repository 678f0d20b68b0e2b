package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// vmTests names the variable with which scripts/test-guest asks for the tests that boot machines: an emulated processor takes all
// that there is of a real one, and other tests beside it measure time.
const vmTests = "PLIMSOLL_TEST_VM"

// needVM skips a test that needs QEMU and the tests' kernel, and returns that kernel, which scripts/guest fetches.
func needVM(t *testing.T) (kernel string) {
	t.Helper()
	if os.Getenv(vmTests) == "" {
		t.Skip("virtual machines are booted by make test-guest")
	}
	needRun(t)
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("qemu is needed: scripts/setup guest")
	}
	cache, err := os.UserCacheDir()
	mustDo(t, err)
	kernel = filepath.Join(cache, "plimsoll/guest/vmlinux")
	if _, err := os.Stat(kernel); err != nil {
		t.Skip("the tests' kernel is needed: scripts/guest fetches it")
	}
	return kernel
}
