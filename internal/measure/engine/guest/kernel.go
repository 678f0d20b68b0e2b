package guest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/conf/controlfile"
)

// A Kernel is a kernel's file and the modules that belong to it.
type Kernel struct {
	// Path is the file: a bzImage, as distributions ship it, or an ELF file (vmlinux).
	Path string
	// Version is what uname -r will print: "6.1.0-56-amd64".
	Version string
	// Modules is the folder with modules.dep; empty if the kernel has none.
	Modules string
	// unlisted is a folder of its modules without modules.dep, as in a package that was unpacked but not installed.
	unlisted string
}

// errNoKernel is returned by Find if no kernel is installed.
var errNoKernel = errors.New("no Linux kernel is installed in /boot or /usr/lib/modules")

// Find returns a kernel that is installed below root. It prefers the running version, then the newest. Of several builds of one
// version it prefers one with the modules of 9p, which builds for clouds lack, then the distribution's ordinary build. Kernels without
// modules are ignored, as few of them can drive the devices of a virtual machine.
func Find(root, running string) (Kernel, error) {
	paths, _ := filepath.Glob(filepath.Join(root, "boot/vmlinuz-*"))
	for _, dir := range []string{"usr/lib/modules", "lib/modules"} {
		more, _ := filepath.Glob(filepath.Join(root, dir, "*/vmlinuz"))
		paths = append(paths, more...)
	}
	var found []Kernel
	var errs []error
	for _, p := range paths {
		k, err := Open(root, p, "")
		switch {
		case err != nil:
			errs = append(errs, err)
		case k.Modules == "":
			errs = append(errs, fmt.Errorf("%s: its modules are not in %s", p, filepath.Join(root, "lib/modules", k.Version)))
		case k.Version == running:
			return k, nil
		default:
			found = append(found, k)
		}
	}
	if len(found) == 0 {
		if err := errors.Join(errs...); err != nil {
			return Kernel{}, fmt.Errorf("none of the kernels here can be used: %w", err)
		}
		return Kernel{}, errNoKernel
	}
	return slices.MaxFunc(found, compareKernels), nil
}

// Open inspects the kernel in a file. modules names the folder of its modules; if it is empty, Open searches for it
// where distributions have it, below root and beside the kernel.
func Open(root, path, modules string) (Kernel, error) {
	f, err := controlfile.Open(path)
	if err != nil {
		return Kernel{}, fmt.Errorf("kernel: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Kernel{}, fmt.Errorf("kernel: %w", err)
	}
	if st.Size() > maxKernel { // The search for its version reads all of it.
		return Kernel{}, fmt.Errorf("%s has more than %d MiB, so it is not a kernel", path, maxKernel>>20)
	}
	version, err := versionOf(f)
	if err != nil {
		return Kernel{}, fmt.Errorf("kernel %s: %w", path, err)
	}
	k := Kernel{Path: path, Version: version, Modules: modules}
	if modules != "" {
		if _, err := os.Stat(filepath.Join(modules, depFile)); err != nil {
			return Kernel{}, fmt.Errorf("modules of kernel %s: %w; name the folder that has %s", version, err, depFile)
		}
		return k, nil
	}
	beside := filepath.Dir(path)
	for _, dir := range []string{
		beside,
		filepath.Join(root, "lib/modules", version), filepath.Join(root, "usr/lib/modules", version),
		filepath.Join(beside, "lib/modules", version), filepath.Join(beside, "../lib/modules", version), filepath.Join(beside, "../usr/lib/modules", version),
	} {
		if _, err := os.Stat(filepath.Join(dir, depFile)); err == nil {
			k.Modules = dir
			break
		}
		if _, err := os.Stat(filepath.Join(dir, "kernel")); err == nil && filepath.Base(dir) == version {
			k.unlisted = dir
		}
	}
	return k, nil
}

// The header of a bzImage (Documentation/arch/x86/boot.rst). Payload's offset is from the end of the real-mode part,
// which has setup_sects + 1 sectors.
const (
	offSetupSects    = 0x1f1
	offMagic         = 0x202 // "HdrS"
	offBootVersion   = 0x206
	offKernelVersion = 0x20e
	offPayload       = 0x248
	offPayloadLength = 0x24c
	headerSize       = 0x250
)

// errForeign is returned for a file that is not a kernel for PCs.
var errForeign = errors.New("it is not a bzImage or vmlinux (ELF) for x86")

// versionOf reads a kernel's version from its file.
func versionOf(f *os.File) (string, error) {
	head := make([]byte, headerSize)
	if _, err := f.ReadAt(head, 0); err != nil {
		return "", errForeign
	}
	if string(head[offMagic:offMagic+4]) == "HdrS" {
		at := int64(binary.LittleEndian.Uint16(head[offKernelVersion:])) + 0x200
		text := make([]byte, 256)
		n, err := f.ReadAt(text, at)
		if err != nil && err != io.EOF {
			return "", err
		}
		version, _, _ := strings.Cut(string(text[:n]), " ")
		if !isVersion(version) {
			return "", errors.New("it contains no kernel version")
		}
		return version, nil
	}
	if !bytes.HasPrefix(head, []byte("\x7fELF")) {
		return "", errForeign
	}
	return versionInELF(f)
}

// banner is the beginning of the kernel's first message (init/version.c).
var banner = regexp.MustCompile(`Linux version ([0-9][^ \x00%]{2,64}) \(`)

// versionInELF finds the banner in an unpacked kernel.
func versionInELF(f *os.File) (string, error) {
	const chunk, overlap = 1 << 20, 256
	buf := make([]byte, chunk+overlap)
	for at := int64(0); ; at += chunk {
		n, err := f.ReadAt(buf, at)
		if m := banner.FindSubmatch(buf[:n]); m != nil {
			return string(m[1]), nil
		}
		if err != nil {
			return "", errors.New("it contains no kernel version")
		}
	}
}

func isVersion(s string) bool {
	return len(s) > 2 && s[0] >= '0' && s[0] <= '9' && !strings.ContainsAny(s, "/\x00")
}

// notThere reports whether a file is simply missing.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }
