package fio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/clean"
	"plimsoll/load"
)

// RunOptions is what a run needs beyond its session.
type RunOptions struct {
	// Destructive are the paths, in any spelling, that may be written over.
	Destructive []string
	// Create makes a file of the user's, --output or a log. What is there has to stay until the first write, and a
	// new file without any to be gone when it is closed: files are tried before the work. nil: they are refused.
	Create func(name string) (io.WriteCloser, error)
	// Now is the wall clock; nil is time.Now.
	Now func() time.Time
}

// measured is what one clone came to.
type measured struct {
	clone  *clone
	result workload.StageResult
	// verify is what reading back came to, nil if nothing was.
	verify *workload.StageResult
}

// RunsNothing reports whether Run only prints something, without a session: a version, the cost of idleness, what is wrong with a job file.
func (t *Test) RunsNothing() bool { return t.Version || t.ParseOnly || t.idle == calibrateOnly }

// Run runs the stages and prints the output to stdout, or to the file of --output. Notes go to stderr.
func (t *Test) Run(ctx context.Context, session dialect.Session, stdout, stderr io.Writer, o RunOptions) (err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if t.Version {
		_, err := fmt.Fprintln(stdout, version)
		return err
	}
	var idle *idleness
	if t.idle != "" {
		idle = &idleness{perCPU: t.idle == "percpu"}
		idle.calibrate()
	}
	if t.idle == calibrateOnly {
		fmt.Fprintln(stdout, "CPU idleness:")
		idle.unitText(stdout)
		return nil
	}
	for _, n := range t.notes {
		dialect.Note(stderr, "%s", n)
	}
	if t.ParseOnly {
		return nil
	}
	if err := t.here(session); err != nil {
		return err
	}
	if o.Destructive, err = dialect.Leave(session, o.Destructive, t.allFiles()); err != nil {
		return err
	}
	if (t.Output != "" || t.hasLogs()) && o.Create == nil {
		return dialect.Usagef("--output", "files can't be written here")
	}
	if err := t.apart(session); err != nil {
		return err
	}
	if err := t.tryLogs(o.Create); err != nil {
		return err
	}
	var file io.WriteCloser
	if t.Output != "" {
		if file, err = o.Create(t.Output); err != nil {
			return err
		}
		defer func() {
			if file != nil {
				err = errors.Join(err, file.Close())
			}
		}()
	}
	p := &progress{test: t, begin: o.Now(), now: o.Now, idle: idle, out: stdout}
	if file != nil {
		p.out = file
	}
	stop := p.follow(session)
	defer stop()
	for i, clones := range t.stages {
		p.next(clones, t.stages[i+1:])
		m, err := t.stage(ctx, session, i, clones, stderr, o, p)
		if err != nil {
			return err
		}
		p.add(m)
		if t.lastStage(clones) {
			break
		}
	}
	stop()
	r := p.end()
	if idle != nil && r.idle == nil {
		dialect.Note(stderr, "--idle-prof: how idle the processors were is not known here")
	}
	// What can't be kept in one file is no reason to lose the rest.
	unlogged := t.writeLogs(p.all, o.Create)
	out := p.document(r)
	if file == nil {
		_, err = stdout.Write(out)
		return errors.Join(unlogged, p.unwritten, err)
	}
	unwritten := errors.Join(p.unwritten, fill(file, out))
	file = nil
	if unwritten != nil {
		_, err = stdout.Write(out)
		unwritten = fmt.Errorf("--output=%s: %w; what it was to hold is on standard output", t.Output, unwritten)
	}
	return errors.Join(unlogged, unwritten, err)
}

// apart refuses outputs that are files of the jobs, job files, or each other.
func (t *Test) apart(session dialect.Session) error {
	var outputs, inputs []dialect.File
	if t.Output != "" {
		outputs = append(outputs, dialect.File{Option: "--output=" + t.Output, Name: t.Output})
	}
	for _, name := range t.logNames() {
		outputs = append(outputs, dialect.File{Option: "the log " + name, Name: name})
	}
	if len(outputs) == 0 {
		return nil
	}
	for _, name := range t.sources {
		inputs = append(inputs, dialect.File{Option: "a job file", Name: name})
	}
	for _, name := range t.allFiles() {
		// Those in a place are none of this machine's.
		if path := session.Path(name); filepath.IsAbs(path) {
			inputs = append(inputs, dialect.File{Option: "a file of its jobs", Name: path})
		}
	}
	return dialect.Apart(outputs, inputs)
}

func writeFile(create func(string) (io.WriteCloser, error), name string, data []byte) error {
	f, err := create(name)
	if err != nil {
		return err
	}
	return fill(f, data)
}

