package guest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes files of a tree.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// modulesTree is a folder of modules as Debian 12 has it, cut down.
var modulesTree = map[string]string{
	"modules.dep": `kernel/fs/ext4/ext4.ko: kernel/lib/crc16.ko kernel/fs/mbcache.ko kernel/fs/jbd2/jbd2.ko
kernel/fs/jbd2/jbd2.ko:
kernel/fs/mbcache.ko:
kernel/lib/crc16.ko:
kernel/crypto/crc32c_generic.ko:
kernel/arch/x86/crypto/crc32c-intel.ko:
kernel/net/9p/9pnet_virtio.ko.xz: kernel/net/9p/9pnet.ko.xz
kernel/net/9p/9pnet.ko.xz:
`,
	"modules.builtin": "kernel/drivers/virtio/virtio-pci.ko\n",
	"modules.softdep": "softdep ext4 pre: crypto-crc32c\n",
	"modules.alias":   "alias crypto-crc32c crc32c_intel\nalias crypto-crc32c crc32c_generic\nalias virtio:d00000009v* 9pnet_virtio\n",
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, modulesTree)
	k := Kernel{Version: "6.1", Modules: dir}
	for _, tt := range []struct {
		names []string
		want  []string
	}{
		{nil, nil},
		{[]string{"virtio_pci"}, nil},
		{[]string{"jbd2", "jbd2"}, []string{"kernel/fs/jbd2/jbd2.ko"}},
		// Modules that it asks for by another name come first, without those for special processors.
		{[]string{"ext4"}, []string{"kernel/crypto/crc32c_generic.ko", "kernel/fs/jbd2/jbd2.ko", "kernel/fs/mbcache.ko", "kernel/lib/crc16.ko", "kernel/fs/ext4/ext4.ko"}},
		{[]string{"virtio-pci", "9pnet-virtio"}, []string{"kernel/net/9p/9pnet.ko.xz", "kernel/net/9p/9pnet_virtio.ko.xz"}},
	} {
		got, err := k.Resolve(tt.names...)
		if err != nil {
			t.Errorf("Resolve(%q) = %v", tt.names, err)
		}
		var want []string
		for _, w := range tt.want {
			want = append(want, filepath.Join(dir, w))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Resolve(%q): %s", tt.names, diff)
		}
	}
	var missing *MissingModuleError
	if _, err := k.Resolve("ext4", "virtiofs"); !errors.As(err, &missing) || err.Error() != "the kernel 6.1 has no module virtiofs" {
		t.Errorf("Resolve(virtiofs) = %v, want it missing", err)
	}
	if _, err := (Kernel{Version: "6.1"}).Resolve("ext4"); err == nil || !strings.Contains(err.Error(), "name their folder") {
		t.Errorf("Resolve without a folder = %v", err)
	}
}

func TestModulePath(t *testing.T) {
	for file, want := range map[string]string{
		"/lib/modules/6.1/kernel/net/9p/9pnet_virtio.ko.zst": "/modules/9pnet_virtio.ko",
		"kernel/arch/x86/crypto/crc32c-intel.ko":             "/modules/crc32c_intel.ko",
	} {
		if got := ModulePath(file); got != want {
			t.Errorf("ModulePath(%q) = %q, want %q", file, got, want)
		}
	}
}
