package limits

import (
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/cgroup"
)

// rateFiles are the files of a group that contain rates, by version.
var rateFiles = map[int][]string{
	1: {"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device", "blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"},
	2: {"io.max"},
}

// fixture creates groups of plain files. A plain file keeps what was written last, which a control file also shows as
// long as all four rates are written together.
func fixture(version, groups int) (_ *place, remove func() error, err error) {
	root, err := os.MkdirTemp(memory(), "plimsoll-bench-limit-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() error { return os.RemoveAll(root) }
	defer func() {
		if err != nil {
			_ = remove()
		}
	}()
	cg := filepath.Join(root, "cg")
	mount := fmt.Sprintf("1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / %s rw - cgroup cgroup rw,blkio\n", cg)
	if version == 2 {
		mount = fmt.Sprintf("1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / %s rw - cgroup2 cgroup2 rw\n", cg)
	}
	dev := device.Number{Major: 254}
	put := func(name, text string) {
		name = filepath.Join(root, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err == nil {
			err = os.WriteFile(name, []byte(text), 0o644)
		}
	}
	put("proc/self/mountinfo", mount)
	put("cg/cgroup.controllers", "io\n")
	put("sys/dev/block/254:0/dev", "254:0\n")
	for i := range groups {
		for _, f := range rateFiles[version] {
			put(fmt.Sprintf("cg/bench/%d/%s", i, f), "")
		}
	}
	if err != nil {
		return nil, nil, err
	}
	host, err := cgroup.Open(device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")})
	if err != nil {
		return nil, nil, err
	}
	p := &place{name: fmt.Sprintf("plain files, version %d", version), host: host, device: dev}
	return p, remove, p.find("/bench", groups)
}

// memory returns a folder whose files are in memory, as control files are, or "" for the default one. The file system
// of a disk waits for the disk when a file is truncated and rewritten (ext4's auto_da_alloc).
func memory() string {
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		return shm
	}
	return ""
}

// find finds the targets, which are numbered groups below parent.
func (p *place) find(parent string, groups int) error {
	for i := range groups {
		path := fmt.Sprintf("%s/%d", parent, i)
		t, err := p.host.At(path)
		if err != nil {
			return err
		}
		p.paths = append(p.paths, path)
		p.targets = append(p.targets, t)
	}
	return nil
}
