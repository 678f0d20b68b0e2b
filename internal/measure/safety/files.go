package safety

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/step"
	"plimsoll/load"
)

// file makes a folder with one file in it, for a question.
func (c *checker) file() (string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", err
	}
	path := dir + "/file"
	return path, c.must(c.main, step.Call{Op: step.Write, Path: path, Data: []byte("data")})
}

// change takes a step on a new file, and returns how the file is afterwards. refused is the answer of a step that failed.
func (c *checker) change(call step.Call) (st *step.Status, refused string, err error) {
	if call.Path, err = c.file(); err != nil {
		return nil, "", err
	}
	if call.To == "other" {
		call.To = call.Path + "2"
	}
	a, err := c.do(c.main, call)
	if err != nil {
		return nil, "", err
	}
	if !a.OK() {
		return nil, "it is refused: " + reason(a), nil
	}
	a, err = c.do(c.main, step.Call{Op: step.Stat, Path: call.Path})
	if err == nil && !a.OK() {
		return nil, a.Error, nil
	}
	return a.Stat, "", err
}

func (c *checker) chown() (Answer, string, error) {
	st, refused, err := c.change(step.Call{Op: step.Chown, UID: 1234, GID: 5678})
	switch {
	case err != nil:
		return "", "", err
	case refused != "":
		return No, refused, nil
	case st.UID != 1234 || st.GID != 5678:
		return No, fmt.Sprintf("it is ignored: the owner is %d:%d afterwards, not 1234:5678", st.UID, st.GID), nil
	}
	return Yes, "", nil
}

func (c *checker) chmod() (Answer, string, error) {
	for _, mode := range []uint32{0o640, 0o700, 0o4755} {
		st, refused, err := c.change(step.Call{Op: step.Chmod, Mode: mode})
		switch {
		case err != nil:
			return "", "", err
		case refused != "":
			return No, refused, nil
		case st.Mode&0o7777 != mode:
			return No, fmt.Sprintf("a file's mode is %#o afterwards, not %#o", st.Mode&0o7777, mode), nil
		}
	}
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	if err := c.must(c.main, step.Call{Op: step.Chmod, Path: dir, Mode: 0o1777}); err != nil {
		return "", "", err
	}
	a, err := c.do(c.main, step.Call{Op: step.Stat, Path: dir})
	if err != nil {
		return "", "", err
	}
	if !a.OK() || a.Stat.Mode&0o7777 != 0o1777 {
		return No, "a folder's sticky bit is lost", nil
	}
	return Yes, "", nil
}

// attribute sets an attribute and reads it back.
func (c *checker) attribute(name string, value []byte) (Answer, string, error) {
	path, err := c.file()
	if err != nil {
		return "", "", err
	}
	for _, call := range []step.Call{{Op: step.SetXattr, Path: path, To: name, Data: value}, {Op: step.Xattr, Path: path, To: name}} {
		a, err := c.do(c.main, call)
		if err != nil {
			return "", "", err
		}
		if !a.OK() {
			return No, "it is refused: " + reason(a), nil
		}
		if call.Op == step.Xattr && len(a.Data) != len(value) {
			return No, "it is accepted, but gone afterwards", nil
		}
	}
	return Yes, "", nil
}

func (c *checker) xattr() (Answer, string, error) {
	return c.attribute("user.plimsoll", []byte("kept"))
}

// acl sets an access ACL that has an entry for one user: u::rw-, u:1234:r--, g::r--, m::r--, o::---. The form is that of
// linux/posix_acl_xattr.h: version 2, then tag, permissions and id of each.
func (c *checker) acl() (Answer, string, error) {
	const anyone = 0xffffffff
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][3]uint32{{1, 6, anyone}, {2, 4, 1234}, {4, 4, anyone}, {0x10, 4, anyone}, {0x20, 0, anyone}} {
		b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
		b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
		b = binary.LittleEndian.AppendUint32(b, e[2])
	}
	return c.attribute("system.posix_acl_access", b)
}

func (c *checker) hardLink() (Answer, string, error) {
	st, refused, err := c.change(step.Call{Op: step.Link, To: "other"})
	switch {
	case err != nil:
		return "", "", err
	case refused != "":
		return No, refused, nil
	case st.Links != 2:
		return No, fmt.Sprintf("the file has %d links afterwards, not 2", st.Links), nil
	}
	return Yes, "", nil
}

func (c *checker) symlink() (Answer, string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	if err := c.must(c.main, step.Call{Op: step.Write, Path: dir + "/file", Data: []byte("data")}); err != nil {
		return "", "", err
	}
	for _, call := range []step.Call{{Op: step.Symlink, Path: dir + "/link", To: "file"}, {Op: step.Read, Path: dir + "/link", Length: 4}} {
		a, err := c.do(c.main, call)
		if err != nil {
			return "", "", err
		}
		if !a.OK() {
			return No, "it is refused: " + reason(a), nil
		}
	}
	return Yes, "", nil
}

