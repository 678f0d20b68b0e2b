package device

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Mount is one line of mountinfo.
type Mount struct {
	// ID and Parent are the kernel's numbers of the mount and of the one it is on.
	ID     int `json:"id,omitempty"`
	Parent int `json:"parent,omitempty"`
	// Number is the file system's device number. Its major is 0 for
	// file systems that have no single block device.
	Number Number `json:"number"`
	// Root is the folder of the file system that Point shows.
	Root  string `json:"root,omitempty"`
	Point string `json:"point"`
	// FSType is the file system, Source the device or its substitute (such as "tmpfs").
	FSType string `json:"fstype"`
	Source string `json:"source,omitempty"`
	// Options are the mount's and the file system's own, comma separated.
	Options string `json:"options,omitempty"`
	// Upper is overlay's upperdir, Lower its lower folders, the highest first.
	Upper string   `json:"upper,omitempty"`
	Lower []string `json:"lower,omitempty"`
}

// Has reports whether the mount or its file system has the option, as it is written in mountinfo: "ro", "data=journal".
func (m *Mount) Has(option string) bool {
	return slices.Contains(strings.Split(m.Options, ","), option)
}

// Mounts returns the mounts that this process sees.
func (f FS) Mounts() ([]Mount, error) { return f.mounts() }

func (f FS) mounts() ([]Mount, error) { return f.MountsOf("self") }

// MountsOf returns the mounts that a process sees; a mount outside of its root is left out.
func (f FS) MountsOf(pid string) ([]Mount, error) {
	name := filepath.Join(f.Proc, pid, "mountinfo")
	r, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: mounts are found on Linux only", name, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("mounts: %w", err)
	}
	defer r.Close()
	return parseMounts(r)
}

// parseMounts reads the format of proc_pid_mountinfo(5):
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//
// The fields between the sixth and the dash are optional and of any number.
func parseMounts(r io.Reader) ([]Mount, error) {
	var mounts []Mount
	s := bufio.NewScanner(r)
	// The line of an overlay lists every lower folder, in options of up to a page each, so the scanner's 64 KiB may not be enough.
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if s.Text() == "" {
			continue
		}
		m, err := parseMount(s.Text())
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, m)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("mountinfo: %w", err)
	}
	return mounts, nil
}

func parseMount(line string) (Mount, error) {
	bad := func(what string) (Mount, error) {
		return Mount{}, fmt.Errorf("mountinfo: %s in line %q", what, line)
	}
	before, after, ok := strings.Cut(line, " - ")
	if !ok {
		return bad("no separator")
	}
	head, tail := strings.Fields(before), strings.Split(after, " ")
	if len(head) < 6 || len(tail) < 3 {
		return bad("too few fields")
	}
	var m Mount
	var err error
	if m.ID, err = strconv.Atoi(head[0]); err != nil {
		return bad("bad mount id")
	}
	if m.Parent, err = strconv.Atoi(head[1]); err != nil {
		return bad("bad parent id")
	}
	n, err := ParseNumber(head[2])
	if err != nil {
		return bad("bad device number")
	}
	m.Number = n
	m.Root, m.Point = unescape(head[3]), unescape(head[4])
	m.FSType, m.Source = unescape(tail[0]), unescape(tail[1])
	super := tail[len(tail)-1]
	m.Options = head[5] + "," + super
	if m.FSType == "overlay" {
		m.Upper = option(super, "upperdir")
		m.Lower = lowers(super)
	}
	return m, nil
}

// lowers returns overlay's lower folders. One option has them joined by colons; since Linux 6.8 each may have an option of its own.
// Those after a double colon hold data only. A backslash stands before a colon in a name.
func lowers(options string) []string {
	var list []string
	for o := range strings.SplitSeq(options, ",") {
		if v, ok := strings.CutPrefix(o, "lowerdir+="); ok {
			list = append(list, unescape(v))
		}
	}
	name := ""
	all := option(options, "lowerdir")
	for i := 0; i <= len(all); i++ {
		switch {
		case i == len(all) || all[i] == ':':
			if name != "" {
				list = append(list, name)
			}
			name = ""
		case all[i] == '\\' && i+1 < len(all):
			i++
			name += all[i : i+1]
		default:
			name += all[i : i+1]
		}
	}
	return list
}

// option returns the value of an option. The kernel escapes a comma inside a value as \054, so the list is split first and unescaped
// after.
func option(options, key string) string {
	for o := range strings.SplitSeq(options, ",") {
		if v, ok := strings.CutPrefix(o, key+"="); ok {
			return unescape(v)
		}
	}
	return ""
}

// unescape undoes the kernel's octal escapes (seq_path: space, tab, newline and
// backslash as \040, \011, \012 and \134).
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// find returns the mount that holds p, an absolute path without symbolic links.
// It walks down the tree of mounts as the kernel does, because the longest
// matching mount point may be hidden under a mount that came later.
func find(mounts []Mount, p string) *Mount {
	p = path.Clean(filepath.ToSlash(p))
	cur := rootOf(mounts)
	if cur == nil {
		return nil
	}
	// Each step goes to a mount of its own, so there can't be more steps than mounts. The bound guards against a mountinfo with a
	// loop in it.
	for range mounts {
		next := childOn(mounts, cur, p)
		if next == nil {
			break
		}
		cur = next
	}
	return cur
}

// rootOf returns the mount at / whose parent is outside the list, or else the
// first at /.
func rootOf(mounts []Mount) *Mount {
	ids := make(map[int]bool, len(mounts))
	for _, m := range mounts {
		ids[m.ID] = true
	}
	var first *Mount
	for i := range mounts {
		m := &mounts[i]
		if m.Point != "/" {
			continue
		}
		if !ids[m.Parent] || m.Parent == m.ID {
			return m
		}
		if first == nil {
			first = m
		}
	}
	return first
}

// childOn returns the first mount on cur on the way to p: the one with the shortest mount point, and the last of those.
func childOn(mounts []Mount, cur *Mount, p string) *Mount {
	var best *Mount
	for i := range mounts {
		m := &mounts[i]
		if m.Parent != cur.ID || m.ID == cur.ID || !within(p, m.Point) {
			continue
		}
		if best == nil || len(m.Point) <= len(best.Point) {
			best = m
		}
	}
	return best
}

// within reports whether p is dir or below it.
func within(p, dir string) bool {
	if dir == "/" || p == dir {
		return true
	}
	return strings.HasPrefix(p, dir+"/")
}
