package guest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// elfKernel is the smallest ELF file with a PVH entry, or another note in its place, of a kernel that says its version.
func elfKernel(note uint32) []byte {
	b := make([]byte, 64+56)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], 2)   // ET_EXEC
	le.PutUint16(b[18:], 62)  // EM_X86_64
	le.PutUint32(b[20:], 1)   // version
	le.PutUint64(b[32:], 64)  // program headers
	le.PutUint16(b[52:], 64)  // this header's size
	le.PutUint16(b[54:], 56)  // a program header's
	le.PutUint16(b[56:], 1)   // one of them
	le.PutUint32(b[64:], 4)   // PT_NOTE
	le.PutUint64(b[72:], 120) // where
	le.PutUint64(b[96:], 20+20)
	le.PutUint64(b[104:], 20+20)
	for _, kind := range []uint32{7, note} {
		n := make([]byte, 20)
		le.PutUint32(n, 4)
		le.PutUint32(n[4:], 4)
		le.PutUint32(n[8:], kind)
		copy(n[12:], "Xen\x00")
		b = append(b, n...)
	}
	b = append(b, make([]byte, 1<<20)...) // The version is in another piece than the head.
	return append(b, "Linux version 6.1.0-9-amd64 (debian) #1\n"...)
}

// bzImage packs a payload as kernels are, followed by a size that means nothing.
func bzImage(version string, payload []byte) []byte {
	b := make([]byte, 2*512, 4096)
	b[offSetupSects] = 1
	copy(b[offMagic:], "HdrS")
	binary.LittleEndian.PutUint16(b[offBootVersion:], 0x20f)
	binary.LittleEndian.PutUint16(b[offKernelVersion:], 0x300-0x200)
	copy(b[0x300:], version+" (builder) #1 SMP\x00")
	binary.LittleEndian.PutUint32(b[offPayload:], 16)
	payload = append(bytes.Clone(payload), 1, 2, 3, 4)
	binary.LittleEndian.PutUint32(b[offPayloadLength:], uint32(len(payload)))
	return append(append(append(b, make([]byte, 16)...), payload...), "the end"...)
}

// pack packs in the ways of kernels.
func pack(t *testing.T, how string, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	switch how {
	case "gzip":
		w := gzip.NewWriter(&b)
		w.Write(plain)
		w.Close()
	case "zstd":
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(plain)
		w.Close()
	case "xz":
		// As scripts/xz_wrap.sh of Linux does.
		cmd := exec.Command("xz", "--check=crc32", "--x86", "--lzma2=,dict=32MiB")
		cmd.Stdin, cmd.Stdout = bytes.NewReader(plain), &b
		if err := cmd.Run(); errors.Is(err, exec.ErrNotFound) {
			t.Skip("xz is needed")
		} else if err != nil {
			t.Fatal(err)
		}
	case "lz4":
		b.WriteString("\x02\x21\x4c\x18lz4")
	}
	return b.Bytes()
}

func TestUnpack(t *testing.T) {
	plain := elfKernel(notePVH)
	for _, tt := range []struct {
		name  string
		image []byte
		// packed: the kernel has to unpack itself; else it is an error with the words.
		packed bool
		words  string
	}{
		{"plain", plain, false, ""},
		{"gzip", bzImage("6.1.0-9-amd64", pack(t, "gzip", plain)), false, ""},
		{"zstd", bzImage("6.1.0-9-amd64", pack(t, "zstd", plain)), false, ""},
		{"lz4", bzImage("6.1.0-9-amd64", pack(t, "lz4", plain)), true, "is not gzip, xz, zstd or bzip2"},
		{"no entry", bzImage("6.1.0-9-amd64", pack(t, "gzip", elfKernel(8))), true, "no PVH entry"},
		{"no ELF", bzImage("6.1.0-9-amd64", pack(t, "gzip", []byte("hello"))), true, "not an ELF file"},
		{"torn", bzImage("6.1.0-9-amd64", pack(t, "gzip", plain))[:1200], false, "damaged"},
	} {
		t.Run(tt.name, func(t *testing.T) { unpackOne(t, tt.image, plain, tt.packed, tt.words) })
	}
	t.Run("xz", func(t *testing.T) {
		unpackOne(t, bzImage("6.1.0-9-amd64", pack(t, "xz", plain)), plain, false, "")
	})
}

