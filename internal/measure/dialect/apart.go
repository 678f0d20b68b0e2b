package dialect

import (
	"os"
	"path/filepath"

	"plimsoll/internal/conf/userfile"
)

// A File is a file that a command line names, and the option that names it as it is written there: "--output=f".
type File struct{ Option, Name string }

// named is a File with the file's identity, nil if the file does not exist.
type named struct {
	File
	path string
	st   os.FileInfo
}

// Apart refuses a command line that would write an output over a file that it reads or measures, over another output,
// or over a block device. Character devices and pipes may be named more than once. Paths are those of this machine.
func Apart(outputs, inputs []File) error {
	in := look(inputs)
	var before []named
	for _, o := range look(outputs) {
		if o.st != nil && userfile.IsBlockDevice(o.st) {
			return Usagef(o.Option, "%s %v", o.Name, userfile.ErrBlockDevice)
		}
		for _, i := range in {
			if o.is(i) {
				return Usagef(o.Option, "would overwrite %s, which the command line uses as %s; name another file", i.Name, i.Option)
			}
		}
		for _, b := range before {
			if o.is(b) {
				return Usagef(o.Option, "names the same file as %s; name another file", b.Option)
			}
		}
		before = append(before, o)
	}
	return nil
}

// look stats each file once.
func look(files []File) (all []named) {
	for _, f := range files {
		n := named{File: f, path: f.Name}
		if abs, err := filepath.Abs(f.Name); err == nil {
			n.path = abs
		}
		// A path that can't be checked can't be written to either: opening it reports that.
		if st, err := os.Stat(n.path); err == nil {
			n.st = st
		}
		all = append(all, n)
	}
	return all
}

// is reports whether both are the same file, also through a link.
func (n *named) is(o named) bool {
	if n.st == nil || o.st == nil {
		return n.st == nil && o.st == nil && n.path == o.path
	}
	return n.st.Mode().IsRegular() && os.SameFile(n.st, o.st)
}
