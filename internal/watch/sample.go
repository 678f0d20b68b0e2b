package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// A Sample is the kernel's counters at one time.
type Sample struct {
	// At is the time; differences are of the monotonic clock.
	At time.Time
	// Ticks is that time in clock ticks since boot.
	Ticks uint64
	Disks []Disk
	// Subjects are by Ref, Volumes in the given order.
	Subjects map[string]*Reading
	Volumes  []Volume
	// RootGroup is version 1's root group, nil where there is none: processes in no other group, and the kernel's
	// writeback of the page cache.
	RootGroup *Reading
	// Counted are the devices on which the kernel counts by group; CountsAll is set where it counts on every device.
	Counted   []device.Number
	CountsAll bool
	// All is what version 1 has charged on each device, over all groups, and Ahead how much of it was not done yet:
	// see Pending. Both are nil with version 2, which charges I/O when it passes.
	All, Ahead map[device.Number]cgroupio.Counters
}

// A Reading is the counters of one subject.
type Reading struct {
	Subject *Subject
	// At is when its groups were read.
	At time.Time
	// Groups are the counters by the group's path and the device.
	Groups map[string]map[device.Number]cgroupio.Counters
	// Waiting is the charged I/O that is not done yet, by group and device.
	Waiting map[string]map[device.Number]Pending
	// Processes are the group's; AppErr is why they can't be read.
	Processes map[int]Process
	AppErr    error
	// Limits are the groups' limits in the kernel.
	Limits []cgroup.State
	// Above are the limits of groups above (cgroup.Host.Above), and Beyond the counters of those with a rate, by path
	// and device, for all of their groups together.
	Above  []cgroup.State
	Beyond map[string]map[device.Number]cgroupio.Counters
	// read counts the samples since the limits were read.
	read int
	// CPU is how long the CPU controller stopped it; nil without that controller.
	CPU *cgroupio.Throttled
	// Pressure is how long its processes waited for I/O; nil where the kernel doesn't show it.
	Pressure *Pressure
	// Async are the threads that wait for asynchronous I/O.
	Async map[int]Thread
	// Delays is how long each thread has waited for its own I/O, nil where pressure shows it or the kernel doesn't
	// count.
	Delays map[int]time.Duration
	// below are the groups with its processes, nil while they aren't known.
	below []*hierarchy.Group
	// Err is why there are no counters. It wraps cgroup.ErrGone if the group was removed.
	Err error
}

// Pressure is the two lines of io.pressure: how long some, and all, of the runnable processes have waited for I/O
// since the group was created (Documentation/accounting/psi.rst).
type Pressure struct{ Some, Full time.Duration }

// A Sampler reads samples of one machine. It isn't safe for concurrent use.
type Sampler struct {
	fs     device.FS
	groups *cgroup.Host
	tree   *hierarchy.Tree
	// last are the previous readings; subjects without I/O since are taken to have the same limits.
	last map[string]*Reading
	// before is the last sample.
	before *Sample
	// births are those of processes seen before: they don't change.
	births map[int]birth
	// stacks are the devices found beneath others, and trees finds them; nil until needed.
	stacks map[device.Number][]device.Number
	trees  func(device.Number) (*device.Node, error)
	// disks are the disks' names in the last sample: if they change, stacks may have changed.
	disks  []string
	traced time.Time
	buf    []byte
}

// A birth is what is known of a process besides its counters.
type birth struct {
	parent int
	start  uint64
	io     IO
}

// stacksFor is how long a Sampler trusts the stacks of devices that it has found.
const stacksFor = 10 * time.Second

// NewSampler returns a Sampler of the machine in fs.
func NewSampler(f device.FS, groups *cgroup.Host) (*Sampler, error) {
	tree, err := hierarchy.Read(f)
	if err != nil {
		return nil, err
	}
	return &Sampler{fs: f, groups: groups, tree: tree, births: map[int]birth{}, stacks: map[device.Number][]device.Number{}}, nil
}

// read reads one of the kernel's files. The result is valid until the next call.
func (s *Sampler) read(path string) ([]byte, error) {
	b, err := readFile(path, s.buf)
	if cap(b) > cap(s.buf) {
		s.buf = b[:0]
	}
	return b, err
}

