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

// mappers numbers the devices that this process makes of others.
var mappers atomic.Int64

// Mapper makes a device of the device mapper that is another one under another name, and returns its node. It is removed at the
// end of the test, unless RemoveMapper has done so.
func Mapper(t testing.TB, device string) string {
	t.Helper()
	needMapper(t)
	size, err := os.ReadFile("/sys/block/" + strings.TrimPrefix(device, "/dev/") + "/size")
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("plimsoll-test-%d-mapper-%d", os.Getpid(), mappers.Add(1))
	// Without udev the nodes are the kernel's.
	Run(t, "dmsetup", "create", "--noudevsync", name, "--table", "0 "+strings.TrimSpace(string(size))+" linear "+device+" 0")
	node := mapperNode(t, name)
	t.Cleanup(func() {
		// The node by its name is udev's, where there is one.
		if is, err := os.ReadFile("/sys/block/" + strings.TrimPrefix(node, "/dev/") + "/dm/name"); err == nil && strings.TrimSpace(string(is)) == name {
			Run(t, "dmsetup", "remove", "--noudevsync", "--retry", name)
		}
	})
	return node
}

// RemoveMapper takes a device away that Mapper made. Its number is free for the next then.
func RemoveMapper(t testing.TB, device string) {
	t.Helper()
	minor := strings.TrimPrefix(device, "/dev/dm-")
	Run(t, "dmsetup", "remove", "--noudevsync", "--retry", "--major", strings.Split(Number(t, device), ":")[0], "--minor", minor)
}

// needMapper skips the test where the kernel has no device mapper: that of make test-guest has it.
func needMapper(t testing.TB) {
	t.Helper()
	needRoot(t, "makes a device of the device mapper")
	if _, err := os.Stat("/sys/class/misc/device-mapper"); err != nil {
		t.Skip("needs device mapper in the kernel")
	}
}

// mapperNode is the kernel's node of a device of the device mapper.
func mapperNode(t testing.TB, name string) string {
	t.Helper()
	minor := Run(t, "dmsetup", "info", "--columns", "--noheadings", "-o", "minor", name)
	if _, err := strconv.Atoi(minor); err != nil {
		t.Fatal(err)
	}
	return "/dev/dm-" + minor
}

// withoutUdev runs a program that makes devices of the device mapper, which else waits for udev to make their nodes (libdevmapper's
// own variable). It skips the test where there is none.
func withoutUdev(t testing.TB, argv ...string) string {
	t.Helper()
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Skip("needs " + argv[0])
	}
	return Run(t, append([]string{"env", "DM_DISABLE_UDEV=1", "LVM_SUPPRESS_FD_WARNINGS=1"}, argv...)...)
}
