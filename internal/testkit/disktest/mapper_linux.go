package disktest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// mappers numbers the mapped devices of this process.
var mappers atomic.Int64

// Mapper makes a linear device-mapper device over the whole of another one, and returns its node. It is removed at the end of the
// test, unless RemoveMapper has done so.
func Mapper(t testing.TB, device string) string {
	t.Helper()
	needMapper(t)
	size, err := os.ReadFile("/sys/block/" + strings.TrimPrefix(device, "/dev/") + "/size")
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("plimsoll-test-%d-mapper-%d", os.Getpid(), mappers.Add(1))
	// Without udev the kernel makes the nodes.
	Run(t, "dmsetup", "create", "--noudevsync", name, "--table", "0 "+strings.TrimSpace(string(size))+" linear "+device+" 0")
	node := mapperNode(t, name)
	t.Cleanup(func() {
		// If there is udev, it makes the node with the name.
		if is, err := os.ReadFile("/sys/block/" + strings.TrimPrefix(node, "/dev/") + "/dm/name"); err == nil && strings.TrimSpace(string(is)) == name {
			Run(t, "dmsetup", "remove", "--noudevsync", "--retry", name)
		}
	})
	return node
}

// RemoveMapper removes a device that Mapper made. Its number is free afterwards.
func RemoveMapper(t testing.TB, device string) {
	t.Helper()
	minor := strings.TrimPrefix(device, "/dev/dm-")
	Run(t, "dmsetup", "remove", "--noudevsync", "--retry", "--major", strings.Split(Number(t, device), ":")[0], "--minor", minor)
}

// needMapper skips the test if the kernel has no device mapper; the guest of make test-guest has it.
func needMapper(t testing.TB) {
	t.Helper()
	needRoot(t, "makes a device of the device mapper")
	if _, err := os.Stat("/sys/class/misc/device-mapper"); err != nil {
		t.Skip("needs device mapper in the kernel")
	}
}

// mapperNode returns the kernel's node of a device of the device mapper.
func mapperNode(t testing.TB, name string) string {
	t.Helper()
	minor := Run(t, "dmsetup", "info", "--columns", "--noheadings", "-o", "minor", name)
	if _, err := strconv.Atoi(minor); err != nil {
		t.Fatal(err)
	}
	return "/dev/dm-" + minor
}

// withoutUdev runs a program that makes devices of the device mapper, and keeps it from waiting for udev to make their nodes (with
// libdevmapper's own variable). It skips the test if there is no such program.
func withoutUdev(t testing.TB, argv ...string) string {
	t.Helper()
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Skip("needs " + argv[0])
	}
	return Run(t, append([]string{"env", "DM_DISABLE_UDEV=1", "LVM_SUPPRESS_FD_WARNINGS=1"}, argv...)...)
}
