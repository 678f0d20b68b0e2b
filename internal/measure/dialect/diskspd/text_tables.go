package diskspd

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// section is one of the three tables.
func (w *printer) section(s *Span, r *SpanResult, kind func(*TargetResult) Kind) {
	head, line := "thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s ", 66
	if s.Latency {
		head, line = head+"|  AvgLat  ", line+11
	}
	if s.IOPS {
		head, line = head+"| IopsStdDev ", line+13
	}
	if s.Latency {
		head, line = head+"| LatStdDev ", line+12
	}
	border := strings.Repeat("-", line+12) + "\n"
	w.f("%s|  file\n%s", head, border)
	var total Kind
	for n := range r.Threads {
		for i := range r.Threads[n].Targets {
			t := &r.Threads[n].Targets[i]
			k := kind(t)
			w.f("%6d | ", n)
			w.figures(s, r, k)
			w.f(" | %s (%s)\n", t.Path, sizeText(t.FileSize, 0))
			total = total.plus(k)
		}
	}
	w.f("%stotal:   ", border)
	w.figures(s, r, total)
	w.f("\n")
}

// figures are the columns of a row.
func (w *printer) figures(s *Span, r *SpanResult, k Kind) {
	sec := r.Elapsed.Seconds()
	w.f("%15d | %12d | %10.2f | %10.2f", k.Bytes, k.Ops, float64(k.Bytes)/(1<<20)/sec, float64(k.Ops)/sec)
	if s.Latency {
		w.f(" | %8.3f", k.meanLat())
	}
	if s.IOPS {
		w.f(" | %10.2f", k.iopsDeviation(time.Duration(s.Bucket)*time.Millisecond))
	}
	if s.Latency {
		if k.has() {
			w.f(" |  %8.3f", k.latDeviation())
		} else {
			w.f(" |       N/A")
		}
	}
}

// textPercentiles are the rows between min and max.
var textPercentiles = []struct {
	name string
	p    float64
}{
	{"min", 0}, {"25th", 25}, {"50th", 50}, {"75th", 75}, {"90th", 90}, {"95th", 95}, {"99th", 99},
	{"3-nines", 99.9}, {"4-nines", 99.99}, {"5-nines", 99.999}, {"6-nines", 99.9999},
	{"7-nines", 99.99999}, {"8-nines", 99.999999}, {"9-nines", 99.9999999}, {"max", 100},
}

// latencies are the tables of percentiles: one for each target, if there are several, and one for all.
func (w *printer) latencies(r *SpanResult) {
	reads, writes, paths := r.sums()
	if len(paths) > 1 {
		for _, path := range paths {
			w.f("\nLatency distribution: %s\n", path)
			w.percentiles(reads[path], writes[path])
		}
	}
	w.f("\nTotal latency distribution:\n")
	var read, write Kind
	for _, path := range paths {
		read, write = read.plus(reads[path]), write.plus(writes[path])
	}
	w.percentiles(read, write)
}

// sums adds up by target. The paths are in their order.
func (r *SpanResult) sums() (reads, writes map[string]Kind, paths []string) {
	reads, writes = map[string]Kind{}, map[string]Kind{}
	for _, th := range r.Threads {
		for _, t := range th.Targets {
			if !slices.Contains(paths, t.Path) {
				paths = append(paths, t.Path)
			}
			reads[t.Path] = reads[t.Path].plus(t.Read)
			writes[t.Path] = writes[t.Path].plus(t.Write)
		}
	}
	return reads, writes, paths
}

func (w *printer) percentiles(read, write Kind) {
	total := read.plus(write)
	w.f("  %%-ile |  Read (ms) | Write (ms) | Total (ms)\n%s\n", strings.Repeat("-", 46))
	cell := func(k Kind, p float64) string {
		if !k.has() {
			return "       N/A"
		}
		return fmt.Sprintf("%10.3f", k.percentile(p))
	}
	for _, p := range textPercentiles {
		w.f("%7s | %s | %s | %10.3f\n", p.name, cell(read, p.p), cell(write, p.p), total.percentile(p.p))
	}
}

// totals add up several time spans.
func (w *printer) totals(spans []SpanResult) {
	var read, write Kind
	sec := 0.0
	for i := range spans {
		if spans[i].Elapsed <= 0 {
			continue
		}
		sec += spans[i].Elapsed.Seconds()
		for _, th := range spans[i].Threads {
			for _, t := range th.Targets {
				read, write = read.plus(t.Read), write.plus(t.Write)
			}
		}
	}
	line := strings.Repeat("-", 79) + "\n"
	w.f("\n\nTotals:\n%s\n\ntype   |       bytes     |     I/Os     |    MiB/s   |  I/O per s\n%s", strings.Repeat("*", 79), line)
	row := func(name string, k Kind) {
		w.f("%-6s | %15d | %12d | %10.2f | %10.2f\n", name, k.Bytes, k.Ops, float64(k.Bytes)/(1<<20)/sec, float64(k.Ops)/sec)
	}
	row("write", write)
	row("read", read)
	w.f("%s", line)
	row("total", read.plus(write))
	w.f("\ntotal test time:\t%.2fs\n", sec)
}