// Sample reads the counters of subjects, volumes and all devices. An error with one subject is in its Reading; the
// returned error means that nothing can be read here.
func (s *Sampler) Sample(subjects []*Subject, volumes []Volume) (*Sample, error) {
	out := &Sample{Subjects: make(map[string]*Reading, len(subjects)), Volumes: volumes}
	if err := s.disksOf(out); err != nil {
		return nil, err
	}
	root, err := s.tree.Root(hierarchy.IO)
	if err == nil {
		all, err := cgroupio.Everybody(root, s.read)
		if err != nil {
			return nil, err
		}
		out.CountsAll = all == nil
		out.All, out.Counted = all, slices.Collect(maps.Keys(all))
		if root.Version == 1 && len(subjects) > 0 {
			out.RootGroup = s.rootGroup()
		}
	}
	births := make(map[int]birth, len(s.births))
	for i, sub := range subjects {
		out.Subjects[sub.Ref] = s.subject(sub, births, i)
	}
	out.wait(s.before)
	s.births, s.last, s.before = births, out.Subjects, out
	return out, nil
}

// disksOf reads the devices' counters and the time.
func (s *Sampler) disksOf(out *Sample) error {
	b, err := s.read(filepath.Join(s.fs.Proc, "uptime"))
	if err != nil {
		return err
	}
	if out.Ticks, err = parseUptime(string(b)); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(s.fs.Sys, "block"))
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	b, err = s.read(filepath.Join(s.fs.Proc, "diskstats"))
	if err != nil {
		return err
	}
	out.At = time.Now()
	// sysfs writes the slash of names such as cciss/c0d0 as "!"; ReadDir sorts.
	out.Disks, err = parseDisks(string(b), func(name string) bool {
		_, whole := slices.BinarySearch(names, strings.ReplaceAll(name, "/", "!"))
		return whole
	})
	if err != nil {
		return err
	}
	if !slices.Equal(names, s.disks) || time.Since(s.traced) > stacksFor {
		s.disks, s.traced = names, time.Now()
		clear(s.stacks)
		s.trees = nil
	}
	return nil
}

// parseUptime reads /proc/uptime, "16.33 20.11", in clock ticks of 1/100 s (USER_HZ).
func parseUptime(text string) (uint64, error) {
	word, _, _ := strings.Cut(text, " ")
	seconds, hundredths, ok := strings.Cut(word, ".")
	a, err := strconv.ParseUint(seconds, 10, 64)
	b, err2 := strconv.ParseUint(hundredths, 10, 64)
	if !ok || err != nil || err2 != nil || len(hundredths) != 2 {
		return 0, fmt.Errorf("/proc/uptime: %q is not a time", strings.TrimSpace(text))
	}
	return a*100 + b, nil
}

// Beneath are the devices beneath one, down to the disks, also through the file of a loop device.
func (s *Sampler) Beneath(n device.Number) []device.Number {
	if known, ok := s.stacks[n]; ok {
		return known
	}
	if s.trees == nil {
		trees, err := s.fs.Trees()
		if err != nil {
			return nil
		}
		s.trees = trees
	}
	var list []device.Number
	if tree, err := s.trees(n); err == nil {
		walk(tree, func(d *device.Node) {
			if m := d.Device.Number; m != n && !slices.Contains(list, m) {
				list = append(list, m)
			}
		})
	}
	s.stacks[n] = list
	return list
}

// walk visits the whole devices of a tree.
func walk(n *device.Node, visit func(*device.Node)) {
	if n.Device != nil && n.Kind != device.KindPartition && n.Device.Number != (device.Number{}) {
		visit(n)
	}
	for _, b := range n.Below {
		walk(b, visit)
	}
}

// rootGroup reads the root group of version 1: its own counters, without those of the groups below.
func (s *Sampler) rootGroup() *Reading {
	t, err := s.groups.Device()
	if err != nil {
		return nil
	}
	r := &Reading{Subject: &Subject{Ref: "", Groups: t}}
	s.counters(r)
	if r.Err == nil {
		r.Limits, r.Err = s.groups.Read(t)
	}
	return r
}

