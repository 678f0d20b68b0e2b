package cgroup

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
)

// A fake is control groups in a temporary folder that answer as the kernel does: what is refused, with
// which error, and what is read after a write. TestFake compares it with a real kernel.
type fake struct {
	t    *testing.T
	root string
	host *Host
	// writes are those that were taken: "file text".
	writes []string
	// before, if set, is asked before each write and may refuse it.
	before func(file, text string) error
	// iocost are the devices that it was set up for.
	iocost map[string]bool
	// hidden is a device that the kernel knows and sysfs doesn't show.
	hidden device.Number
}

// Devices of every fake: a disk without a scheduler, a partition of it, one that bfq schedules, one that
// stands on that, and one that is not there.
var (
	vda   = device.Number{Major: 254, Minor: 0}
	vda1  = device.Number{Major: 254, Minor: 1}
	sdb   = device.Number{Major: 8, Minor: 16}
	dm0   = device.Number{Major: 253, Minor: 0}
	nodev = device.Number{Major: 9, Minor: 9}
)

var fakeSys = map[string]string{
	"sys/dev/block/254:0": "-> sys/devices/vda", "sys/dev/block/254:1": "-> sys/devices/vda/vda1",
	"sys/dev/block/8:16": "-> sys/devices/sdb", "sys/dev/block/253:0": "-> sys/devices/dm-0",
	"sys/block/vda": "-> sys/devices/vda", "sys/block/sdb": "-> sys/devices/sdb", "sys/block/dm-0": "-> sys/devices/dm-0",
	"sys/devices/vda/dev": "254:0\n", "sys/devices/vda/queue/scheduler": "[none] mq-deadline kyber bfq \n",
	"sys/devices/vda/vda1/dev": "254:1\n", "sys/devices/vda/vda1/partition": "1\n",
	"sys/devices/sdb/dev": "8:16\n", "sys/devices/sdb/queue/scheduler": "none [bfq] \n",
	"sys/devices/dm-0/dev": "253:0\n", "sys/devices/dm-0/slaves/sdb": "-> sys/devices/sdb",
}

// newFake makes groups of version 1 or 2, or of both: version 3 has blkio in 1 and the rest in 2.
func newFake(t *testing.T, version int, groups ...string) *fake {
	t.Helper()
	f := &fake{t: t, root: t.TempDir(), iocost: map[string]bool{}}
	for name, content := range fakeSys {
		f.put(name, content)
	}
	info := "1 0 8:1 / / rw - ext4 /dev/a rw\n"
	mount := func(name, kind, options string) {
		info += fmt.Sprintf("%d 1 0:%d / %s rw - %s cgroup %s\n", len(info), len(info), filepath.Join(f.root, name), kind, options)
	}
	if version != 2 {
		mount("cg/blkio", "cgroup", "rw,blkio")
	}
	switch version {
	case 1:
		mount("cg/cpu", "cgroup", "rw,cpu,cpuacct")
		mount("cg/memory", "cgroup", "rw,memory")
	case 2:
		mount("cg", "cgroup2", "rw")
		f.put("cg/cgroup.controllers", "cpu io memory\n")
	case 3:
		mount("cg/unified", "cgroup2", "rw")
		f.put("cg/unified/cgroup.controllers", "cpu memory\n")
	}
	f.put("proc/self/mountinfo", info)
	host, err := Open(device.FS{Proc: filepath.Join(f.root, "proc"), Sys: filepath.Join(f.root, "sys")})
	if err != nil {
		t.Fatal(err)
	}
	host.io, f.host = f, host
	f.group("/")
	for _, g := range groups {
		f.group(g)
	}
	return f
}

