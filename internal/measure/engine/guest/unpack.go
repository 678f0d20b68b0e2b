package guest

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"

	"plimsoll/internal/conf/controlfile"
	"plimsoll/internal/state/filelock"
)

// ErrPacked is returned by Unpack for a kernel that must be booted as it is: an emulated processor unpacks it itself,
// in some seconds.
var ErrPacked = errors.New("the kernel has to unpack itself")

// maxKernel is the maximum size of an unpacked kernel, in bytes; one with all its symbols has 80 MB.
const maxKernel = 512 << 20

// Unpack writes the kernel to a new file as an ELF file that a virtual machine can start at once (Xen's PVH entry,
// docs/misc/pvh.pandoc). It returns ErrPacked if the kernel is packed in an unknown way, or has no such entry.
func (k Kernel) Unpack(to string) error {
	image, err := controlfile.Read(k.Path, maxKernel)
	if err != nil {
		return fmt.Errorf("unpack the kernel: %w", err)
	}
	plain, err := unpacked(image)
	if err != nil {
		return err
	}
	if !hasPVH(bytes.NewReader(plain)) {
		return fmt.Errorf("%w: it has no PVH entry", ErrPacked)
	}
	err = filelock.Write(to, "kernel-", func(f *os.File) error {
		_, err := f.Write(plain)
		return err
	})
	if err != nil {
		return fmt.Errorf("unpack the kernel: %w", err)
	}
	return nil
}

// IsUnpacked reports whether a file is a complete kernel as Unpack writes it: a power cut may have truncated it.
func IsUnpacked(path string) bool {
	f, err := controlfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return false
	}
	for _, p := range e.Progs {
		if p.Off+p.Filesz > uint64(st.Size()) {
			return false
		}
	}
	return hasPVH(f)
}

// unpacked returns the ELF file in a bzImage, or the image itself if it is one.
func unpacked(image []byte) ([]byte, error) {
	if bytes.HasPrefix(image, []byte("\x7fELF")) {
		return image, nil
	}
	if len(image) < headerSize || string(image[offMagic:offMagic+4]) != "HdrS" {
		return nil, errForeign
	}
	if binary.LittleEndian.Uint16(image[offBootVersion:]) < 0x208 {
		return nil, fmt.Errorf("%w: its boot protocol is older than 2.08", ErrPacked)
	}
	sects := int(image[offSetupSects])
	if sects == 0 {
		sects = 4
	}
	from := (sects+1)*512 + int(binary.LittleEndian.Uint32(image[offPayload:]))
	to := from + int(binary.LittleEndian.Uint32(image[offPayloadLength:]))
	if from >= to || to > len(image) {
		return nil, errors.New("the kernel's file is damaged: its payload lies outside of it")
	}
	plain, err := decompress(image[from:to])
	// The packed data is followed by its size, which is not part of the compression format.
	if len(plain) == 0 || !bytes.HasPrefix(plain, []byte("\x7fELF")) {
		if err == nil {
			err = errors.New("what is packed in it is not an ELF file")
		}
		return nil, fmt.Errorf("%w: %w", ErrPacked, err)
	}
	return plain, nil
}

// formats are the ways to pack kernels and modules, by the first bytes of such data.
var formats = []struct {
	magic string
	open  func(io.Reader) (io.Reader, error)
}{
	{"\x1f\x8b\x08", func(r io.Reader) (io.Reader, error) {
		z, err := gzip.NewReader(r)
		if err == nil {
			z.Multistream(false)
		}
		return z, err
	}},
	{"\xfd7zXZ\x00", func(r io.Reader) (io.Reader, error) {
		z, err := xz.NewReader(r, 0)
		if err == nil {
			z.Multistream(false)
		}
		return z, err
	}},
	{"\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) {
		// A kernel's window may be as large as the kernel.
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxKernel))
	}},
	{"BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
}

// decompress returns the unpacked contents of b. Data that is returned with an error was unpacked before the error:
// zstd takes what follows its frame for another frame.
func decompress(b []byte) ([]byte, error) {
	for _, f := range formats {
		if !strings.HasPrefix(string(b[:min(len(b), 8)]), f.magic) {
			continue
		}
		r, err := f.open(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		if c, ok := r.(*zstd.Decoder); ok {
			defer c.Close()
		}
		var out bytes.Buffer
		_, err = io.Copy(&out, io.LimitReader(r, maxKernel))
		return out.Bytes(), err
	}
	return nil, fmt.Errorf("its compression is not gzip, xz, zstd or bzip2 (it begins with % x)", b[:min(len(b), 4)])
}

// notePVH is the type of Xen's note that holds the entry point (XEN_ELFNOTE_PHYS32_ENTRY).
const notePVH = 18

// hasPVH reports whether an ELF file has the entry point at which QEMU starts it.
func hasPVH(file io.ReaderAt) bool {
	f, err := elf.NewFile(file)
	if err != nil || f.Machine != elf.EM_X86_64 {
		return false
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		notes, err := io.ReadAll(io.LimitReader(p.Open(), 1<<20))
		if err != nil {
			return false
		}
		for len(notes) >= 12 {
			name, desc, kind := f.ByteOrder.Uint32(notes), f.ByteOrder.Uint32(notes[4:]), f.ByteOrder.Uint32(notes[8:])
			size := 12 + (uint64(name)+3)&^3 + (uint64(desc)+3)&^3
			if size > uint64(len(notes)) {
				break
			}
			if kind == notePVH && strings.HasPrefix(string(notes[12:]), "Xen\x00") {
				return true
			}
			notes = notes[size:]
		}
	}
	return false
}
