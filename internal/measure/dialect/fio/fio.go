// Package fio runs the command lines and job files of fio, and prints what fio would.
//
// Options is the table of all options of fio 3.33: each is supported, accepted without effect, or refused with a
// reason. Parse turns arguments and files into a Test, a list of stages for package workload: jobs without stonewall
// run together, a stonewall begins the next stage. Every clone (numjobs) becomes its own job, as fio forks one
// process for each.
//
// fio's meaning is kept where load's own differs: each clone does the whole region; without time_based, runtime is
// only a limit; random jobs visit each block once a pass; rates apply to reads and writes separately.
// docs/reference/fio.md lists the differences that remain: files are always written in full first, latency is always
// measured, submission is not timed separately.
package fio

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// A Test is a parsed command line.
type Test struct {
	// Formats are the outputs in their order: normal, json, json+ or terse.
	Formats []string
	// Output is the file for the output; "" is standard output.
	Output string
	// ParseOnly: check the jobs and run nothing.
	ParseOnly bool
	// Version: print the version and nothing else.
	Version bool

	// terseVersion is the version of the terse output, 2 to 5.
	terseVersion int
	statusEvery  time.Duration // --status-interval; 0: one output, at the end
	idle         string        // of --idle-prof
	readonly     bool
	isDevice     func(path string) bool
	readFile     dialect.FileReader
	// sources are the files that the test was read from.
	sources []string
	jobs    []*job
	globals []keyValue
	stages  [][]*clone
	// need is the length that each file must have.
	need map[string]int64
	// paths and files are the total bytes of all paths and the number of files, over all clones.
	paths, files int
	// notes are messages for the user, one a line.
	notes []string
}

// A clone is one of the numjobs of a job.
type clone struct {
	job    *job
	thread int // from 1 on, over the whole test
	number int // within its job, from 0 on
	group  int
	files  []string
	// device: the job's name is the path of a device, and the job uses that device.
	device bool
	load   load.Job
	spec   workload.StageJob
}

func (j *job) trims() bool       { return j.rw == load.Trim || j.rw == load.RandTrim }
func (j *job) pairs() bool       { return j.rw == load.TrimWrite || j.rw == load.RandTrimWrite }
func (j *job) writes() bool      { return load.Job{RW: j.rw}.Writes() && !j.trims() }
func (j *job) reads() bool       { return load.Job{RW: j.rw}.Reads() || j.trims() }
func (j *job) random() bool      { return strings.HasPrefix(j.rw, "rand") }
func (j *job) hasDataLogs() bool { return j.bwLog != nil || j.iopsLog != nil || j.latLog != nil }

// tracesLogs reports whether the job's logs have a line for each I/O.
func (j *job) tracesLogs() bool { return j.hasDataLogs() && j.logAvg == 0 }

// direction is the index of the job's direction in className: 0 for reads, 1 for writes, 2 for trims.
func (j *job) direction(write bool) int {
	switch {
	case j.trims() || j.pairs() && !write:
		return 2
	case write:
		return 1
	}
	return 0
}

// trimsAreReads applies a trim job's trim settings to its reads: package load handles a trim like a read.
func (j *job) trimsAreReads() {
	for _, p := range []*pair{&j.bs, &j.blockalign, &j.rate, &j.iops, &j.rateMin, &j.iopsMin, j.percRandom} {
		if p != nil {
			p.read, p.hasRead = p.trim, p.hasTrim
		}
	}
	j.readSplit = j.trimSplit
}

// writesAreTrims gives a trim-write job the same sizes for writes as for trims, as in fio.
func (j *job) writesAreTrims() {
	for _, p := range []*pair{&j.bs, &j.blockalign, j.percRandom} {
		if p != nil {
			p.write, p.hasWrite = p.trim, p.hasTrim
			p.read, p.hasRead = p.trim, p.hasTrim
		}
	}
	j.readSplit, j.writeSplit = nil, j.trimSplit
}

// mapped reports whether random offsets come once a pass.
func (j *job) mapped() bool {
	r, w := j.splits()
	if len(r)+len(w) > 0 || j.alignedApart() {
		return false
	}
	uniform := j.distribution == "" || j.distribution == load.Random
	return j.random() && uniform && !j.norandommap
}

// writesAllOnce reports whether the job writes each block of its region once, and then reads all of them back.
func (j *job) writesAllOnce() bool {
	jumps := j.random() && (!j.mapped() || j.percRandom != nil) || j.hasRWNumber && j.rwNumber != 0
	return !j.reads() && j.runtime <= 0 && !jumps && j.backlog <= 0
}

// alignedApart reports whether blocks are aligned to something else than their size. fio then uses no random map.
func (j *job) alignedApart() bool {
	return j.blockalign.hasRead && j.blockalign.read != j.bs.read || j.blockalign.hasWrite && j.blockalign.write != j.bs.write
}

// splits are the block sizes of reads and writes, nil where there is only one.
func (j *job) splits() (r, w []load.SizeShare) {
	r, w = j.readSplit, j.writeSplit
	if j.reads() && j.writes() && len(r) == 0 && len(w) == 0 && j.bs.read == j.bs.write {
		return nil, nil
	}
	if len(r) == 0 {
		r = []load.SizeShare{{Size: j.bs.read, Percent: 100}}
	}
	if len(w) == 0 {
		w = []load.SizeShare{{Size: j.bs.write, Percent: 100}}
	}
	if !j.reads() {
		r = nil
	}
	if !j.writes() {
		w = nil
	}
	// One size is no split.
	if !j.reads() && len(w) == 1 || !j.writes() && len(r) == 1 {
		return nil, nil
	}
	return r, w
}

