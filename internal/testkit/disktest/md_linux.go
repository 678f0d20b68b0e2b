package disktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// MD makes a software RAID without metadata that uses size bytes of each device, and returns its path. It skips the test if the
// kernel has no md; the guest of make test-guest has it (Documentation/admin-guide/md.rst).
func MD(t testing.TB, level string, size int64, devices ...string) string {
	t.Helper()
	needRoot(t, "makes a RAID")
	const make = "/sys/module/md_mod/parameters/new_array"
	if _, err := os.Stat(make); err != nil {
		t.Skip("needs md in the kernel")
	}
	name := fmt.Sprintf("md_plimsoll%d_%d", os.Getpid(), groups.Add(1))
	dir := filepath.Join("/sys/block", name, "md")
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	put(make, name)
	t.Cleanup(func() {
		if err := patiently(func() error { return os.WriteFile(filepath.Join(dir, "array_state"), []byte("clear"), 0) }); err != nil {
			t.Errorf("clear %s: %v", name, err)
		}
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			if _, err := os.Stat(dir); err != nil {
				return
			}
			if time.Now().After(end) {
				t.Errorf("%s stays", name)
				return
			}
		}
	})
	set := func(file, text string) { t.Helper(); put(filepath.Join(dir, file), text) }
	set("metadata_version", "none")
	set("level", level)
	set("raid_disks", strconv.Itoa(len(devices)))
	if level != "raid1" {
		set("chunk_size", "65536")
	}
	switch level {
	case "raid5":
		set("layout", "2")
	case "raid10":
		set("layout", "258") // Two near copies, one far.
	}
	set("component_size", strconv.FormatInt(size>>10, 10))
	for i, d := range devices {
		set("new_dev", Number(t, d))
		set("dev-"+filepath.Base(d)+"/slot", strconv.Itoa(i))
		if level == "raid0" { // The others use component_size.
			set("dev-"+filepath.Base(d)+"/size", strconv.FormatInt(size>>10, 10))
		}
	}
	set("resync_start", "none")
	set("array_state", "active")
	return "/dev/" + name
}
