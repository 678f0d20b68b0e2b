package diskspd

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A printer writes lines.
type printer struct {
	strings.Builder
	indent int // of XML
}

func (p *printer) f(format string, args ...any) { fmt.Fprintf(&p.Builder, format, args...) }

// ProfileText is the profile as DiskSpd's text report begins.
func ProfileText(p *Profile) string {
	var w printer
	w.profile(p)
	return w.String()
}

// ResultsText is DiskSpd's text report.
func ResultsText(p *Profile, r *Results) string {
	var w printer
	w.profile(p)
	w.system(&r.System)
	for i := range r.Spans {
		w.f("\nResults for timespan %d:\n%s\n", i+1, strings.Repeat("*", 79))
		w.span(&p.Spans[i], &r.Spans[i], &r.System)
	}
	if len(r.Spans) > 1 {
		w.totals(r.Spans)
	}
	return w.String()
}

func (w *printer) profile(p *Profile) {
	w.f("\nCommand Line: %s\n\n", p.CommandLine)
	if p.ExperimentFlags != 0 {
		w.f("Experiment Flags: 0x%x (%d)\n\n", p.ExperimentFlags, p.ExperimentFlags)
	}
	w.f("Input parameters:\n\n")
	if p.Verbose {
		w.f("\tusing verbose mode\n")
	}
	for i := range p.Spans {
		w.f("\ttimespan: %3d\n\t-------------\n", i+1)
		w.input(&p.Spans[i])
		w.f("\n")
	}
}

// input is what a time span is asked to do.
func (w *printer) input(s *Span) {
	w.f("\tduration: %ds\n\twarm up time: %ds\n\tcool down time: %ds\n", s.Duration, s.Warmup, s.Cooldown)
	if s.NoAffinity {
		w.f("\taffinity disabled\n")
	}
	if s.Latency {
		w.f("\tmeasuring latency\n")
	}
	if s.IOPS {
		w.f("\tgathering IOPS at intervals of %dms\n", s.Bucket)
	}
	w.f("\trandom seed: %d\n", s.Seed)
	if s.Threads > 0 {
		w.f("\tthread pool with %d threads\n\tnumber of outstanding I/O operations per thread: %d\n", s.Threads, s.Requests)
	}
	if len(s.Affinity) > 0 {
		var all []string
		for _, a := range s.Affinity {
			all = append(all, fmt.Sprintf("%d/%d", a.Group, a.Number))
		}
		w.f("\tadvanced affinity round robin (group/core): %s\n", strings.Join(all, ", "))
	}
	if s.RandomWrites {
		w.f("\tgenerating random data for each write IO\n" +
			"\t  WARNING: this increases the CPU cost of issuing writes and should only\n" +
			"\t           be compared to other results using the -Zr flag\n")
	}
	for i := range s.Targets {
		w.target(s, &s.Targets[i])
	}
}

// target is what is to be done to one target.
func (w *printer) target(s *Span, t *Target) {
	if name, ok := strings.CutPrefix(t.Path, "*"); ok {
		w.f("\tpath: template target '%s'\n", name)
	} else {
		w.f("\tpath: '%s'\n", t.Path)
	}
	w.f("\t\tthink time: %dms\n\t\tburst size: %d\n", t.Think, t.Burst)
	w.caching(t)
	w.content(t)
	if t.Parallel {
		w.f("\t\tusing parallel async I/O\n")
	}
	switch t.WriteRatio {
	case 0:
		w.f("\t\tperforming read test\n")
	case 100:
		w.f("\t\tperforming write test\n")
	default:
		w.f("\t\tperforming mix test (read/write ratio: %d/%d)\n", 100-t.WriteRatio, t.WriteRatio)
	}
	w.f("\t\tblock size: %s\n", sizeText(uint64(t.Block), 0))
	w.places(t)
	if s.pooled() {
		w.f("\t\trelative IO weight in thread pool: %d\n", t.Weight)
	} else {
		w.f("\t\tnumber of outstanding I/O operations per thread: %d\n", t.Outstanding)
	}
	for _, o := range []struct {
		name string
		size uint64
	}{{"base file offset", t.Base}, {"max file size", t.Max}, {"thread stride size", t.ThreadStride}} {
		if o.size > 0 {
			w.f("\t\t%s: %s\n", o.name, sizeText(o.size, 0))
		}
	}
	for _, o := range []struct {
		name string
		on   bool
	}{
		{"FILE_FLAG_SEQUENTIAL_SCAN", t.SequentialScan}, {"FILE_FLAG_RANDOM_ACCESS", t.RandomAccess},
		{"FILE_ATTRIBUTE_TEMPORARY", t.Temporary},
	} {
		if o.on {
			w.f("\t\tusing %s hint\n", o.name)
		}
	}
	w.way(s, t)
}