// subject reads one subject.
func (s *Sampler) subject(sub *Subject, births map[int]birth, i int) *Reading {
	r := &Reading{Subject: sub}
	s.counters(r)
	if errors.Is(r.Err, cgroup.ErrGone) {
		return r
	}
	if s.limits(r, i); errors.Is(r.Err, cgroup.ErrGone) {
		return r
	}
	if g, err := sub.Groups.Group(hierarchy.CPU); err == nil {
		if t, err := cgroupio.GroupThrottle(g, s.read); err == nil {
			r.CPU = &t
		}
	}
	if g, err := sub.Groups.Group(hierarchy.Unified); err == nil {
		if b, err := s.read(filepath.Join(g.Dir, "io.pressure")); err == nil {
			r.Pressure = parsePressure(string(b))
		}
	}
	r.Processes, r.AppErr = s.processes(r, births)
	r.below = nil
	s.waiting(r)
	return r
}

// waiting reads what a subject's threads wait for, unless it had no I/O since the last sample and none waited then.
func (s *Sampler) waiting(r *Reading) {
	last := s.last[r.Subject.Ref]
	if last != nil && len(last.Async) == 0 && maps.EqualFunc(last.Groups, r.Groups, maps.Equal[map[device.Number]cgroupio.Counters]) {
		return
	}
	r.Async = s.asyncWaits(r.Processes, r.rated())
	if r.Pressure == nil {
		r.Delays, _ = s.delayed(r.Processes)
	}
}

// rated reports whether the subject has a limit on a rate of I/O.
func (r *Reading) rated() bool {
	for _, state := range r.Limits {
		for _, l := range state.Devices {
			if slices.ContainsFunc(limit.Keys, func(k limit.Key) bool { return k.Rate() && l.Has(k) }) {
				return true
			}
		}
	}
	return false
}

// limitsFor is the number of samples for which the limits of a subject without I/O are kept: they take longer to read
// than everything else, and have no effect meanwhile.
const limitsFor = 10

// idle reports whether the same subject had no I/O between two readings; last may be nil.
func (last *Reading) idle(r *Reading) bool {
	if last == nil || last.Subject != r.Subject {
		return false
	}
	return maps.EqualFunc(last.Groups, r.Groups, maps.Equal[map[device.Number]cgroupio.Counters])
}

// limits reads the limits of the i-th subject.
func (s *Sampler) limits(r *Reading, i int) {
	if last := s.last[r.Subject.Ref]; last.idle(r) && last.Limits != nil && last.read < limitsFor {
		r.Limits, r.Above, r.read = last.Limits, last.Above, last.read+1
		s.beyond(r)
		return
	}
	limits, err := s.groups.Read(r.Subject.Groups)
	if errors.Is(err, cgroup.ErrGone) {
		r.Err = err
		return
	}
	if r.Above, err = s.groups.Above(r.Subject.Groups, hierarchy.IO); err == nil {
		s.beyond(r)
	}
	// Spread over several samples.
	r.Limits, r.read = limits, i%limitsFor
	if s.last[r.Subject.Ref] != nil {
		r.read = 0
	}
}

// counters reads the charges. In version 1 r.below are the charged groups.
func (s *Sampler) counters(r *Reading) {
	groups, err := s.groups.Charged(r.Subject.Groups)
	if err != nil {
		r.Err = err
		return
	}
	r.At = time.Now()
	if groups[0].Version == 1 {
		r.below = groups
	}
	r.Groups = make(map[string]map[device.Number]cgroupio.Counters, len(groups))
	for i, g := range groups {
		all, err := cgroupio.GroupCounters(g, s.read)
		// An open file of a removed group returns ENODEV.
		gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV)
		if i > 0 && gone {
			continue // It was removed meanwhile.
		}
		if err != nil {
			if gone {
				err = fmt.Errorf("%s: %w", r.Subject.Ref, cgroup.ErrGone)
			}
			r.Err = err
			return
		}
		r.Groups[g.Path] = all
	}
}

// parsePressure reads io.pressure: "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234", in microseconds. nil: another
// format.
func parsePressure(text string) *Pressure {
	var p Pressure
	found := false
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		total, ok := strings.CutPrefix(f[len(f)-1], "total=")
		n, err := strconv.ParseInt(total, 10, 64)
		if !ok || err != nil {
			return nil
		}
		switch f[0] {
		case "some":
			p.Some, found = time.Duration(n)*time.Microsecond, true
		case "full":
			p.Full = time.Duration(n) * time.Microsecond
		}
	}
	if !found {
		return nil
	}
	return &p
}
