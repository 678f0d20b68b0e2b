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

// A cpuUsage is how a processor spent its time, in percent.
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

// average is the mean usage of all processors.
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