func (w *printer) caching(t *Target) {
	switch t.Cache {
	case Cached:
		w.f("\t\tusing software cache\n")
	case NoLocalCache:
		w.f("\t\tlocal software cache disabled, remote cache enabled\n")
	case NoOSCache:
		w.f("\t\tsoftware cache disabled\n")
	}
	switch {
	case !t.WriteThrough:
		w.f("\t\tusing hardware write cache, writethrough off\n")
	case t.Cache == NoOSCache:
		w.f("\t\thardware write cache disabled, writethrough on\n")
	default:
		w.f("\t\thardware and software write caches disabled, writethrough on\n")
	}
	if t.MemoryMapped {
		w.f("\t\tmemory mapped I/O enabled%s\n", map[string]string{
			"ViewOfFile":               ", flush mode: FlushViewOfFile",
			"NonVolatileMemory":        ", flush mode: FlushNonVolatileMemory",
			"NonVolatileMemoryNoDrain": ", flush mode: FlushNonVolatileMemory with no drain",
		}[t.FlushType])
	}
}

func (w *printer) content(t *Target) {
	if t.Zero {
		w.f("\t\tzeroing write buffers\n")
	}
	if t.RandomSize == 0 {
		return
	}
	w.f("\t\twrite buffer size: %s\n", sizeText(t.RandomSize, 0))
	if t.RandomFile != "" {
		w.f("\t\twrite buffer source: '%s'\n", t.RandomFile)
	} else {
		w.f("\t\twrite buffer source: random fill\n")
	}
}

func (w *printer) places(t *Target) {
	switch {
	case t.RandomRatio == 100:
		w.f("\t\tusing random I/O (alignment: ")
	case t.RandomRatio > 0:
		w.f("\t\tusing mixed random/sequential I/O (%d%% random) (alignment/stride: ", t.RandomRatio)
	case t.Interlocked:
		w.f("\t\tusing interlocked sequential I/O (stride: ")
	default:
		w.f("\t\tusing sequential I/O (stride: ")
	}
	w.f("%s)\n", sizeText(t.align(), 0))
}

// way is how the I/Os are made.
func (w *printer) way(s *Span, t *Target) {
	if s.Threads == 0 {
		w.f("\t\tthreads per file: %d\n", t.Threads)
		switch {
		case t.Outstanding <= 1:
		case s.CompletionRoutines:
			w.f("\t\tusing completion routines (ReadFileEx/WriteFileEx)\n")
		default:
			w.f("\t\tusing I/O Completion Ports\n")
		}
	}
	w.f("\t\tIO priority: %s\n", [...]string{"unknown", "very low", "low", "normal"}[t.Priority])
	switch {
	case t.IOPS > 0:
		w.f("\t\tthroughput rate-limited to %d IOPS\n", t.IOPS)
	case t.BytesPerMS > 0:
		w.f("\t\tthroughput rate-limited to %d B/ms\n", t.BytesPerMS)
	}
	if len(t.Ranges) == 0 {
		return
	}
	w.f("\t\tIO Distribution:\n")
	at := uint64(0)
	for _, r := range t.Ranges {
		if t.Absolute {
			end := uint64(0)
			if r.Size > 0 {
				end = at + r.Size
			}
			w.f("\t\t   %3d%% of IO => [%s", r.IO, between(at, end))
		} else {
			w.f("\t\t   %3d%% of IO => [%2d%% - %3d%%) of target\n", r.IO, at, at+r.Size)
		}
		at += r.Size
	}
}

// between is a range of bytes and the end of its line; an end of 0 is that of the target.
func between(first, end uint64) string {
	s := "     0   "
	if first > 0 {
		s = sizeText(first, 6)
	}
	if end == 0 {
		return s + " -       end)\n"
	}
	return s + " - " + sizeText(end, 6) + ")\n"
}

func (w *printer) system(s *System) {
	w.f("System information:\n\n\tcomputer name: %s\n\tstart time: %s\n\n", s.ComputerName, startText(s.Start))
	hetero := "n"
	if s.bestClass() > 0 {
		hetero = "y"
	}
	w.f("\tcpu count:\t\t%d\n\tcore count:\t\t%d\n\tgroup count:\t\t1\n\tnode count:\t\t%d\n\tsocket count:\t\t%d\n\theterogeneous cores:\t%s\n\n",
		len(s.Processors), len(s.cores()), len(s.nodes()), len(s.sockets()), hetero)
	w.f("\tactive power scheme:\t%s", s.Power)
	if s.PowerID != "" {
		w.f(" (%s)", s.PowerID)
	}
	w.f("\n")
}

// startText is empty for no time.
func startText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006/01/02 15:04:05 UTC")
}

// span prints what a time span measured.
func (w *printer) span(s *Span, r *SpanResult, sys *System) {
	if r.Elapsed <= 0 {
		w.f("The test was interrupted before the measurements began. No results are displayed.\n")
		return
	}
	w.f("\nactual test time:\t%.2fs\nthread count:\t\t%d\n", r.Elapsed.Seconds(), s.threadCount())
	if s.pooled() {
		w.f("request count:\t\t%d\n", s.Requests)
	}
	w.processors(r, sys)
	w.effective(r)
	w.f("\nTotal IO\n")
	w.section(s, r, (*TargetResult).both)
	w.f("\nRead IO\n")
	w.section(s, r, func(t *TargetResult) Kind { return t.Read })
	w.f("\nWrite IO\n")
	w.section(s, r, func(t *TargetResult) Kind { return t.Write })
	if s.Latency {
		w.latencies(r)
	}
}

