package disktest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Zram makes a disk of compressed memory of this many bytes and returns its path. It is removed at the end of the test.
func Zram(t testing.TB, size int64) string {
	t.Helper()
	needRoot(t, "makes a zram")
	const control = "/sys/class/zram-control"
	b, err := os.ReadFile(filepath.Join(control, "hot_add"))
	if err != nil {
		t.Skipf("needs zram in the kernel: %v", err)
	}
	number := strings.TrimSpace(string(b))
	t.Cleanup(func() {
		remove := func() error { return os.WriteFile(filepath.Join(control, "hot_remove"), []byte(number), 0) }
		if err := patiently(remove); err != nil {
			t.Errorf("remove zram%s: %v", number, err)
		}
	})
	if err := os.WriteFile("/sys/block/zram"+number+"/disksize", []byte(strconv.FormatInt(size, 10)), 0); err != nil {
		t.Fatal(err)
	}
	return "/dev/zram" + number
}
