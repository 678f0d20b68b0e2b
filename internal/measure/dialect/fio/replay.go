package fio

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// replay holds the settings for recorded I/O: replaying it, or recording it.
type replay struct {
	log       string // read_iolog: one file, or one for each clone in turn, separated by colons
	noStall   bool
	redirect  string
	scale     int64 // divisor of offsets; 0: none
	align     int64
	timeScale int64 // percent
	record    string
}

// Bounds of a recorded log.
const (
	maxIOLog = 64 << 20 // bytes of its text
	blktrace = "\x07\x74\x61\x65"
)

func setReplayAlign(j *job, v string) error {
	n, err := parseSize(v, j.kbBase)
	switch {
	case err != nil:
	case n < 512 || n > 1<<30 || n&(n-1) != 0:
		err = fmt.Errorf("%q must be a power of two from 512 to 1g", v)
	default:
		j.replay.align = n
	}
	return err
}

// checkReplay refuses options that recorded I/O does not support.
func (j *job) checkReplay(bad func(string, ...any) error) error {
	r := &j.replay
	if r.log != "" {
		if r.record != "" {
			r.record = ""
			j.note("write_iolog has no effect beside read_iolog, as in fio")
		}
		switch {
		case j.verify:
			return bad("read_iolog with verify is not supported: recorded I/O can't be verified")
		case max(j.rate.most(), j.iops.most(), j.rateMin.most(), j.iopsMin.most()) > 0, j.think > 0 || j.ramp > 0 || j.steady.Metric != "":
			return bad("read_iolog has times of its own: leave out rates, thinktime, ramp_time and steadystate")
		case j.ioengine == "posixaio" && j.iodepth > 1:
			return bad("read_iolog with ioengine=posixaio is not supported; use libaio or io_uring")
		}
	}
	switch {
	case r.record == "":
	case j.fsync > 0 || j.fdatasync > 0 || j.endFsync:
		return bad("write_iolog records no syncs: leave out fsync, fdatasync and end_fsync")
	case j.verify && j.writes() && j.doVerify:
		return bad("write_iolog doesn't record the reads of verify: use do_verify=0")
	case j.nrfiles > 1 || len(splitColons(j.filename)) > 1:
		return bad("write_iolog of several files is not supported; use a job for each")
	}
	return nil
}

// traces reports whether each of the job's I/Os must be kept for its logs.
func (j *job) traces() bool { return j.tracesLogs() || j.replay.record != "" }

// recorded is a log that was read.
type recorded struct {
	files  []string
	steps  load.Script
	most   int64   // the largest block
	ends   []int64 // of each file
	reads  bool
	writes bool
}

// lowerReplay translates the clone into a job of package load that replays a log.
func (c *clone) lowerReplay(t *Test, bad func(string, ...any) error) error {
	j := c.job
	logs := splitColons(j.replay.log)
	if len(logs) == 0 {
		return bad("read_iolog=%q contains no file name", j.replay.log)
	}
	name := logs[c.number%len(logs)]
	r, err := t.readLog(j, name)
	if err != nil || r == nil {
		return err
	}
	if len(r.steps) == 0 {
		return bad("read_iolog=%s: it contains no I/O", name)
	}
	l := load.Job{
		RW: load.Read, BS: r.most, IODepth: j.iodepth, NumJobs: 1, Runtime: j.runtime, StartDelay: c.delay(), Direct: j.direct, Sync: j.sync,
		IOEngine: engines[j.ioengine], RandSeed: c.seed(), CPUs: j.cpus, Size: slices.Max(r.ends), Script: r.steps, SampleEvery: c.samples(),
	}
	switch {
	case r.reads && r.writes:
		l.RW = load.RW
	case r.writes:
		l.RW = load.Write
	}
	if r.writes {
		j.content(&l)
	}
	if err := j.priorities(&l); err != nil {
		return bad("%v", err)
	}
	if j.splitCPUs && len(j.cpus) > 0 {
		l.CPUs = []int{j.cpus[c.number%len(j.cpus)]}
	}
	c.files = r.files
	if l.IOEngine == load.Null {
		c.files = nil
		for i := range l.Script {
			l.Script[i].File = 0
		}
	}
	of := func(format string, args ...any) error {
		return bad("read_iolog=%s: "+format, append([]any{name}, args...)...)
	}
	if err := t.count(c.files, of); err != nil {
		return err
	}
	for i, f := range c.files {
		if !t.readonly {
			t.need[f] = max(t.need[f], r.ends[i])
		}
	}
	c.load, c.spec.Parents = l, true
	if t.readonly && l.IOEngine != load.Null {
		c.spec.Exist = workload.Must
	}
	return c.stageJob(bad)
}

