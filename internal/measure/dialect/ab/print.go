package ab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/httpload"
)

// banner is what ab prints first. The revision is that of ab in Apache 2.4.41.
const banner = `This is ApacheBench, Version 2.3 <$Revision: 1843412 $>
Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/
Licensed to The Apache Software Foundation, http://www.apache.org/

`

// bannerHTML is what it prints first with -w.
const bannerHTML = `<p>
 This is ApacheBench, Version 2.3 <i>&lt;$Revision: 1843412 $&gt;</i><br>
 Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/<br>
 Licensed to The Apache Software Foundation, http://www.apache.org/<br>
</p>
<p>
`

// heading is the output before the report.
func (t *Test) heading(beat int) string {
	if t.HTML {
		return bannerHTML
	}
	through, dots := "", "..."
	if t.ProxyHost != "" {
		through = fmt.Sprintf("[through %s:%d] ", t.ProxyHost, t.ProxyPort)
	}
	if beat > 0 {
		dots = "\n"
	}
	return fmt.Sprintf("%sBenchmarking %s %s(be patient)%s", banner, t.Host, through, dots)
}

// A tally is the results of all requests, and the report's lines on TLS.
type tally struct {
	httpload.Tally
	tls tlsInfo
}

// report is ab's report.
func (t *Test) report(r *tally) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	done, secs := len(r.Timings), r.Elapsed.Seconds()
	p("\n")
	p("Server Software:        %s", r.Server)
	p("Server Hostname:        %s", t.Host)
	p("Server Port:            %d", t.Port)
	if t.TLS && r.tls.protocol != "" {
		p("SSL/TLS Protocol:       %s", r.tls.protocol)
		if r.tls.key != "" {
			p("Server Temp Key:        %s", r.tls.key)
		}
		if r.tls.name != "" {
			p("TLS Server Name:        %s", r.tls.name)
		}
	}
	p("\nDocument Path:          %s", t.Path)
	if t.AnyLength {
		p("Document Length:        Variable\n")
	} else {
		p("Document Length:        %d bytes\n", r.Length)
	}
	p("Concurrency Level:      %d", t.Concurrency)
	p("Time taken for tests:   %.3f seconds", secs)
	p("Complete requests:      %d", done)
	p("Failed requests:        %d", r.Failed())
	if r.Failed() > 0 {
		p("   (Connect: %d, Receive: %d, Length: %d, Exceptions: %d)", r.Connect, r.Receive, r.WrongLength, r.Exceptions)
	}
	if r.WriteErrors > 0 {
		p("Write errors:           %d", r.WriteErrors)
	}
	if r.NotSuccess > 0 {
		p("Non-2xx responses:      %d", r.NotSuccess)
	}
	if t.KeepAlive {
		p("Keep-Alive requests:    %d", r.KeptAlive)
	}
	p("Total transferred:      %d bytes", r.Read)
	if t.sends() {
		p("Total body sent:        %d", r.Sent)
	}
	p("HTML transferred:       %d bytes", r.Body)
	if secs > 0 && done > 0 {
		p("Requests per second:    %.2f [#/sec] (mean)", float64(done)/secs)
		p("Time per request:       %.3f [ms] (mean)", float64(t.Concurrency)*secs*1000/float64(done))
		p("Time per request:       %.3f [ms] (mean, across all concurrent requests)", secs*1000/float64(done))
		p("Transfer rate:          %.2f [Kbytes/sec] received", float64(r.Read)/1024/secs)
		if t.sends() {
			p("                        %.2f kb/s sent", float64(r.Sent)/1024/secs)
			p("                        %.2f kb/s total", float64(r.Read+r.Sent)/1024/secs)
		}
	}
	if done > 0 {
		b.WriteString(t.times(r.Timings))
	}
	return b.String()
}

// A spread is a column of the requests' times, in microseconds.
type spread struct {
	least, most, median int64
	mean, deviation     float64
}

// newSpread sums values up, which it sorts.
func newSpread(v []int64) spread {
	slices.Sort(v)
	n := len(v)
	s := spread{least: v[0], most: v[n-1], median: v[n/2]}
	// As in ab, the median of an odd number of values is the mean of the middle one and the next, that of an even
	// number the upper of the two in the middle.
	if n > 1 && n%2 == 1 {
		s.median = (v[n/2] + v[n/2+1]) / 2
	}
	for _, x := range v {
		s.mean += float64(x)
	}
	s.mean /= float64(n)
	if n > 1 {
		for _, x := range v {
			s.deviation += (float64(x) - s.mean) * (float64(x) - s.mean)
		}
		s.deviation = math.Sqrt(s.deviation / float64(n-1))
	}
	return s
}