func unpackOne(t *testing.T, image, plain []byte, packed bool, words string) {
	t.Helper()
	dir := t.TempDir()
	path, to := filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "vmlinux")
	if err := os.WriteFile(path, image, 0o644); err != nil {
		t.Fatal(err)
	}
	k, err := Open(dir, path, "")
	if err != nil || k.Version != "6.1.0-9-amd64" {
		t.Errorf("Open() = %+v, %v, want version 6.1.0-9-amd64", k, err)
	}
	err = k.Unpack(to)
	if errors.Is(err, ErrPacked) != packed {
		t.Errorf("Unpack() = %v, want ErrPacked %v", err, packed)
	}
	if (err != nil) != (words != "") || err != nil && !strings.Contains(err.Error(), words) {
		t.Errorf("Unpack() = %v, want %q", err, words)
	}
	got, err := os.ReadFile(to)
	if words == "" && !bytes.Equal(got, plain) {
		t.Errorf("unpacked are %d bytes, %v, want the %d of the kernel", len(got), err, len(plain))
	}
	if left, _ := os.ReadDir(dir); len(left) > 2 || words != "" && len(left) > 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"short": "x", "text": strings.Repeat("text ", 1000), "elf": "\x7fELF" + strings.Repeat("x", 4096), "m/other": ""})
	for path, want := range map[string]string{
		"none": "no such file", "short": "not a bzImage or vmlinux", "text": "not a bzImage or vmlinux", "elf": "contains no kernel version", ".": "is a directory",
	} {
		if k, err := Open(dir, filepath.Join(dir, path), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s) = %+v, %v, want %q", path, k, err, want)
		}
	}
	good := filepath.Join(dir, "good")
	if err := os.WriteFile(good, elfKernel(notePVH), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, good, filepath.Join(dir, "m")); err == nil || !strings.Contains(err.Error(), "name the folder that has modules.dep") {
		t.Errorf("Open with a folder without modules = %v", err)
	}
}

// TestUnpackedPackage: a kernel of a package that was unpacked has its modules beside it, in either of the folders that distributions use. If the
// list of them is missing, the error has the command that makes it.
func TestUnpackedPackage(t *testing.T) {
	for _, lib := range []string{"lib", "usr/lib"} {
		dir := t.TempDir()
		modules := filepath.Join(dir, lib, "modules/6.9")
		write(t, dir, map[string]string{"boot/vmlinuz-6.9": string(bzImage("6.9", []byte("x"))), lib + "/modules/6.9/kernel/ext4.ko": "x"})
		k, err := Open(t.TempDir(), filepath.Join(dir, "boot/vmlinuz-6.9"), "")
		if err != nil || k.Modules != "" {
			t.Errorf("%s: Open() = %+v, %v, want it without modules", lib, k, err)
		}
		want := "depmod -b " + filepath.Dir(filepath.Join(dir, lib)) + " 6.9"
		if _, err := k.Resolve("ext4"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Resolve() = %v, want %q", lib, err, want)
		}
		write(t, dir, map[string]string{lib + "/modules/6.9/modules.dep": "kernel/ext4.ko:\n"})
		if k, err = Open(t.TempDir(), k.Path, ""); err != nil || k.Modules != modules {
			t.Errorf("%s: Open() = %+v, %v, want its modules in %s", lib, k, err, modules)
		}
	}
}

