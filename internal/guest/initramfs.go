package guest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
)

// ModulesDir is the folder of the first root file system that modules are in.
const ModulesDir = "/modules"

// WriteInitramfs writes the first root file system to a new file: init is the program /init, and modules are
// files that Resolve named. ModulePath says where each is.
func WriteInitramfs(to string, init []byte, modules []string) error {
	tmp, err := os.CreateTemp(filepath.Dir(to), ".initramfs-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	buffered := bufio.NewWriterSize(tmp, 1<<20)
	err = writeInitramfs(buffered, init, modules)
	if err := errors.Join(err, buffered.Flush(), tmp.Close()); err != nil {
		return fmt.Errorf("write the guest's first root file system: %w", err)
	}
	return os.Rename(tmp.Name(), to)
}

// ModulePath is where the module of a file is in the first root file system.
func ModulePath(file string) string { return path.Join(ModulesDir, moduleName(file)+".ko") }

// Kinds and modes of files (inode(7)).
const (
	modeDir     = 0o040755
	modeProgram = 0o100755
	modeFile    = 0o100644
	modeConsole = 0o020600
)

func writeInitramfs(w io.Writer, init []byte, modules []string) error {
	a := archive{w: w}
	for _, dir := range []string{"dev", "proc", "sys", "run", "tmp", "place", ModulesDir[1:]} {
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
	a.entry("TRAILER!!!", 0, 0, 0, nil)
	return a.err
}

func (a *archive) print(format string, args ...any) { a.write(fmt.Appendf(nil, format, args...)) }

// pad fills up to the next multiple of four.
func (a *archive) pad() { a.write(make([]byte, -a.n&3)) }

func (a *archive) write(b []byte) {
	if a.err != nil {
		return
	}
	var n int
	n, a.err = a.w.Write(b)
	a.n += int64(n)
}