// readLog reads fio's log of I/O, of version 2 or 3.
func (t *Test) readLog(j *job, name string) (*recorded, error) {
	bad := func(format string, args ...any) error {
		return dialect.Usagef(j.where, "read_iolog=%s: %s", name, fmt.Sprintf(format, args...))
	}
	if t.readFile == nil {
		return nil, bad("files can't be read by this command")
	}
	text, err := t.readFile(name, maxIOLog)
	if err != nil && t.ParseOnly {
		t.note("%s: read_iolog=%s: %v; it is read when the job runs", j.name, name, err)
		return nil, nil
	}
	if err != nil {
		return nil, bad("%v", err)
	}
	t.sources = append(t.sources, name)
	head, rest, _ := strings.Cut(string(text), "\n")
	version := 0
	switch {
	case strings.HasPrefix(head, blktrace):
		return nil, bad("it is a binary trace of blktrace; only fio's logs are supported, as write_iolog makes them")
	case strings.HasPrefix(head, "fio version 2 iolog"):
		version = 2
	case strings.HasPrefix(head, "fio version 3 iolog"):
		version = 3
	default:
		return nil, bad("its first line is neither \"fio version 2 iolog\" nor \"fio version 3 iolog\"")
	}
	p := &logParser{job: j, version: version, readonly: t.readonly, skipped: map[string]int{}}
	n := 1
	for line := range strings.Lines(rest) {
		n++
		switch line = strings.TrimSpace(line); {
		case line == "":
			continue
		case strings.HasPrefix(line, "fio version"): // Clones and later runs of fio append to the log.
			p.skipped["a repeated version, as in fio"]++
			continue
		}
		if err := p.line(strings.Fields(line)); err != nil {
			return nil, bad("line %d: %v", n, err)
		}
	}
	for what, n := range p.skipped {
		t.note("%s: read_iolog=%s: %d lines of %s are skipped", j.name, name, n, what)
	}
	return &p.recorded, nil
}

// logParser is the state of reading a log.
type logParser struct {
	recorded
	job      *job
	version  int
	readonly bool
	last     uint64 // the time of the previous line
	after    time.Duration
	at       time.Duration
	skipped  map[string]int
}

func (p *logParser) line(f []string) error {
	if p.version == 3 {
		usec, err := parseInt(f[0], 0, math.MaxInt64/int64(time.Microsecond))
		if err != nil {
			return fmt.Errorf("a time: %w", err)
		}
		p.wait(uint64(usec))
		f = f[1:]
	}
	if len(f) != 2 && len(f) != 4 {
		return fmt.Errorf("a line needs a file and an action, and for I/O an offset and a size")
	}
	name, act := f[0], f[1]
	if len(f) == 2 {
		if !slices.Contains([]string{"add", "open", "close"}, act) {
			return fmt.Errorf("%q is not one of add, open and close", act)
		}
		if act == "add" {
			p.file(name, true)
		}
		return nil
	}
	offset, err := parseInt(f[2], 0, math.MaxInt64)
	if err != nil {
		return fmt.Errorf("an offset: %w", err)
	}
	size, err := parseInt(f[3], 0, math.MaxUint32)
	if err != nil {
		return fmt.Errorf("a size: %w", err)
	}
	if act == "wait" {
		switch {
		case p.version == 3:
			p.skipped["wait, as in fio"]++
		case !p.job.replay.noStall:
			p.at = max(p.at, time.Duration(min(offset, math.MaxInt64/int64(time.Millisecond)))*time.Millisecond)
		}
		return nil
	}
	return p.step(name, act, offset, size)
}

