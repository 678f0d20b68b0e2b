package ab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/measure/httpload"
)

// reportHTML is ab's report with -w (output_html_results of ab.c).
func (t *Test) reportHTML(r *tally) string {
	var b strings.Builder
	row, cell := t.RowAttributes, cmp.Or(t.CellAttributes, "bgcolor=white")
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "<tr %s><th colspan=2 %s>%s:</th><td colspan=2 %s>%s</td></tr>\n", row, cell, name, cell, fmt.Sprintf(format, args...))
	}
	below := func(format string, v float64) {
		fmt.Fprintf(&b, "<tr %s><td colspan=2 %s>&nbsp;</td><td colspan=2 %s>%s</td></tr>\n", row, cell, cell, fmt.Sprintf(format, v))
	}
	done, secs := len(r.Timings), r.Elapsed.Seconds()
	fmt.Fprintf(&b, "\n\n<table %s>\n", t.TableAttributes)
	line("Server Software", "%s", r.Server)
	line("Server Hostname", "%s", t.Host)
	line("Server Port", "%d", t.Port)
	line("Document Path", "%s", t.Path)
	if t.AnyLength {
		line("Document Length", "Variable")
	} else {
		line("Document Length", "%d bytes", r.Length)
	}
	line("Concurrency Level", "%d", t.Concurrency)
	line("Time taken for tests", "%.3f seconds", secs)
	line("Complete requests", "%d", done)
	line("Failed requests", "%d", r.Failed())
	if r.Failed() > 0 {
		fmt.Fprintf(&b, "<tr %s><td colspan=4 %s >   (Connect: %d, Length: %d, Exceptions: %d)</td></tr>\n", row, cell, r.Connect, r.WrongLength, r.Exceptions)
	}
	if r.NotSuccess > 0 {
		line("Non-2xx responses", "%d", r.NotSuccess)
	}
	if t.KeepAlive {
		line("Keep-Alive requests", "%d", r.KeptAlive)
	}
	line("Total transferred", "%d bytes", r.Read)
	if t.sends() {
		line("Total body sent", "%d", r.Sent)
	}
	line("HTML transferred", "%d bytes", r.Body)
	if secs > 0 && done > 0 {
		line("Requests per second", "%.2f", float64(done)/secs)
		line("Transfer rate", "%.2f kb/s received", float64(r.Read)/1024/secs)
		if t.sends() {
			below("%.2f kb/s sent", float64(r.Sent)/1024/secs)
			below("%.2f kb/s total", float64(r.Read+r.Sent)/1024/secs)
		}
	}
	if done > 0 {
		b.WriteString(t.timesHTML(r.Timings))
	}
	return b.String() + "</table>\n"
}

// timesHTML is the table's part about times. Processing is the difference of the other two, in each column, as in ab.
func (t *Test) timesHTML(all []httpload.Timing) string {
	var b strings.Builder
	row, cell := t.RowAttributes, cmp.Or(t.CellAttributes, "bgcolor=white")
	fmt.Fprintf(&b, "<tr %s><th %s colspan=4>Connection Times (ms)</th></tr>\n", row, cell)
	fmt.Fprintf(&b, "<tr %s><th %s>&nbsp;</th> <th %[2]s>min</th>   <th %[2]s>avg</th>   <th %[2]s>max</th></tr>\n", row, cell)
	figures := func(value func(httpload.Timing) int64) [3]int64 {
		v := column(all, value)
		sum := int64(0)
		for _, x := range v {
			sum += x
		}
		return [3]int64{ms(slices.Min(v)), ms(sum / int64(len(v))), ms(slices.Max(v))}
	}
	connect, total := figures(func(t httpload.Timing) int64 { return t.Connect }), figures(func(t httpload.Timing) int64 { return t.Total })
	for _, f := range []struct {
		name string
		v    [3]int64
	}{{"Connect", connect}, {"Processing", [3]int64{total[0] - connect[0], total[1] - connect[1], total[2] - connect[2]}}, {"Total", total}} {
		fmt.Fprintf(&b, "<tr %s><th %s>%s:</th><td %[2]s>%5[4]d</td><td %[2]s>%5[5]d</td><td %[2]s>%5[6]d</td></tr>\n", row, cell, f.name, f.v[0], f.v[1], f.v[2])
	}
	return b.String()
}
