package guest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"plimsoll/internal/conf/controlfile"
	"plimsoll/internal/state/filelock"
)

// modulesDir is the folder of the modules in the first root file system.
const modulesDir = "/modules"

// WriteInitramfs writes the first root file system to a new file. init is the program /init, and modules are files that
// Resolve returned. ModulePath returns the path of each.
func WriteInitramfs(to string, init []byte, modules []string) error {
	err := filelock.Write(to, "initramfs-", func(f *os.File) error {
		buffered := bufio.NewWriterSize(f, 1<<20)
		return errors.Join(writeInitramfs(buffered, init, modules), buffered.Flush())
	})
	if err != nil {
		return fmt.Errorf("write the guest's first root file system: %w", err)
	}
	return nil
}

// IsInitramfs reports whether a file is a complete first root file system: a power cut may have truncated it.
func IsInitramfs(path string) bool {
	f, err := controlfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false
	}
	// After the name of the last entry there is only padding to a multiple of four.
	name := []byte(endName + "\x00")
	last := make([]byte, len(name)+3)
	_, err = f.ReadAt(last, max(st.Size()-int64(len(last)), 0))
	return err == nil && st.Size()%4 == 0 && bytes.Contains(last, name)
}

// ModulePath returns the path of a module's file in the first root file system.
func ModulePath(file string) string { return path.Join(modulesDir, moduleName(file)+".ko") }

// Kinds and modes of files (inode(7)).
const (
	modeDir     = 0o040755
	modeProgram = 0o100755
	modeFile    = 0o100644
	modeConsole = 0o020600
)

func writeInitramfs(w io.Writer, init []byte, modules []string) error {
	a := archive{w: w}
	for _, dir := range []string{"dev", "proc", "sys", "run", "tmp", "place", modulesDir[1:]} {
		a.add(dir, modeDir, nil)
	}
	// The kernel opens it for the first process, before anything is mounted: character device 5:1.
	a.device("dev/console", modeConsole, 5, 1)
	a.add("init", modeProgram, init)
	for _, m := range modules {
		b, err := readModule(m)
		if err != nil {
			return err
		}
		a.add(ModulePath(m)[1:], modeFile, b)
	}
	return a.end()
}

// An archive writes the format "newc" (Documentation/driver-api/early-userspace/buffer-format.rst). Times and owners are
// zero, so that the same content is the same file.
type archive struct {
	w   io.Writer
	n   int64
	ino int
	err error
}

// endName is the name of an archive's last entry.
const endName = "TRAILER!!!"

func (a *archive) add(name string, mode uint32, content []byte) { a.entry(name, mode, 0, 0, content) }

func (a *archive) device(name string, mode, major, minor uint32) {
	a.entry(name, mode, major, minor, nil)
}

func (a *archive) entry(name string, mode, major, minor uint32, content []byte) {
	a.ino++
	links := 1
	a.print("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.ino, mode, 0, 0, links, 0, len(content), 0, 0, major, minor, len(name)+1, 0, name)
	a.pad()
	a.write(content)
	a.pad()
}

func (a *archive) end() error {
	a.entry(endName, 0, 0, 0, nil)
	return a.err
}

func (a *archive) print(format string, args ...any) { a.write(fmt.Appendf(nil, format, args...)) }

// pad pads to the next multiple of four.
func (a *archive) pad() { a.write(make([]byte, -a.n&3)) }

func (a *archive) write(b []byte) {
	if a.err != nil {
		return
	}
	var n int
	n, a.err = a.w.Write(b)
	a.n += int64(n)
}