// put makes a file, or a link for content that begins with "-> ".
func (f *fake) put(name, content string) {
	f.t.Helper()
	full := filepath.Join(f.root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		f.t.Fatal(err)
	}
	var err error
	if target, ok := strings.CutPrefix(content, "-> "); ok {
		err = os.Symlink(filepath.Join(f.root, target), full)
	} else {
		err = os.WriteFile(full, []byte(content), 0o644)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// limitFiles are what a new group has.
var limitFiles = map[string]map[string]string{
	"blkio1": {
		"blkio.throttle.read_bps_device": "", "blkio.throttle.write_bps_device": "", "blkio.throttle.read_iops_device": "", "blkio.throttle.write_iops_device": "",
		"blkio.bfq.weight": "100\n", "blkio.bfq.weight_device": "default 100\n",
	},
	"cpu1":    {"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n", "cpu.shares": "1024\n"},
	"memory1": {"memory.limit_in_bytes": "9223372036854771712\n", "memory.memsw.limit_in_bytes": "9223372036854771712\n"},
	"io2":     {"io.max": "", "io.weight": "default 100\n", "io.bfq.weight": "default 100\n", "io.latency": ""},
	"cpu2":    {"cpu.max": "max 100000\n", "cpu.weight": "100\n"},
	"memory2": {"memory.max": "max\n", "memory.swap.max": "max\n", "memory.current": "0\n", "memory.stat": "anon 0\nactive_file 0\ninactive_file 0\n"},
}

// group makes a group and its parents in every hierarchy.
func (f *fake) group(path string) {
	f.t.Helper()
	if path != "/" {
		if parent := filepath.Dir(path); f.dirs(parent) == nil || !f.has(f.dirs(parent)[0], "cgroup.procs") {
			f.group(parent)
		}
	}
	for _, c := range controllers {
		root, err := f.host.tree.Root(c)
		if err != nil {
			f.t.Fatal(err)
		}
		name, _ := filepath.Rel(f.root, filepath.Join(root.Dir, path))
		f.put(name+"/cgroup.procs", "")
		if root.Version == 2 {
			b, _ := os.ReadFile(filepath.Join(root.Dir, "cgroup.controllers"))
			f.put(name+"/cgroup.controllers", string(b))
			f.put(name+"/cgroup.subtree_control", string(b))
			if path == "/" {
				if c == hierarchy.IO {
					f.put(name+"/io.cost.qos", "")
					f.put(name+"/io.cost.model", "")
				}
				continue
			}
			f.put(name+"/cgroup.type", "domain\n")
		}
		for file, content := range limitFiles[root.Name()+strconv.Itoa(root.Version)] {
			if path == "/" && strings.Contains(file, "weight") {
				continue
			}
			f.put(name+"/"+file, content)
		}
	}
}

// dirs are the folders of a group.
func (f *fake) dirs(path string) []string {
	var out []string
	for _, c := range controllers {
		if root, err := f.host.tree.Root(c); err == nil && !slices.Contains(out, filepath.Join(root.Dir, path)) {
			out = append(out, filepath.Join(root.Dir, path))
		}
	}
	return out
}

func (f *fake) has(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, file))
	return err == nil
}

// remove removes a group with all below it.
func (f *fake) remove(path string) {
	f.t.Helper()
	for _, d := range f.dirs(path) {
		if err := os.RemoveAll(d); err != nil {
			f.t.Fatal(err)
		}
	}
}

// target finds a group.
func (f *fake) target(path string) *Target {
	f.t.Helper()
	t, err := f.host.At(path)
	if err != nil {
		f.t.Fatal(err)
	}
	return t
}

// everything is the content of all control files and schedulers, by name.
func (f *fake) everything() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(f.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(f.root, path)
		// The order of lines is nothing.
		lines := strings.Split(string(b), "\n")
		slices.Sort(lines)
		out[filepath.ToSlash(name)] = strings.Join(lines, "\n")
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

func (f *fake) read(path string, _ []byte) ([]byte, error) { return os.ReadFile(path) }

func (f *fake) groups(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, err
}

func (f *fake) write(path, text string) error {
	name := filepath.Base(path)
	fail := func(err error) error { return &fs.PathError{Op: "write", Path: path, Err: err} }
	if f.before != nil {
		if err := f.before(path, text); err != nil {
			return fail(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return fail(syscall.ENOENT)
	}
	now, err := f.answer(filepath.Dir(path), name, string(b), text)
	if err != nil {
		return fail(err)
	}
	if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
		return err
	}
	rel, _ := filepath.Rel(f.root, path)
	f.writes = append(f.writes, filepath.ToSlash(rel)+" "+text)
	return nil
}