// blockSize is the block size of a job that has a single one.
func (j *job) blockSize() int64 {
	all, bs := j.readSplit, j.bs.read
	if !j.reads() {
		all, bs = j.writeSplit, j.bs.write
	}
	if len(all) > 0 {
		bs = all[0].Size
		for _, s := range all {
			bs = min(bs, s.Size)
		}
	}
	return bs
}

// plan groups the jobs into stages.
func (t *Test) plan() error {
	t.need = map[string]int64{}
	group, thread := 0, 0
	for i, j := range t.jobs {
		if i > 0 && (j.stonewall || j.newGroup) {
			group++
		}
		if err := t.wait(i); err != nil {
			return err
		}
		if i == 0 || j.stonewall || j.waitFor != "" {
			t.stages = append(t.stages, nil)
		}
		for _, n := range j.notes {
			t.note("%s: %s", j.name, n)
		}
		if t.readonly && (j.writes() || j.trims()) && !j.verifyOnly {
			return dialect.Usagef(j.where, "rw=%s writes, but --readonly was given", j.rw)
		}
		if synchronous[j.ioengine] && j.iodepth > 1 {
			j.iodepth = 1
			t.note("%s: iodepth is 1 with the synchronous engine %s, as in fio; use libaio or io_uring", j.name, j.ioengine)
		}
		for n := range j.numjobs {
			thread++
			c := &clone{job: j, thread: thread, number: n, group: group, device: t.device(j)}
			if err := c.loadJob(t); err != nil {
				return err
			}
			last := len(t.stages) - 1
			t.stages[last] = append(t.stages[last], c)
		}
	}
	if err := t.exits(); err != nil {
		return err
	}
	for _, s := range t.stages {
		if err := errors.Join(refuseOverwrites(s), refuseLocks(s)); err != nil {
			return err
		}
		trace(s)
		histograms(s)
		for _, c := range s {
			c.spec.Job.DedupeSet = c.dedupeSet(thread)
			for _, f := range c.files {
				c.spec.Size = max(c.spec.Size, t.need[f])
				if c.load.Sizes != nil {
					c.spec.Sizes = append(c.spec.Sizes, t.need[f])
				}
			}
		}
	}
	return nil
}

// device reports whether the job's name is the path of a device, which the job then uses, as in fio.
func (t *Test) device(j *job) bool {
	return j.filename == "" && j.nrfiles == 1 && t.isDevice != nil && t.isDevice(j.section)
}

// wait refuses a wait_for that does not coincide with the end of a stage: the waiting job would have to start while
// other jobs of that stage run. Jobs of earlier stages have always ended.
func (t *Test) wait(i int) error {
	j := t.jobs[i]
	if j.waitFor == "" || j.stonewall {
		return nil
	}
	k := slices.IndexFunc(t.jobs[:i], func(o *job) bool { return o.section == j.waitFor })
	if k < 0 {
		return dialect.Usagef(j.where, "wait_for=%s: no earlier job has this name", j.waitFor)
	}
	others, in := "", false
	for _, c := range t.stages[len(t.stages)-1] {
		if c.job.section == j.waitFor {
			in = true
		} else {
			others = c.job.name
		}
	}
	switch {
	case !in:
		j.waitFor = "" // It ended with its stage.
	case others != "":
		return dialect.Usagef(j.where, "wait_for=%s: it runs beside %s, and waiting for one of several jobs is not supported; the nearest is stonewall, which waits for all", j.waitFor, others)
	}
	return nil
}

func (t *Test) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(t.notes, n) {
		t.notes = append(t.notes, n)
	}
}

// paths are the paths of the clone's files.
func (c *clone) paths() []string {
	j := c.job
	dir := ""
	if dirs := splitColons(j.directory); len(dirs) > 0 {
		dir = dirs[c.number%len(dirs)]
	}
	var out []string
	seen := map[string]bool{}
	add := func(name string) {
		if dir != "" {
			name = path.Join(dir, name) // Also where name begins with a slash, as in fio.
		}
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	if j.filename != "" {
		for _, f := range splitColons(j.filename) {
			if add(f); len(out) > maxNrFiles || j.used > 0 && len(out) == j.used {
				break
			}
		}
		return out
	}
	if c.device {
		add(j.section)
		return out
	}
	format := j.format
	if format == "" {
		format = "$jobname.$jobnum.$filenum"
	}
	for i := range j.nrfiles {
		add(strings.NewReplacer("$jobname", j.section, "$jobnum", strconv.Itoa(c.number),
			"$filenum", strconv.Itoa(i), "$clientuid", "").Replace(format))
		if len(out[len(out)-1]) > maxPath {
			break
		}
	}
	return out
}

// splitColons splits a list at its colons; \: is a colon within a name.
func splitColons(s string) []string {
	if s == "" {
		return nil
	}
	const hidden = "\x00"
	var out []string
	for _, p := range strings.Split(strings.ReplaceAll(s, `\:`, hidden), ":") {
		if p != "" {
			out = append(out, strings.ReplaceAll(p, hidden, ":"))
		}
	}
	return out
}

// refuse turns an error of package load into a usage error.
func (c *clone) refuse(err error) error {
	var opt *load.OptionError
	if errors.As(err, &opt) {
		return dialect.Usagef(c.job.where, "%v", opt)
	}
	return dialect.Usagef(c.job.where, "%v", err)
}