func (c *checker) sparse() (Answer, string, error) {
	path, err := c.file()
	if err != nil {
		return "", "", err
	}
	const size = 64 << 20
	if err := c.must(c.main, step.Call{Op: step.Open, Path: path, File: 1, How: "create"}, step.Call{Op: step.Write, File: 1, Offset: size - 1, Data: []byte{1}}, step.Call{Op: step.Close, File: 1}); err != nil {
		return "", "", err
	}
	a, err := c.do(c.main, step.Call{Op: step.Stat, Path: path})
	if err != nil {
		return "", "", err
	}
	if err := c.must(c.main, step.Call{Op: step.Remove, Path: path}); err != nil {
		return "", "", err
	}
	if a.Stat.Allocated > size/2 {
		return No, "a hole of 64 MiB takes space", nil
	}
	return Yes, "", nil
}

func (c *checker) reflink() (Answer, string, error) {
	_, refused, err := c.change(step.Call{Op: step.Clone, To: "other"})
	if err == nil && refused != "" {
		return No, refused, nil
	}
	return Yes, "", err
}

func (c *checker) fallocate() (Answer, string, error) {
	st, refused, err := c.change(step.Call{Op: step.Fallocate, Length: 1 << 20})
	switch {
	case err != nil:
		return "", "", err
	case refused != "":
		return No, refused, nil
	case st.Size != 1<<20:
		return No, "it is accepted, but the file is no larger", nil
	}
	return Yes, "", nil
}

// named makes a file with one name, and reports whether it is found under another and listed as it was made.
func (c *checker) named(name, other string) (found, listed bool, refused string, err error) {
	dir, err := c.folder()
	if err != nil {
		return false, false, "", err
	}
	a, err := c.do(c.main, step.Call{Op: step.Write, Path: dir + "/" + name, Data: []byte("x")})
	if err != nil {
		return false, false, "", err
	}
	if !a.OK() {
		return false, false, reason(a), nil
	}
	if a, err = c.do(c.main, step.Call{Op: step.Stat, Path: dir + "/" + other}); err != nil {
		return false, false, "", err
	}
	found = a.OK()
	if a, err = c.do(c.main, step.Call{Op: step.Names, Path: dir}); err != nil {
		return false, false, "", err
	}
	return found, slices.Contains(a.Names, name), "", nil
}

func (c *checker) letterCase() (Answer, string, error) {
	found, _, refused, err := c.named("Makefile", "MAKEFILE")
	if refused != "" || found {
		return No, strings.TrimSpace("Makefile and MAKEFILE are the same file " + refused), err
	}
	return Yes, "", err
}

// unicode makes a file whose name has an é of one character, and looks for that of two.
func (c *checker) unicode() (Answer, string, error) {
	found, listed, refused, err := c.named("caf\u00e9", "cafe\u0301")
	switch {
	case err != nil:
		return "", "", err
	case refused != "":
		return No, "the name is refused: " + refused, nil
	case found:
		return No, "é in one character and in two are the same name", nil
	case !listed:
		return No, "a name is listed in another form than it was made in", nil
	}
	return Yes, "", nil
}

func (c *checker) longNames() (Answer, string, error) {
	name := strings.Repeat("n", 255)
	found, listed, refused, err := c.named(name, name)
	switch {
	case err != nil:
		return "", "", err
	case refused != "":
		return No, refused, nil
	case !found || !listed:
		return No, "the name is cut", nil
	}
	return Yes, "", nil
}

// ticks asks how fine modification times are. git and make compare them.
func (c *checker) ticks() (Answer, string, error) {
	path, err := c.file()
	if err != nil {
		return "", "", err
	}
	a, err := c.do(c.main, step.Call{Op: step.Ticks, Path: path, Wait: 60 * time.Millisecond})
	if err != nil {
		return "", "", err
	}
	switch tick := time.Duration(a.N); {
	case !a.OK():
		return No, a.Error, nil
	case tick == 0:
		return No, "no difference within 60 ms: they are coarse, or set later", nil
	case tick > 10*time.Millisecond:
		return No, "the smallest difference is " + short(tick), nil
	default:
		return Yes, "the smallest difference is " + short(tick), nil
	}
}

// opens opens files in parallel.
func (c *checker) opens() (Answer, string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	const files, count = 100, 10_000
	if err := c.must(c.main, step.Call{Op: step.Act, Path: dir, How: "create", Count: files}); err != nil {
		return "", "", err
	}
	a, err := c.do(c.main, step.Call{Op: step.Opens, Path: dir, Count: count, Length: files, Wait: 2 * time.Second})
	if err != nil {
		return "", "", err
	}
	if len(a.Errors) > 0 {
		return No, fmt.Sprintf("errors of %d opens: %v", a.N, a.Errors), nil
	}
	if a.N < count {
		return Yes, fmt.Sprintf("%d in 2 s", a.N), nil
	}
	return Yes, "", nil
}

// uring asks whether programs there may use io_uring, by doing I/O.
func (c *checker) uring() (Answer, string, error) {
	probes, err := c.main.agent.Probe(c.ctx)
	if err != nil {
		return "", "", err
	}
	for _, p := range probes {
		if p.Engine == load.IOUring && !p.OK {
			return No, p.Reason, nil
		}
	}
	return Yes, "", nil
}
