package diskspd

import (
	"encoding/xml"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// ProfileXML is the profile as DiskSpd writes it and reads it with -X.
func ProfileXML(p *Profile) string {
	var w printer
	w.profileXML(p)
	return w.String()
}

// ResultsXML is DiskSpd's XML report. It has no prolog: programs look for <Results> in the first line.
func ResultsXML(p *Profile, r *Results) string {
	var w printer
	w.block("Results", func() {
		w.systemXML(&r.System)
		w.profileXML(p)
		for i := range r.Spans {
			w.block("TimeSpan", func() { w.spanXML(&p.Spans[i], &r.Spans[i], &r.System) })
		}
	})
	return w.String()
}

// line writes an indented line.
func (w *printer) line(format string, args ...any) {
	w.WriteString(strings.Repeat(" ", w.indent))
	w.f(format+"\n", args...)
}

// block writes an element that holds others. tag may have attributes.
func (w *printer) block(tag string, inside func()) {
	w.line("<%s>", tag)
	w.indent += 2
	inside()
	w.indent -= 2
	name, _, _ := strings.Cut(tag, " ")
	w.line("</%s>", name)
}

// v writes an element with a value.
func (w *printer) v(name string, value any) {
	w.line("<%s>%s</%s>", name, escape(fmt.Sprint(value)), name)
}

// ms and percent write numbers as DiskSpd does.
func (w *printer) ms(name string, v float64)      { w.line("<%s>%.3f</%s>", name, v, name) }
func (w *printer) percent(name string, v float64) { w.line("<%s>%.2f</%s>", name, v, name) }

// escape is what DiskSpd leaves out: a path may hold an ampersand.
func escape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // a Builder doesn't fail
	return b.String()
}

func (w *printer) systemXML(s *System) {
	w.block("System", func() {
		w.v("ComputerName", s.ComputerName)
		w.block("Tool", func() {
			w.v("Version", Version)
			w.v("VersionDate", VersionDate)
		})
		w.v("RunTime", startText(s.Start))
		w.line("<PowerScheme Name=\"%s\" Guid=\"%s\"/>", escape(s.Power), escape(s.PowerID))
		w.block(fmt.Sprintf("ProcessorTopology Heterogeneous=\"%t\"", s.bestClass() > 0), func() { w.topology(s) })
	})
}

// topology lists all processors as one group.
func (w *printer) topology(s *System) {
	all := s.mask(func(ProcessorInfo) bool { return true })
	w.line("<Group Group=\"0\" MaximumProcessors=\"%d\" ActiveProcessors=\"%d\" ActiveProcessorMask=\"%s\"/>", len(s.Processors), len(s.Processors), all)
	for _, n := range s.nodes() {
		w.block(fmt.Sprintf("Node Node=\"%d\"", n), func() {
			w.line("<Group Group=\"0\" Mask=\"%s\"/>", s.mask(func(p ProcessorInfo) bool { return p.Node == n }))
		})
	}
	for _, n := range s.sockets() {
		w.block(fmt.Sprintf("Socket Socket=\"%d\"", n), func() {
			w.line("<Group Group=\"0\" Mask=\"%s\"/>", s.mask(func(p ProcessorInfo) bool { return p.Socket == n }))
		})
	}
	for _, n := range s.cores() {
		class := 0
		for _, p := range s.Processors {
			if p.Core == n {
				class = p.Class
			}
		}
		w.line("<Core Group=\"0\" Core=\"%d\" Mask=\"%s\" EfficiencyClass=\"%d\"/>", n, s.mask(func(p ProcessorInfo) bool { return p.Core == n }), class)
	}
}

// mask has a bit for each processor that is in it. A group of Windows has 64 at most; here it has as many as needed.
func (s *System) mask(in func(ProcessorInfo) bool) string {
	m := new(big.Int)
	for _, p := range s.Processors {
		if in(p) {
			m.SetBit(m, p.Number, 1)
		}
	}
	return "0x" + m.Text(16)
}

func (w *printer) spanXML(s *Span, r *SpanResult, sys *System) {
	if r.Elapsed <= 0 {
		w.v("Error", "The test was interrupted before the measurements began. No results are displayed.")
		return
	}
	w.percent("TestTimeSeconds", r.Elapsed.Seconds())
	w.v("ThreadCount", s.threadCount())
	w.v("RequestCount", s.Requests)
	w.v("ProcCount", len(sys.Processors))
	w.block("CpuUtilization", func() { w.processorsXML(r, sys) })
	var read, write Kind
	for _, th := range r.Threads {
		for _, t := range th.Targets {
			read, write = read.plus(t.Read), write.plus(t.Write)
		}
	}
	if s.Latency {
		w.latencyXML(read, write)
	}
	interval := time.Duration(s.Bucket) * time.Millisecond
	if s.IOPS {
		w.iopsXML(read, write, interval)
	}
	for n := range r.Threads {
		w.block("Thread", func() {
			w.v("Id", n)
			for i := range r.Threads[n].Targets {
				t := &r.Threads[n].Targets[i]
				w.block("Target", func() { w.rowXML(s, t, interval) })
			}
		})
	}
}

func (w *printer) processorsXML(r *SpanResult, sys *System) {
	percents := func(u cpuUsage) {
		w.percent("UsagePercent", u.busy)
		w.percent("UserPercent", u.user)
		w.percent("KernelPercent", u.system)
		w.percent("IdlePercent", u.idle)
	}
	for i, c := range r.CPUs {
		p := sys.info(c.CPU)
		w.block("CPU", func() {
			w.v("Socket", p.Socket)
			w.v("Node", p.Node)
			w.v("Group", 0)
			w.v("Core", p.Core)
			w.v("EfficiencyClass", p.Class)
			w.v("Id", c.CPU)
			percents(r.usage(i))
		})
	}
	w.block("Average", func() { percents(r.average()) })
}

