package disktest

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Partitions adds two equal partitions of a device to the kernel's list, and returns their paths. It writes nothing to the device:
// not every kernel reads partition tables.
func Partitions(t testing.TB, device string) [2]string {
	t.Helper()
	const start = 2048 // In sectors of 512 bytes, as is usual.
	size, err := strconv.ParseInt(Run(t, "cat", "/sys/block/"+strings.TrimPrefix(device, "/dev/")+"/size"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	each := (size - start) / 2
	var parts [2]string
	for i := range int64(2) {
		number := strconv.FormatInt(i+1, 10)
		Run(t, "addpart", device, number, strconv.FormatInt(start+i*each, 10), strconv.FormatInt(each, 10))
		t.Cleanup(func() {
			// A program that examines new devices may have it open for a moment.
			err := patiently(func() error {
				out, err := exec.Command("delpart", device, number).CombinedOutput()
				if err != nil && strings.Contains(string(out), "busy") {
					return unix.EBUSY
				}
				return err
			})
			if err != nil {
				t.Errorf("delpart %s %s: %v", device, number, err)
			}
		})
		parts[i] = device + "p" + number
	}
	return parts
}
