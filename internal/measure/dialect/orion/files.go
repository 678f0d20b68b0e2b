package orion

import (
	"fmt"
	"slices"
	"strings"
)

// Kinds of files that a run leaves: <name>_<yyyymmdd_hhmm>_<kind>.
const (
	summaryFile = "summary.txt"
	iopsFile    = "iops.csv"
	latFile     = "lat.csv"
	mbpsFile    = "mbps.csv"
	histFile    = "hist.txt"
	traceFile   = "trace.txt"
)

// fileKinds are all of them.
var fileKinds = []string{summaryFile, iopsFile, latFile, mbpsFile, histFile, traceFile}

// contents are the files of a run. sizes are those of the LUNs in bytes, -1 where it isn't known.
func (t *Test) contents(all []measured, sizes []int64) map[string]string {
	m := t.matrix
	noZero := func(n []int) []int { return slices.DeleteFunc(slices.Clone(n), func(i int) bool { return i == 0 }) }
	small, large := noZero(m.csvSmall), noZero(m.csvLarge)
	return map[string]string{
		summaryFile: t.summary(all, sizes),
		iopsFile: grid(all, small, m.csvLarge, func(m measured) (string, bool) {
			return fmt.Sprintf("%7.0f", m.small.iops()), m.Small > 0
		}),
		latFile: grid(all, small, m.csvLarge, func(m measured) (string, bool) {
			return fmt.Sprintf("%7.2f", m.small.latency()), m.Small > 0
		}),
		mbpsFile: grid(all, m.csvSmall, large, func(m measured) (string, bool) {
			return fmt.Sprintf("%7.2f", m.large.mbps()), m.Large > 0
		}),
		histFile:  histograms(all),
		traceFile: traces(all),
	}
}

// grid is a table with a row for each large load and a column for each small one. What was not measured
// is left out at the end of a row, and blank before that.
func grid(all []measured, small, large []int, cell func(measured) (string, bool)) string {
	// Cells by row: a matrix of millions may have a few thousand measured points.
	rows := map[int]map[int]string{}
	for _, m := range all {
		if text, ok := cell(m); ok {
			if rows[m.Large] == nil {
				rows[m.Large] = map[int]string{}
			}
			rows[m.Large][m.Small] = text
		}
	}
	var b strings.Builder
	b.WriteString("Large/Small")
	for _, s := range small {
		fmt.Fprintf(&b, ",%7d", s)
	}
	b.WriteByte('\n')
	for _, l := range large {
		fmt.Fprintf(&b, "%11d", l)
		left := len(rows[l])
		for i := 0; i < len(small) && left > 0; i++ {
			text, ok := rows[l][small[i]]
			if ok {
				left--
			}
			fmt.Fprintf(&b, ",%7s", text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// summary returns the text of the file that Orion's users read first.
func (t *Test) summary(all []measured, sizes []int64) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("ORION VERSION %s\n", version)
	p("Commandline:\n%s\n", strings.Join(t.Args, " "))
	p("This maps to this test:")
	p("Test: %s", t.Name)
	p("Small IO size: %d KB", t.SmallKB)
	p("Large IO size: %d KB", t.LargeKB)
	if t.Type == Seq {
		p("IO Types: Small Random IOs, Large Sequential Streams")
		p("Number of Concurrent IOs Per Stream: %d", t.StreamIO)
	} else {
		p("IO Types: Small Random IOs, Large Random IOs")
	}
	if t.Simulate == RAID0 {
		p("Simulated Array Type: RAID 0")
		p("Stripe Depth: %d KB", t.StripeKB)
	} else {
		p("Simulated Array Type: CONCAT")
	}
	p("Write: %d%%", t.Write)
	if t.CacheMB == notGiven {
		p("Cache Size: Not Entered")
	} else {
		p("Cache Size: %d MB", t.CacheMB)
	}
	p("Duration for each data point: %d seconds", t.Seconds)
	p("Small Columns:%s", columns(t.matrix.small))
	p("Large Columns:%s", columns(t.matrix.large))
	p("Total Data Points: %d\n", t.matrix.total)
	for i, l := range t.LUNs {
		if sizes[i] < 0 {
			p("Name: %s\tSize: not known", l)
			continue
		}
		p("Name: %s\tSize: %d", l, sizes[i])
	}
	p("%d files found.\n", len(t.LUNs))
	b.WriteString(maxima(all))
	return b.String()
}

// columns is a list of loads as the summary has it.
func columns(n []int) string {
	var b strings.Builder
	for _, i := range n {
		fmt.Fprintf(&b, ",%7d", i)
	}
	return b.String()
}

// histograms is hist.txt: two tables for each point.
func histograms(all []measured) string {
	var b strings.Builder
	b.WriteString("Latencies of each data point: how many I/Os fell in each range. The percentages are cumulative.\n")
	for _, m := range all {
		if m.Small > 0 {
			b.WriteString("\n" + histogram("Small", m.Load, m.small))
		}
		if m.Large > 0 {
			b.WriteString("\n" + histogram("Large", m.Load, m.large))
		}
	}
	return b.String()
}

// traces is trace.txt. Orion's own isn't documented; this one is a table with
// tabs, for programs, with what the other files leave out.
func traces(all []measured) string {
	var b strings.Builder
	b.WriteString("small\tlarge\tclass\tengine\tseconds\tios\tbytes\tiops\tmbps\tavg_us\tmin_us\tmax_us\tstddev_us\tp50_us\tp90_us\tp99_us\tp99.9_us\n")
	for _, m := range all {
		for _, c := range []struct {
			name string
			side side
			n    int
		}{{"small", m.small, m.Small}, {"large", m.large, m.Large}} {
			if c.n == 0 {
				continue
			}
			h := c.side.both
			fmt.Fprintf(&b, "%d\t%d\t%s\t%s\t%.6f\t%d\t%d\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\t%.3f", m.Small, m.Large, c.name, m.engine, c.side.elapsed.Seconds(),
				c.side.ops, c.side.bytes, c.side.iops(), c.side.mbps(), h.Mean()/1000, float64(h.Min())/1000, float64(h.Max())/1000, h.StdDev()/1000)
			for _, q := range []float64{50, 90, 99, 99.9} {
				fmt.Fprintf(&b, "\t%.3f", float64(h.Percentile(q))/1000)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