// TestFind: the running kernel if it is there, else the newest; none without modules.
func TestFind(t *testing.T) {
	root := t.TempDir()
	if _, err := Find(root, "6.1.0-9-amd64"); !errors.Is(err, errNoKernel) {
		t.Errorf("Find() with none = %v, want errNoKernel", err)
	}
	boot := func(version string) string { return string(bzImage(version, []byte("x"))) }
	write(t, root, map[string]string{"boot/vmlinuz-7.0": boot("7.0")})
	if _, err := Find(root, "7.0"); err == nil || !strings.Contains(err.Error(), "its modules are not in") {
		t.Errorf("Find() with one without modules = %v", err)
	}
	write(t, root, map[string]string{
		"boot/vmlinuz-6.9":                boot("6.9"),
		"boot/vmlinuz-6.10":               boot("6.10"),
		"boot/vmlinuz-bad":                "bad",
		"usr/lib/modules/6.2/vmlinuz":     boot("6.2"),
		"usr/lib/modules/6.2/modules.dep": "",
		"lib/modules/6.9/modules.dep":     "",
		"lib/modules/6.10/modules.dep":    "",
	})
	for running, want := range map[string]string{"6.9": "6.9", "6.2": "6.2", "5.0": "6.10"} {
		k, err := Find(root, running)
		if err != nil || k.Version != want || k.Modules == "" {
			t.Errorf("Find(%s) = %+v, %v, want %s", running, k, err, want)
		}
	}
}

// TestFindOrder: versions are compared by their numbers; of builds of one version the one with 9p is found, and rather
// the ordinary one than one for clouds or real time.
func TestFindOrder(t *testing.T) {
	const with9P = "kernel/9pnet.ko:\nkernel/9pnet_virtio.ko: kernel/9pnet.ko\nkernel/9p.ko: kernel/9pnet.ko\n"
	for _, tt := range []struct {
		name string
		// no9P lack 9p, others have it; the first of all is wanted.
		no9P, all []string
	}{
		{"for clouds", []string{"6.1.0-56-cloud-amd64"}, []string{"6.1.0-56-amd64", "6.1.0-56-cloud-amd64", "6.1.0-56-rt-amd64"}},
		{"real time", nil, []string{"6.1.0-56-amd64", "6.1.0-56-rt-amd64"}},
		{"generic", nil, []string{"6.8.0-31-generic", "6.8.0-31-lowlatency", "6.8.0-31-kvm"}},
		{"9p before an ordinary name", []string{"6.1.0-56-amd64"}, []string{"6.1.0-56-rt-amd64", "6.1.0-56-amd64"}},
		{"newer before 9p", []string{"6.1.0-57-cloud-amd64"}, []string{"6.1.0-57-cloud-amd64", "6.1.0-56-amd64"}},
		{"numbers, not digits", nil, []string{"6.1.0-100-amd64", "6.1.0-56-amd64", "6.1.0-9-amd64"}},
		{"release", nil, []string{"6.10", "6.10-rc3", "6.9.12"}},
		{"candidates", nil, []string{"6.10-rc10-amd64", "6.10-rc3-amd64", "6.10-rc-amd64", "6.9.7-amd64"}},
		{"a release's numbers", nil, []string{"6.10.0-1-amd64", "6.10-rc7-amd64"}},
		{"Fedora's candidate", nil, []string{"6.10.0-100.fc41.x86_64", "6.10.0-0.rc3.20240614.fc42.x86_64"}},
		{"more numbers", nil, []string{"6.10.1", "6.10"}},
		{"backports", nil, []string{"6.12.43+deb13-amd64", "6.12.43+deb12-amd64", "6.12.43+deb12-cloud-amd64"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for _, v := range tt.all {
				modules := with9P
				if slices.Contains(tt.no9P, v) {
					modules = ""
				}
				write(t, root, map[string]string{"boot/vmlinuz-" + v: string(bzImage(v, []byte("x"))), "lib/modules/" + v + "/modules.dep": modules})
			}
			if k, err := Find(root, "5.10.0-1-amd64"); err != nil || k.Version != tt.all[0] {
				t.Errorf("Find() of %v = %s, %v, want %s", tt.all, k.Version, err, tt.all[0])
			}
		})
	}
}
