package fio

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
)

// setStatus reads --status-interval.
func setStatus(p *parser, v string) error {
	d, err := parseTime(v, sec)
	if err == nil && d < time.Millisecond {
		err = fmt.Errorf("%q: the shortest interval is 1ms", v)
	}
	p.test.statusEvery = d
	return err
}

// progress collects a test's results so far, and prints them.
type progress struct {
	test  *Test
	begin time.Time
	now   func() time.Time
	idle  *idleness
	out   io.Writer // for all outputs but the last

	mu      sync.Mutex
	all     []measured // of finished stages
	disks   []workload.DiskDelta
	elapsed time.Duration
	// part turns an answer of the running stage into its results so far, or with nil into its results at the start.
	// rest are the later stages.
	part      func(*workload.Result) []measured
	rest      [][]*clone
	last      *workload.Result // the last answer of the current run, used after its end until its result arrives
	headed    bool             // the head is printed
	unwritten error            // the error of an output; no further output is tried
	over      bool
}

// next begins a stage.
func (p *progress) next(clones []*clone, rest [][]*clone) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest, p.last = rest, nil
	p.part = func(res *workload.Result) []measured {
		if res == nil || len(res.Stage) != len(clones) {
			return unstarted([][]*clone{clones})
		}
		var out []measured
		for k, c := range clones {
			out = append(out, measured{clone: c, result: res.Stage[k]})
		}
		return out
	}
}

// readBack begins to read back a stage's writes with that many jobs. verified stores the results.
func (p *progress) readBack(out []measured, jobs int, verified func([]workload.StageResult)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = nil
	p.part = func(res *workload.Result) []measured {
		if res != nil && len(res.Stage) == jobs {
			verified(res.Stage)
		}
		return out
	}
}

// verified stores the results of reading back.
func (p *progress) verified(set func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set()
}

// ran adds the machine's counters of a finished run, and the stage's results by then.
func (p *progress) ran(res *workload.Result, out []measured) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disks, p.elapsed = addDisks(p.disks, res.Disks), p.elapsed+res.Elapsed
	if p.idle != nil {
		p.idle.cpus = addCPUs(p.idle.cpus, res.CPUs)
	}
	p.last = nil
	p.part = func(*workload.Result) []measured { return out }
}

// add adds a finished stage.
func (p *progress) add(m []measured) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all, p.part = append(p.all, m...), nil
}

// end is the last report.
func (p *progress) end() *report {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.all = append(p.all, unstarted(p.rest)...)
	p.rest = nil
	return p.report(p.all, nil)
}

// report is the report of the results so far, with the machine's counters of the current run if it answered.
func (p *progress) report(all []measured, res *workload.Result) *report {
	disks, elapsed := p.disks, p.elapsed
	if res != nil {
		disks, elapsed = addDisks(disks, res.Disks), elapsed+res.Elapsed
	}
	r := p.test.report(all, disks, elapsed)
	if p.idle != nil {
		i := *p.idle
		if i.cpus = slices.Clone(i.cpus); res != nil {
			i.cpus = addCPUs(i.cpus, res.CPUs)
		}
		if len(i.cpus) > 0 {
			r.idle = &i
		}
	}
	r.now, r.pid = p.now(), os.Getpid()
	r.elapsed = r.now.Sub(p.begin)
	return r
}

// status prints the results so far. res is the answer of the current run, nil without one.
func (p *progress) status(res *workload.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.unwritten != nil {
		return
	}
	if res == nil {
		res = p.last
	}
	p.last = res
	all := slices.Clone(p.all)
	if p.part != nil {
		all = append(all, p.part(res)...)
	}
	_, p.unwritten = p.out.Write(p.document(p.report(append(all, unstarted(p.rest)...), res)))
}

// document is a report in all requested formats, in fio's order.
func (p *progress) document(r *report) []byte {
	var out bytes.Buffer
	formats := p.test.Formats
	if slices.Contains(formats, "normal") && !p.headed {
		p.headed = true
		out.Write(r.head())
	}
	if slices.Contains(formats, "terse") {
		out.Write(r.terse(p.test.terseVersion))
	}
	for _, f := range formats {
		if f == "json" || f == "json+" {
			out.Write(r.json(f == "json+"))
		}
	}
	if slices.Contains(formats, "normal") {
		out.Write(r.text())
	}
	return out.Bytes()
}

// follow prints a status at each --status-interval, counted from the start as in fio, until stop is called. stop may
// be called twice.
func (p *progress) follow(session dialect.Session) (stop func()) {
	if p.test.statusEvery == 0 {
		return func() {}
	}
	s, asks := session.(dialect.Reporter)
	if asks {
		s.OnStatus(p.status)
	}
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(p.test.statusEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if !asks || !s.Ask() {
					p.status(nil)
				}
			case <-stopped:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stopped)
		<-ended
	})
}
