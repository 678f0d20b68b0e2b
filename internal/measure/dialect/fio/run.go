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

// RunOptions is what Run needs besides its session.
type RunOptions struct {
	// Destructive are the paths, in any spelling, that may be overwritten.
	Destructive []string
	// Create opens a user's file for writing: --output or a log. Existing content must stay until the first write,
	// and a new file that gets none must be removed when it is closed: files are tried before the jobs run. nil:
	// outputs to files are refused.
	Create func(name string) (io.WriteCloser, error)
	// Now is the wall clock; nil is time.Now.
	Now func() time.Time
}

// measured is the result of one clone.
type measured struct {
	clone  *clone
	result workload.StageResult
	// verify is the result of reading back, nil without one.
	verify *workload.StageResult
}

// RunsNothing reports whether Run only prints, without a session: a version, the cost of idleness, the check of a job
// file.
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
	if err := t.checkPaths(session); err != nil {
		return err
	}
	if o.Destructive, err = dialect.Leave(session, o.Destructive, t.allFiles()); err != nil {
		return err
	}
	if (t.Output != "" || t.hasLogs()) && o.Create == nil {
		return dialect.Usagef("--output", "this command can't write files")
	}
	if err := t.refuseSharedOutputs(session); err != nil {
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
		dialect.Note(stderr, "--idle-prof: the idle time of the CPUs is not known here")
	}
	// An error with one log must not lose the other outputs.
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
		unwritten = fmt.Errorf("--output=%s: %w; the output is on standard output instead", t.Output, unwritten)
	}
	return errors.Join(unlogged, unwritten, err)
}

// refuseSharedOutputs refuses outputs that are files of the jobs, job files, or each other.
func (t *Test) refuseSharedOutputs(session dialect.Session) error {
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
		// Paths in a place are not paths of this machine.
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

// stageName is stage i's name in a record: the names of its jobs, plus its number where another stage has the same
// jobs.
func (t *Test) stageName(i int) string {
	const most = 60 // A longer name is no clearer.
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

// stage runs stage i, and reads back the jobs that verify.
func (t *Test) stage(ctx context.Context, session dialect.Session, i int, clones []*clone, stderr io.Writer, o RunOptions, p *progress) ([]measured, error) {
	var jobs []workload.StageJob
	for k, c := range clones {
		jobs = append(jobs, c.in(session, c.spec, o.Destructive))
		jobs[k].Job.Status = t.statusEvery > 0
		if !c.job.randrepeat && c.job.randseed == 0 {
			jobs[k].Job.RandSeed = max(rand.Uint64(), 1)
		}
		if jobs[k].Job.Refill == "" && jobs[k].Job.Data != load.DataFixed {
			jobs[k].Job.DataSeed = max(rand.Uint64(), 1) // fio's scramble_buffers uses the time likewise.
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

// in is a job with the session's paths.
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

// addDisks adds up the disks' counters of two stages.
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

// intervals returns a clone's samples and how long each took, without a last one that is too short to be meaningful.
func (m measured) intervals() (out []load.Sample, lengths []time.Duration) {
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