// ms rounds microseconds to milliseconds.
func ms(us int64) int64 { return (us + 500) / 1000 }

// meanMS is the mean in milliseconds, rounded as ab does.
func (s spread) meanMS() int64 { return int64(s.mean+500) / 1000 }

// column is one of a httpload.Timing's values for all requests.
func column(all []httpload.Timing, value func(httpload.Timing) int64) []int64 {
	v := make([]int64, len(all))
	for i, t := range all {
		v[i] = value(t)
	}
	return v
}

// times are the tables of the report.
func (t *Test) times(all []httpload.Timing) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	rows := []struct {
		name, what string
		s          spread
	}{
		{"Connect", "the initial connection time", newSpread(column(all, func(t httpload.Timing) int64 { return t.Connect }))},
		{"Processing", "the processing time", newSpread(column(all, httpload.Timing.Processing))},
		{"Waiting", "the waiting time", newSpread(column(all, func(t httpload.Timing) int64 { return t.Wait }))},
		{"Total", "the total time", newSpread(column(all, func(t httpload.Timing) int64 { return t.Total }))},
	}
	p("\nConnection Times (ms)")
	if t.NoConfidence {
		p("              min   avg   max")
		for _, r := range rows {
			p("%-12s%5d %5d%5d", r.name+":", ms(r.s.least), r.s.meanMS(), ms(r.s.most))
		}
	} else {
		p("              min  mean[+/-sd] median   max")
		for _, r := range rows {
			p("%-12s%5d %4d %5.1f %6d %7d", r.name+":", ms(r.s.least), r.s.meanMS(), r.s.deviation/1000, ms(r.s.median), ms(r.s.most))
		}
		for _, r := range rows {
			b.WriteString(doubt(r.what, r.s))
		}
	}
	if !t.NoPercent && len(all) > 1 {
		p("\nPercentage of the requests served within a certain time (ms)")
		total := column(all, func(t httpload.Timing) int64 { return t.Total })
		slices.Sort(total)
		for _, q := range []int{50, 66, 75, 80, 90, 95, 98, 99} {
			p("  %d%%  %5d", q, ms(total[len(total)*q/100]))
		}
		p(" 100%%  %5d (longest request)", ms(total[len(total)-1]))
	}
	return b.String()
}

// doubt is ab's warning when median and mean are far apart.
func doubt(what string, s spread) string {
	d, sd := math.Abs(float64(s.meanMS()-ms(s.median))), s.deviation/1000
	switch {
	case d > 2*sd:
		return "ERROR: The median and mean for " + what + " are more than twice the standard\n       deviation apart. These results are NOT reliable.\n"
	case d > sd:
		return "WARNING: The median and mean for " + what + " are not within a normal deviation\n        These results are probably not that reliable.\n"
	}
	return ""
}

// csv is the file of -e.
func csv(all []httpload.Timing) string {
	total := column(all, func(t httpload.Timing) int64 { return t.Total })
	slices.Sort(total)
	var b strings.Builder
	b.WriteString("Percentage served,Time in ms\n")
	for q := range 101 {
		i := 0
		if q > 0 {
			// ab reads one past the end for some numbers of requests.
			i = min(int(0.5+float64(len(total)*q)/100), len(total)-1)
		}
		fmt.Fprintf(&b, "%d,%.3f\n", q, float64(total[i])/1000)
	}
	return b.String()
}

// gnuplot is the file of -g, from the fastest to the slowest request.
func gnuplot(all []httpload.Timing) string {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b httpload.Timing) int { return cmp.Compare(a.Total, b.Total) })
	var b strings.Builder
	b.WriteString("starttime\tseconds\tctime\tdtime\tttime\twait\n")
	for _, t := range sorted {
		at := time.UnixMicro(t.Start)
		fmt.Fprintf(&b, "%s\t%d\t%d\t%d\t%d\t%d\n", at.Format("Mon Jan 02 15:04:05 2006"), at.Unix(), ms(t.Connect), ms(t.Processing()), ms(t.Total), ms(t.Wait))
	}
	return b.String()
}
