package device

import (
	"strings"
	"testing"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/treetest"
)

// TestIdentity: a device keeps its identity under another name; another device under the same name has another.
func TestIdentity(t *testing.T) {
	a, b := disktest.Image(t, 16<<20), disktest.Image(t, 16<<20)
	of := func(image string) string {
		t.Helper()
		loop := disktest.Loop(t, image, false)
		s, err := Host().Of(loop)
		if err != nil || s.Device == nil {
			t.Fatalf("%s: %+v, %v", loop, s, err)
		}
		disktest.Detach(t, image)
		return s.Device.Identity
	}
	first, other, again := of(a), of(b), of(a)
	if first == "" || first != again || first == other {
		t.Errorf("a file is %q, and later %q; another is %q", first, again, other)
	}
}

// TestIdentityOf: the id that survives longest is the disk's identity.
func TestIdentityOf(t *testing.T) {
	boot := map[string]string{"proc/sys/kernel/random/boot_id": "b-1\n", "sys/sda/diskseq": "7\n"}
	for _, tt := range []struct{ file, text, want string }{
		{"size", "1", "boot b-1 diskseq 7"},
		{"wwid", "naa.5000c500\n", "wwid naa.5000c500"},
		{"device/wwid", "t10.ATA     QEMU   1\n", "wwid t10.ATA QEMU 1"},
		{"serial", "vol-1\n", "serial vol-1"},
		{"dm/uuid", "LVM-abc\n", "dm LVM-abc"},
		{"loop/backing_file", "/no/such/file\n", "boot b-1 diskseq 7"},
	} {
		files := map[string]string{"sys/sda/" + tt.file: tt.text}
		for k, v := range boot {
			files[k] = v
		}
		root := treetest.Make(t, files)
		if got := identity(root+"/sys/sda", root+"/proc"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.file, got, tt.want)
		}
	}
	root := treetest.Make(t, map[string]string{"sys/sda/size": "1"})
	if got := identity(root+"/sys/sda", root+"/proc"); strings.TrimSpace(got) != "" {
		t.Errorf("nothing: %q", got)
	}
}
