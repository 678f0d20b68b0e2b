package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit/cgroup"
)

// processes reads the counters of the processes in a subject's groups.
func (s *Sampler) processes(r *Reading, births map[int]birth) (map[int]Process, error) {
	below := r.below
	if below == nil {
		g, err := placed(r.Subject.Groups)
		if err != nil {
			return nil, err
		}
		if below, err = s.groups.Below(r.Subject.Groups, g); err != nil {
			return nil, err
		}
	}
	out := map[int]Process{}
	for _, g := range below {
		b, err := s.read(filepath.Join(g.Dir, "cgroup.procs"))
		// In version 2 a threaded group shows its processes in the group above (EOPNOTSUPP).
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.EOPNOTSUPP) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, word := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(word)
			if err != nil || pid <= 0 {
				continue // 0 is a process outside this namespace.
			}
			p, err := s.process(pid, births)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("process %d: %w", pid, err)
			}
			out[pid] = p
		}
	}
	return out, nil
}

// placed is the group in which to look for a target's processes: that of the I/O controller, or of another one.
func placed(t *cgroup.Target) (*hierarchy.Group, error) {
	var first error
	for _, c := range []hierarchy.Controller{hierarchy.IO, hierarchy.CPU, hierarchy.Memory} {
		g, err := t.Group(c)
		if err == nil {
			return g, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// process reads one process. Its birth is read only once, unless its counters fell: then another process has its
// number.
func (s *Sampler) process(pid int, births map[int]birth) (Process, error) {
	dir := filepath.Join(s.fs.Proc, strconv.Itoa(pid))
	b, err := s.read(filepath.Join(dir, "io"))
	if err != nil {
		return Process{}, err
	}
	io, err := parseIO(string(b))
	if err != nil {
		return Process{}, err
	}
	was, known := s.births[pid]
	if !known || !io.covers(was.io) {
		b, err := s.read(filepath.Join(dir, "stat"))
		if err != nil {
			return Process{}, err
		}
		born, err := procfs.ParseStat(string(b))
		if err != nil {
			return Process{}, err
		}
		was.parent, was.start = born.Parent, born.Start
	}
	was.io = io
	births[pid] = was
	return Process{Start: was.start, Parent: was.parent, IO: io}, nil
}
