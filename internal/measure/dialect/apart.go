package dialect

import (
	"os"
	"path/filepath"

	"plimsoll/internal/conf/userfile"
)

// A File is one that a line names, by an option as the line has it: "--output=f".
type File struct{ Option, Name string }

// named is a File with what is there, nil if nothing is.
type named struct {
	File
	path string
	st   os.FileInfo
}

// Apart refuses a line that would write an output over a file that it reads or measures, over another output, or over any block device.
// Other devices and pipes may be named more than once. Names are those of this machine.
func Apart(outputs, inputs []File) error {
	in := look(inputs)
	var before []named
	for _, o := range look(outputs) {
		if o.st != nil && userfile.IsBlockDevice(o.st) {
			return Usagef(o.Option, "%s %v", o.Name, userfile.ErrBlockDevice)
		}
		for _, i := range in {
			if o.is(i) {
				return Usagef(o.Option, "would be written over %s, which the line uses as %s; name another file", i.Name, i.Option)
			}
		}
		for _, b := range before {
			if o.is(b) {
				return Usagef(o.Option, "would be written over that of %s; name another file", b.Option)
			}
		}
		before = append(before, o)
	}
	return nil
}

// look looks at each file once.
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

// is reports whether both are one file, also by a link.
func (n *named) is(o named) bool {
	if n.st == nil || o.st == nil {
		return n.st == nil && o.st == nil && n.path == o.path
	}
	return n.st.Mode().IsRegular() && os.SameFile(n.st, o.st)
}
