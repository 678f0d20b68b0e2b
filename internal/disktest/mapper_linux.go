package disktest

import (
	"fmt"
	"os"
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
	needRoot(t, "makes a device of the device mapper")
	if _, err := os.Stat("/sys/class/misc/device-mapper"); err != nil {
		t.Skip("needs device mapper in the kernel")
	}
	size, err := os.ReadFile("/sys/block/" + strings.TrimPrefix(device, "/dev/") + "/size")
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("plimsoll-test-%d-mapper-%d", os.Getpid(), mappers.Add(1))
	// Without udev the nodes are the kernel's.
	Run(t, "dmsetup", "create", "--noudevsync", name, "--table", "0 "+strings.TrimSpace(string(size))+" linear "+device+" 0")
	t.Cleanup(func() {
		if _, err := os.Stat("/dev/mapper/" + name); err == nil {
			Run(t, "dmsetup", "remove", "--noudevsync", "--retry", name)
		}
	})
	minor := Run(t, "dmsetup", "info", "--columns", "--noheadings", "-o", "minor", name)
	if _, err := strconv.Atoi(minor); err != nil {
		t.Fatal(err)
	}
	return "/dev/dm-" + minor
}

// RemoveMapper takes a device away that Mapper made. Its number is free for the next then.
func RemoveMapper(t testing.TB, device string) {
	t.Helper()
	minor := strings.TrimPrefix(device, "/dev/dm-")
	Run(t, "dmsetup", "remove", "--noudevsync", "--retry", "--major", strings.Split(Number(t, device), ":")[0], "--minor", minor)
}