// wait adds the time since the previous line, as fio computes it: nothing after a line of time 0.
func (p *logParser) wait(usec uint64) {
	r := p.job.replay
	if p.last != 0 && usec >= p.last && !r.noStall {
		d := float64(usec-p.last) * 100 / float64(r.timeScale)
		p.after += time.Duration(min(d*1e3, math.MaxInt64/4))
	}
	p.last = usec
}

// file is the index of a file, -1 if it was not added.
func (p *logParser) file(name string, add bool) int {
	r := p.job.replay
	if name = cmp.Or(r.redirect, name); r.redirect == "" && p.job.directory != "" {
		name = path.Join(splitColons(p.job.directory)[0], name)
	}
	i := slices.Index(p.files, name)
	if i < 0 && add {
		i = len(p.files)
		p.files, p.ends = append(p.files, name), append(p.ends, 0)
	}
	return i
}

// step adds an I/O.
func (p *logParser) step(name, act string, offset, size int64) error {
	r := p.job.replay
	i := p.file(name, false)
	s := load.Step{Op: act, File: i, Offset: offset, Size: size}
	switch {
	case i < 0:
		return fmt.Errorf("%s was not added", name)
	case act == "trim":
		return fmt.Errorf("trims of a log are not supported")
	case act == "sync" || act == "datasync":
		s.Offset, s.Size = 0, 0
	case act != load.Read && act != load.Write:
		return fmt.Errorf("%q is not one of read, write, sync, datasync, trim and wait", act)
	case act == load.Write && p.readonly:
		p.skipped["writes, because of --readonly"]++
		return nil
	case size == 0:
		return fmt.Errorf("the size is 0")
	default:
		if r.scale > 0 {
			s.Offset /= r.scale
		}
		if r.align > 0 {
			s.Offset &^= r.align - 1
		}
		if s.Offset > math.MaxInt64-size {
			return fmt.Errorf("%d bytes from offset %d on end beyond the largest possible file", size, s.Offset)
		}
		p.reads, p.writes = p.reads || act == load.Read, p.writes || act == load.Write
		p.most, p.ends[i] = max(p.most, size), max(p.ends[i], s.Offset+size)
	}
	s.After, s.At, p.after, p.at = p.after, p.at, 0, 0
	if p.steps = append(p.steps, s); len(p.steps) > load.MaxScript {
		return fmt.Errorf("the log has more than %d I/Os", load.MaxScript)
	}
	return nil
}

// iolog is the clone's I/O as fio's log of version 3, in the order of submission.
func (m measured) iolog() []byte {
	c := m.clone
	var b strings.Builder
	b.WriteString("fio version 3 iolog\n")
	if len(c.files) == 0 {
		return []byte(b.String())
	}
	file := c.files[0]
	fmt.Fprintf(&b, "0 %s add\n0 %[1]s open\n", file)
	all := slices.Clone(m.result.Trace)
	begun := func(o load.TracedIO) time.Duration { return max(o.End-o.Lat, 0) }
	slices.SortStableFunc(all, func(x, y load.TracedIO) int { return cmp.Compare(begun(x), begun(y)) })
	var end time.Duration
	for _, o := range all {
		what := className[c.job.direction(o.Write)]
		fmt.Fprintf(&b, "%d %s %s %d %d\n", begun(o).Microseconds(), file, what, o.Offset, o.Size)
		end = max(end, o.End)
	}
	fmt.Fprintf(&b, "%d %s close\n", end.Microseconds(), file)
	return []byte(b.String())
}