// xmlPercentiles are DiskSpd's: 0 to 100, and the nines.
var xmlPercentiles = func() []string {
	var all []string
	for p := range 100 {
		all = append(all, strconv.Itoa(p))
	}
	for n := range 7 {
		all = append(all, "99."+strings.Repeat("9", n+1))
	}
	return append(all, "100")
}()

func (w *printer) latencyXML(read, write Kind) {
	total := read.plus(write)
	kinds := []struct {
		k                   Kind
		mean, deviation, at string
	}{
		{read, "AverageReadMilliseconds", "ReadLatencyStdev", "ReadMilliseconds"},
		{write, "AverageWriteMilliseconds", "WriteLatencyStdev", "WriteMilliseconds"},
		{total, "AverageTotalMilliseconds", "LatencyStdev", "TotalMilliseconds"},
	}
	head := fmt.Sprintf("Latency ReadHistoBuckets=\"%d\" WriteHistoBuckets=\"%d\" TotalHistoBuckets=\"%d\"", filled(read), filled(write), filled(total))
	w.block(head, func() {
		for _, k := range kinds {
			if k.k.has() {
				w.ms(k.mean, k.k.meanLat())
				w.ms(k.deviation, k.k.latDeviation())
			}
		}
		for _, name := range xmlPercentiles {
			p, _ := strconv.ParseFloat(name, 64) // they are numbers
			w.block("Bucket", func() {
				w.v("Percentile", name)
				for _, k := range kinds {
					if k.k.has() {
						w.ms(k.at, k.k.percentile(p))
					}
				}
			})
		}
	})
}

// filled counts the buckets of the histogram that aren't empty.
func filled(k Kind) (n int) {
	if k.Lat == nil {
		return 0
	}
	for range k.Lat.All() {
		n++
	}
	return n
}

func (w *printer) rowXML(s *Span, t *TargetResult, interval time.Duration) {
	total := t.both()
	w.v("Path", t.Path)
	w.v("BytesCount", total.Bytes)
	w.v("FileSize", t.FileSize)
	w.v("IOCount", total.Ops)
	w.v("ReadBytes", t.Read.Bytes)
	w.v("ReadCount", t.Read.Ops)
	w.v("WriteBytes", t.Write.Bytes)
	w.v("WriteCount", t.Write.Ops)
	if len(t.Parts) > 0 {
		w.block("Distribution", func() { w.block("Absolute", func() { w.partsXML(t.Parts) }) })
	}
	if s.Latency {
		for _, k := range []struct {
			k               Kind
			mean, deviation string
		}{
			{t.Read, "AverageReadLatencyMilliseconds", "ReadLatencyStdev"},
			{t.Write, "AverageWriteLatencyMilliseconds", "WriteLatencyStdev"},
			{total, "AverageLatencyMilliseconds", "LatencyStdev"},
		} {
			if k.k.has() {
				w.ms(k.mean, k.k.meanLat())
				w.ms(k.deviation, k.k.latDeviation())
			}
		}
	}
	if s.IOPS {
		w.iopsXML(t.Read, t.Write, interval)
	}
}

// partsXML fills gaps with ranges that take nothing.
func (w *printer) partsXML(parts []part) {
	at := uint64(0)
	for _, p := range parts {
		if p.first > at {
			w.line("<Range IO=\"0\">%d</Range>", p.first-at)
		}
		w.line("<Range IO=\"%d\">%d</Range>", p.io, p.size)
		at = p.first + p.size
	}
}

// attributes are the latencies of an interval. Least, greatest and deviation are not kept for each one:
// they are NaN, because there are programs that want all twelve attributes. An interval without I/Os
// has zeros, as DiskSpd's.
func (b bucket) attributes(kind string) string {
	unknown, mean := math.NaN(), 0.0
	if b.ops == 0 {
		unknown = 0
	} else {
		mean = b.lat / b.ops / 1e6
	}
	return fmt.Sprintf("%[1]sMinLatencyMilliseconds=\"%.3[2]f\" %[1]sMaxLatencyMilliseconds=\"%.3[2]f\" %[1]sAvgLatencyMilliseconds=\"%.3[3]f\" %[1]sLatencyStdDev=\"%.3[2]f\"", kind, unknown, mean)
}

// iopsXML is the series of the intervals.
func (w *printer) iopsXML(read, write Kind, interval time.Duration) {
	w.block("Iops", func() {
		for _, k := range []struct {
			name string
			k    Kind
		}{{"ReadIopsStdDev", read}, {"WriteIopsStdDev", write}, {"IopsStdDev", read.plus(write)}} {
			if k.k.Ops > 0 && len(k.k.Buckets) > 0 {
				w.ms(k.name, k.k.iopsDeviation(interval))
			}
		}
		sec := interval.Seconds()
		for i := range max(len(read.Buckets), len(write.Buckets)) {
			var r, wr bucket
			if i < len(read.Buckets) {
				r = read.Buckets[i]
			}
			if i < len(write.Buckets) {
				wr = write.Buckets[i]
			}
			w.line("<Bucket SampleMillisecond=\"%d\" Read=\"%.0f\" Write=\"%.0f\" Total=\"%.0f\" %s %s/>",
				interval.Milliseconds()*int64(i+1), r.ops/sec, wr.ops/sec, (r.ops+wr.ops)/sec, r.attributes("Read"), wr.attributes("Write"))
		}
	})
}