// fill writes a file and closes it.
func fill(f io.WriteCloser, data []byte) error {
	_, err := f.Write(data)
	return errors.Join(err, f.Close())
}

// stageName is what stage number i is called in a record: the names of its jobs, and its number where another stage has the same.
func (t *Test) stageName(i int) string {
	const most = 60 // A long list says no more.
	names := func(i int) string {
		var all []string
		for _, c := range t.stages[i] {
			if c.number == 0 {
				all = append(all, c.job.name)
			}
		}
		name := clean.Text(strings.Join(all, "+"))
		if r := []rune(name); len(r) > most {
			name = string(r[:most]) + "..."
		}
		return name
	}
	name := names(i)
	for k := range t.stages {
		if k != i && names(k) == name {
			return fmt.Sprintf("%s %d", name, i+1)
		}
	}
	return name
}

// stage runs stage number i, and reads back what asks for it.
func (t *Test) stage(ctx context.Context, session dialect.Session, i int, clones []*clone, stderr io.Writer, o RunOptions, p *progress) ([]measured, error) {
	var jobs []workload.StageJob
	for k, c := range clones {
		jobs = append(jobs, c.in(session, c.spec, o.Destructive))
		jobs[k].Job.Status = t.statusEvery > 0
		if !c.job.randrepeat && c.job.randseed == 0 {
			jobs[k].Job.RandSeed = max(rand.Uint64(), 1)
		}
		if jobs[k].Job.Refill == "" && jobs[k].Job.Data != load.DataFixed {
			jobs[k].Job.DataSeed = max(rand.Uint64(), 1) // So do fio's scramble_buffers, with the time.
		}
	}
	res, err := session.Stage(ctx, t.stageName(i), jobs, nil)
	if err != nil {
		return nil, err
	}
	if len(res.Stage) != len(clones) {
		return nil, fmt.Errorf("stage %d: %d results of %d jobs", i, len(res.Stage), len(clones))
	}
	out := make([]measured, len(clones))
	for k, c := range clones {
		out[k] = measured{clone: c, result: res.Stage[k]}
		for _, n := range res.Stage[k].Notes {
			dialect.Note(stderr, "%s: %s", c.job.name, n)
		}
		for _, n := range []string{out[k].cutLog(), out[k].cutHists()} {
			if n != "" {
				dialect.Note(stderr, "%s", n)
			}
		}
	}
	p.ran(res, out)
	return out, t.readBack(ctx, session, i, out, p)
}

// allFiles are the paths of all files of the jobs.
func (t *Test) allFiles() (all []string) {
	seen := map[string]bool{}
	for _, clones := range t.stages {
		for _, c := range clones {
			for _, f := range c.files {
				if !seen[f] {
					seen[f] = true
					all = append(all, f)
				}
			}
		}
	}
	return all
}

// in is a job with its paths in the session.
func (c *clone) in(session dialect.Session, j workload.StageJob, leave []string) workload.StageJob {
	j.Destructive = leave
	if j.Dir != "" {
		j.Dir = session.Path(j.Dir)
	}
	if j.Job.Filename != "" {
		j.Job.Filename = session.Path(j.Job.Filename)
	}
	files := slices.Clone(j.Job.Files)
	for i, f := range files {
		files[i] = session.Path(f)
	}
	j.Job.Files = files
	return j
}

// addDisks sums the disks of two stages up.
func addDisks(a, b []workload.DiskDelta) []workload.DiskDelta {
	out := slices.Clone(a)
	for _, d := range b {
		i := slices.IndexFunc(out, func(o workload.DiskDelta) bool { return o.Name == d.Name })
		if i < 0 {
			out = append(out, d)
			continue
		}
		o := &out[i]
		o.Reads, o.Writes = o.Reads+d.Reads, o.Writes+d.Writes
		o.ReadBytes, o.WrittenBytes = o.ReadBytes+d.ReadBytes, o.WrittenBytes+d.WrittenBytes
		o.ReadMerges, o.WriteMerges = o.ReadMerges+d.ReadMerges, o.WriteMerges+d.WriteMerges
		o.ReadTime, o.WriteTime, o.Busy = o.ReadTime+d.ReadTime, o.WriteTime+d.WriteTime, o.Busy+d.Busy
	}
	slices.SortFunc(out, func(a, b workload.DiskDelta) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// sampled are the intervals of a clone's samples, without a last one that is too short to say anything.
func (m measured) sampled() (out []load.Sample, lengths []time.Duration) {
	usual := m.clone.load.SampleEvery
	last := time.Duration(0)
	for _, s := range m.result.Samples {
		if d := s.At - last; d >= usual/2 {
			out, lengths = append(out, s), append(lengths, d)
		}
		last = s.At
	}
	return out, lengths
}