// A usage is percentages of a processor's time.
type cpuUsage struct{ busy, user, system, idle float64 }

func (r *SpanResult) usage(i int) cpuUsage {
	c := r.CPUs[i]
	all := float64(c.User + c.System + c.Idle)
	if all <= 0 {
		return cpuUsage{} // A window shorter than a tick.
	}
	u := cpuUsage{user: 100 * float64(c.User) / all, system: 100 * float64(c.System) / all, idle: 100 * float64(c.Idle) / all}
	u.busy = u.user + u.system
	return u
}

// average is that of all processors.
func (r *SpanResult) average() (u cpuUsage) {
	n := float64(len(r.CPUs))
	for i := range r.CPUs {
		c := r.usage(i)
		u.busy, u.user, u.system, u.idle = u.busy+c.busy/n, u.user+c.user/n, u.system+c.system/n, u.idle+c.idle/n
	}
	return u
}

// processors is the table of the processors, with a column for what there are several of.
func (w *printer) processors(r *SpanResult, sys *System) {
	columns := []struct {
		head string
		on   bool
		cell func(ProcessorInfo) string
	}{
		{"Socket | ", len(sys.sockets()) > 1, func(p ProcessorInfo) string { return fmt.Sprintf("%7d| ", p.Socket) }},
		{"Node | ", len(sys.nodes()) > 1, func(p ProcessorInfo) string { return fmt.Sprintf("%5d| ", p.Node) }},
		{"Core | ", sys.threaded(), func(p ProcessorInfo) string { return fmt.Sprintf("%5d| ", p.Core) }},
		{"Class | ", sys.bestClass() > 0, func(p ProcessorInfo) string {
			mark := ' '
			if p.Class == sys.bestClass() {
				mark = 'P'
			}
			return fmt.Sprintf("%5d%c| ", p.Class, mark)
		}},
	}
	head := ""
	for _, c := range columns {
		if c.on {
			head += c.head
		}
	}
	line := strings.Repeat("-", len(head)+40) + "\n"
	w.f("\n%sCPU |  Usage |  User  | Kernel |  Idle\n%s", head, line)
	for i, c := range r.CPUs {
		for _, col := range columns {
			if col.on {
				w.f("%s", col.cell(sys.info(c.CPU)))
			}
		}
		u := r.usage(i)
		w.f("%4d| %6.2f%%| %6.2f%%| %6.2f%%| %6.2f%%\n", c.CPU, u.busy, u.user, u.system, u.idle)
	}
	u := r.average()
	w.f("%s%savg.| %6.2f%%| %6.2f%%| %6.2f%%| %6.2f%%\n", line, strings.Repeat(" ", len(head)), u.busy, u.user, u.system, u.idle)
}

// effective prints the ranges of targets as they were, each once for all that had the same.
func (w *printer) effective(r *SpanResult) {
	type user struct {
		path    string
		threads []int
	}
	type group struct {
		parts []part
		users []user
	}
	var groups []group
	for n, th := range r.Threads {
		for _, t := range th.Targets {
			if len(t.Parts) == 0 {
				continue
			}
			i := slices.IndexFunc(groups, func(g group) bool { return slices.Equal(g.parts, t.Parts) })
			if i < 0 {
				i = len(groups)
				groups = append(groups, group{parts: t.Parts})
			}
			g := &groups[i]
			k := slices.IndexFunc(g.users, func(u user) bool { return u.path == t.Path })
			if k < 0 {
				k = len(g.users)
				g.users = append(g.users, user{path: t.Path})
			}
			g.users[k].threads = append(g.users[k].threads, n)
		}
	}
	for i, g := range groups {
		if i == 0 {
			w.f("\nEffective IO Distributions\n--------------------------\n")
		}
		for _, u := range g.users {
			w.f("target: %s [thread:%s]\n", u.path, runs(u.threads))
		}
		all := uint32(0)
		for _, p := range g.parts {
			all += p.io
		}
		for _, p := range g.parts {
			if all < 100 {
				w.f("    %0.1f%% of IO => [", 100*float64(p.io)/float64(all))
			} else {
				w.f("   %3d%% of IO => [", p.io)
			}
			w.f("%s", between(p.first, p.first+p.size))
		}
	}
}

// runs writes rising numbers: " 0 - 3 5".
func runs(all []int) string {
	s := ""
	for i := 0; i < len(all); {
		k := i
		for k+1 < len(all) && all[k+1] == all[k]+1 {
			k++
		}
		s += fmt.Sprintf(" %d", all[i])
		if k > i+1 {
			s += " -"
		}
		if k > i {
			s += fmt.Sprintf(" %d", all[k])
		}
		i = k + 1
	}
	return s
}
