package hierarchy

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/treetest"
)

// tree makes a procfs and cgroup folders in a temporary one, and reads it. ROOT in a file's content is replaced by that folder; a
// name that ends in a slash is a folder.
func tree(t *testing.T, files map[string]string) (*Tree, string) {
	t.Helper()
	named := map[string]string{}
	for name, content := range files {
		if strings.HasSuffix(name, "/") {
			name += "cgroup.procs"
		}
		named[name] = content
	}
	root := treetest.Make(t, named)
	tr, err := Read(device.FS{Proc: filepath.Join(root, "proc")})
	if err != nil {
		t.Fatal(err)
	}
	return tr, root
}

// hybrid has blkio and cpu in version 1, memory in version 2, and no pids at all.
func hybrid() map[string]string {
	return map[string]string{
		"proc/self/mountinfo":                     treetest.HybridMounts,
		"proc/10/cgroup":                          "3:blkio:/box/c1\n2:cpu,cpuacct:/cpu/c1\n0::/slice/c1\n",
		"proc/11/cgroup":                          "3:blkio:/\n2:cpu,cpuacct:/\n0::/\n",
		"proc/12/cgroup":                          "3:blkio:/../other\n0::/../../other\n",
		"proc/13/cgroup":                          "3:blkio:/box/c9 (deleted)\n0::/x (deleted)\n",
		"proc/14/cgroup":                          "garbage\n3:blkio\n::\n",
		"cg/unified/cgroup.controllers":           "memory pids\n",
		"cg/blkio/box/c1/":                        "",
		"cg/cpu/cpu/c1/":                          "",
		"cg/unified/slice/c1/":                    "",
		"cg/unified/slice/cgroup.subtree_control": "memory\n",
	}
}

func TestOf(t *testing.T) {
	tr, root := tree(t, hybrid())
	for _, tt := range []struct {
		pid     string
		c       Controller
		dir     string // below root
		path    string
		version int
		err     error
	}{
		{"12", IO, "", "", 0, ErrOutside},
		{"12", Memory, "", "", 0, ErrOutside},
		{"13", IO, "", "", 0, fs.ErrNotExist},
		{"13", Memory, "", "", 0, fs.ErrNotExist},
		{"14", IO, "", "", 0, ErrNone},
		{"99", IO, "", "", 0, fs.ErrNotExist},
		{"10", Controller{"rdma", "rdma"}, "", "", 0, ErrNone},
		{"10", IO, "cg/blkio/box/c1", "/box/c1", 1, nil},
		{"10", CPU, "cg/cpu/cpu/c1", "/cpu/c1", 1, nil},
		{"10", Memory, "cg/unified/slice/c1", "/slice/c1", 2, nil},
		{"11", IO, "cg/blkio", "/", 1, nil},
	} {
		g, err := tr.Of(tt.pid, tt.c)
		if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Errorf("Of(%s, %v): %v, want %v", tt.pid, tt.c, err, tt.err)
			continue
		}
		if err != nil {
			continue
		}
		if g.Dir != filepath.Join(root, tt.dir) || g.Path != tt.path || g.Version != tt.version {
			t.Errorf("Of(%s, %v) = %+v, want %s, %s, version %d", tt.pid, tt.c, g, tt.dir, tt.path, tt.version)
		}
		if g.IsRoot() != (tt.path == "/") || g.Top() != g.IsRoot() {
			t.Errorf("%s: IsRoot %v, Top %v", g.Path, g.IsRoot(), g.Top())
		}
	}
}

// TestOfPart: a container without a cgroup namespace sees a part of the tree.
func TestOfPart(t *testing.T) {
	tr, root := tree(t, map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/a rw\n4 1 0:32 /box ROOT/cg rw - cgroup2 cgroup2 rw\n",
		"proc/10/cgroup":      "0::/box/c1/init\n", "proc/11/cgroup": "0::/boxer\n",
		"cg/cgroup.controllers": "cpu io memory\n",
	})
	g, err := tr.Of("10", IO)
	if err != nil {
		t.Fatal(err)
	}
	if dir := filepath.Join(root, "cg/c1/init"); g.Dir != dir || g.Path != "/box/c1/init" {
		t.Fatalf("Of(10) is %s at %s, want /box/c1/init at %s", g.Path, g.Dir, dir)
	}
	if g.IsRoot() {
		t.Fatalf("Of(10) = %+v, the root group", g)
	}
	var up []string
	for ; g != nil; g = g.Parent() {
		up = append(up, g.Path)
	}
	if got := strings.Join(up, " "); got != "/box/c1/init /box/c1 /box" {
		t.Errorf("parents: %s", got)
	}
	if _, err := tr.Of("11", IO); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "of /boxer is not mounted here") {
		t.Errorf("Of(11): %v", err)
	}
	r, err := tr.Root(IO)
	if err != nil {
		t.Fatal(err)
	}
	if dir := filepath.Join(root, "cg"); r.Path != "/box" || r.Dir != dir {
		t.Errorf("Root is %s at %s, want /box at %s", r.Path, r.Dir, dir)
	}
	if p := r.Parent(); p != nil {
		t.Errorf("Root has the parent %+v", p)
	}
}

func TestAt(t *testing.T) {
	tr, root := tree(t, hybrid())
	for _, tt := range []struct {
		path string
		c    Controller
		dir  string
		err  error
	}{
		{"/nowhere", IO, "", fs.ErrNotExist},
		{"/slice/c1", IO, "", fs.ErrNotExist},
		{"/box/c1", Controller{"rdma", "rdma"}, "", ErrNone},
		{"/box/c1", IO, "cg/blkio/box/c1", nil},
		{"box/c1/", IO, "cg/blkio/box/c1", nil},
		{"/box/../box/c1", IO, "cg/blkio/box/c1", nil},
		{"/../../../box/c1", IO, "cg/blkio/box/c1", nil},
		{root + "/cg/blkio/box/c1", IO, "cg/blkio/box/c1", nil},
		{root + "/cg/unified/slice/c1", Memory, "cg/unified/slice/c1", nil},
		{root + "/cg/blkio", IO, "cg/blkio", nil},
	} {
		g, err := tr.At(tt.path, tt.c)
		if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Errorf("At(%s): %v, want %v", tt.path, err, tt.err)
		}
		if err == nil && g.Dir != filepath.Join(root, tt.dir) {
			t.Errorf("At(%s) = %s, want %s", tt.path, g.Dir, tt.dir)
		}
	}
}

func TestRootAndForChildren(t *testing.T) {
	tr, root := tree(t, hybrid())
	for c, want := range map[Controller]string{IO: "cg/blkio", CPU: "cg/cpu", Memory: "cg/unified"} {
		g, err := tr.Root(c)
		if err != nil || g.Dir != filepath.Join(root, want) || !g.IsRoot() {
			t.Errorf("Root(%v) = %+v, %v", c, g, err)
		}
		// Version 1 always passes controllers on; the root of version 2 has no such file here.
		if err == nil && g.ForChildren() != (g.Version == 1) {
			t.Errorf("%s: ForChildren() = %v", g.Dir, g.ForChildren())
		}
	}
	g, err := tr.At("/slice", Memory)
	if err != nil || !g.ForChildren() {
		t.Errorf("At(/slice) = %+v, %v: not passed on", g, err)
	}
	if _, err := (&Tree{}).Root(IO); !errors.Is(err, ErrNone) {
		t.Errorf("Root of nothing: %v", err)
	}
}
