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

// A Sample is what the kernel had counted at one time.
type Sample struct {
	// At is the time; differences are of the monotonic clock.
	At time.Time
	// Ticks is that time in clock ticks since boot.
	Ticks uint64
	Disks []Disk
	// Subjects are by Ref, Volumes in the order in which they were given.
	Subjects map[string]*Reading
	Volumes  []Volume
	// Nobody is version 1's root group, nil where there is none: processes in no group, and what the kernel writes back
	// of what was left in the page cache.
	Nobody *Reading
	// Counted are the devices on which the kernel counts by group; CountsAll is set where it does on each.
	Counted   []device.Number
	CountsAll bool
	// All is what version 1 has charged to everybody on each device, and Ahead what of that was not done yet: see Held. Both are nil
	// with version 2, which charges what is let through.
	All, Ahead map[device.Number]cgroupio.Counters
}

// A Reading is what was counted for one subject.
type Reading struct {
	Subject *Subject
	// At is when its groups were read.
	At time.Time
	// Groups are the counters by the group's path and the device.
	Groups map[string]map[device.Number]cgroupio.Counters
	// Waiting is what was charged and not done yet, by group and device.
	Waiting map[string]map[device.Number]Held
	// Processes are the group's; AppErr says why they can't be read.
	Processes map[int]Process
	AppErr    error
	// Limits are what the kernel holds the groups to.
	Limits []cgroup.State
	// Above is what groups above hold it to as well (cgroup.Host.Above), and Beyond the counters of those that hold a rate, by path and
	// device: they are of all that those groups hold.
	Above  []cgroup.State
	Beyond map[string]map[device.Number]cgroupio.Counters
	// read counts the samples since they were read.
	read int
	// CPU is how the CPU controller stopped it; nil where it can't.
	CPU *cgroupio.Throttled
	// Pressure is how long its processes stood still for I/O; nil where the kernel doesn't tell.
	Pressure *Pressure
	// Async are the threads that wait for asynchronous I/O.
	Async map[int]Thread
	// Delays is for how long each thread has waited for I/O of its own, nil where pressure says it or the kernel doesn't count.
	Delays map[int]time.Duration
	// below are the groups with its processes, nil where they are not known yet.
	below []*hierarchy.Group
	// Err reports why there are no counters. It wraps cgroup.ErrGone if the group was removed.
	Err error
}

// Pressure is a line each of io.pressure: for how long some, and all, of the processes that had something to do waited
// for I/O, since the group was made (Documentation/accounting/psi.rst).
type Pressure struct{ Some, Full time.Duration }

// A Sampler reads samples of one machine. It isn't safe for concurrent use.
type Sampler struct {
	fs     device.FS
	groups *cgroup.Host
	tree   *hierarchy.Tree
	// last are the readings before, whose limits are taken for those that have done nothing since.
	last map[string]*Reading
	// before is the last sample.
	before *Sample
	// births are of processes that were seen before: they don't change.
	births map[int]birth
	// stacks are what was found beneath devices, and trees what finds it; nil until it is needed.
	stacks map[device.Number][]device.Number
	trees  func(device.Number) (*device.Node, error)
	// disks are the names of the last sample's: a change means that stacks may have changed.
	disks  []string
	traced time.Time
	buf    []byte
}

// A birth is what is known of a process beside its counters.
type birth struct {
	parent int
	start  uint64
	io     IO
}

// stacksFor is how long what is beneath a device is taken for granted.
const stacksFor = 10 * time.Second

// NewSampler returns a Sampler of the machine that fs shows.
func NewSampler(f device.FS, groups *cgroup.Host) (*Sampler, error) {
	tree, err := hierarchy.Read(f)
	if err != nil {
		return nil, err
	}
	return &Sampler{fs: f, groups: groups, tree: tree, births: map[int]birth{}, stacks: map[device.Number][]device.Number{}}, nil
}

// read reads a file of the kernel's. What it returns is good until the next call.
func (s *Sampler) read(path string) ([]byte, error) {
	b, err := readFile(path, s.buf)
	if cap(b) > cap(s.buf) {
		s.buf = b[:0]
	}
	return b, err
}

// Sample reads counters of subjects and volumes, and of all devices. What can't be read of one subject is in its Reading; the error is that
// nothing can be read here at all.
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
			out.Nobody = s.nobody()
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

// disksOf reads the devices and the time.
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

// parseUptime reads /proc/uptime in clock ticks, of which a second has 100 (USER_HZ): "16.33 20.11".
func parseUptime(text string) (uint64, error) {
	word, _, _ := strings.Cut(text, " ")
	seconds, hundredths, ok := strings.Cut(word, ".")
	a, err := strconv.ParseUint(seconds, 10, 64)
	b, err2 := strconv.ParseUint(hundredths, 10, 64)
	if !ok || err != nil || err2 != nil || len(hundredths) != 2 {
		return 0, fmt.Errorf("/proc/uptime: %q is no time", strings.TrimSpace(text))
	}
	return a*100 + b, nil
}

// Beneath are the devices that one stands on, down to the disks, through the file of a loop device, too.
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
			if m := d.Device.Number(); m != n && !slices.Contains(list, m) {
				list = append(list, m)
			}
		})
	}
	s.stacks[n] = list
	return list
}

// walk visits the whole devices of a tree.
func walk(n *device.Node, visit func(*device.Node)) {
	if n.Device != nil && n.Kind != device.KindPartition && n.Device.Number() != (device.Number{}) {
		visit(n)
	}
	for _, b := range n.Below {
		walk(b, visit)
	}
}

// nobody reads the root group of version 1: its own counters, without those of the groups below.
func (s *Sampler) nobody() *Reading {
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

// waiting reads what threads of a subject wait for, unless it has done nothing since the last sample and none waited then.
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

// rated reports whether there is a limit on a rate of I/O.
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

// limitsFor is in how many samples the limits of a subject that does nothing are read once: they take longer to read than
// all the rest, and nothing is seen of them.
const limitsFor = 10

// idle reports whether the same subject did nothing between two readings; the former may be nil.
func (last *Reading) idle(r *Reading) bool {
	if last == nil || last.Subject != r.Subject {
		return false
	}
	return maps.EqualFunc(last.Groups, r.Groups, maps.Equal[map[device.Number]cgroupio.Counters])
}

// limits reads what a subject, the i-th, is held to.
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
	// Not all in the same sample.
	r.Limits, r.read = limits, i%limitsFor
	if s.last[r.Subject.Ref] != nil {
		r.read = 0
	}
}

// counters reads what was charged. In version 1 r.below are the groups that it was charged to.
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
		// One whose file was open says ENODEV.
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

// parsePressure reads io.pressure: "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234", in microseconds. nil: it isn't that.
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
