package results

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
	"plimsoll/load"
)

// WriteTrial writes the trial of one cell in one block.
func WriteTrial(w io.Writer, db *store.Store, id, key string, block int) error {
	t, err := Trial(db, id, key, block)
	if err != nil {
		return err
	}
	slots, err := db.Slots(id)
	if err != nil {
		return err
	}
	// Record.Order also counts the cells that could not be run, so it is not a number for people.
	nth := 1 + slices.IndexFunc(slots, func(s store.Slot) bool { return s.Key == key && s.Block == block })
	printTrial(w, t, nth, len(slots))
	return nil
}

// Trial reads the trial of one cell in one block. The error is a *usage.Error if there is none.
func Trial(db *store.Store, id, key string, block int) (*record.Trial, error) {
	trials, err := db.Trials(id, store.TrialsOptions{Histograms: true, Key: key, Block: &block})
	if err != nil {
		return nil, err
	}
	if len(trials) == 0 {
		return nil, usage.Errorf("run %s has no trial %s in %s: 'plimsoll results show %s' lists the keys", id, key, record.BlockName(block), id)
	}
	return &trials[0], nil
}

// printCommand prints how a program ended, and its output.
func printCommand(line func(name, format string, args ...any), end *workload.CommandEnd) {
	how := fmt.Sprintf("exit status %d", end.Exit)
	if end.Signal != "" {
		how = "signal " + end.Signal
	}
	line("Program", "%s; %s with %s in its destination", how, size.Plural(int(end.Files), "file"), size.Bytes(end.Bytes))
	for _, out := range []struct {
		name, text string
		bytes      int64
	}{{"Stdout", end.Stdout, end.StdoutBytes}, {"Stderr", end.Stderr, end.StderrBytes}} {
		if out.bytes == 0 {
			continue
		}
		line(out.name, "%s", size.Bytes(out.bytes))
		for l := range strings.SplitSeq(out.text, "\n") {
			line("", "| %s", l)
		}
	}
}

// printTrial prints a trial, number nth of the run's trials.
func printTrial(w io.Writer, t *record.Trial, nth, of int) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%s\t%s\n", name, clean.Text(fmt.Sprintf(format, args...)))
	}
	c := t.Cell
	line("Trial", "%s, the %s of %d in run %s, %s", trialName(t), ordinal(nth), of, t.Run, t.Status)
	line("Cell", "workload %s, engine %s, place %s, limits %s, %s", c.Workload, c.Engine, c.Places(), c.Limits, size.Plural(c.Clients, "client"))
	line("Started", "%s (UTC); took %s, %s of it overhead", Time(t.Started), size.Duration(t.Wall), size.Duration(t.Overhead))
	if t.Status == record.Done {
		line("Value", "%s (%s)", figure(t.Value, t.Metric), t.Metric.Name)
	}
	if end := t.CommandEnd(); end != nil {
		printCommand(line, end)
	}
	printPace(line, t)
	uses := t.DeviceUses()
	for _, g := range uses {
		if len(uses) > 1 {
			line("", "%s:", clientList(g.Clients))
		}
		printDeviceUse(line, g)
	}
	for i := range t.Results {
		printResult(line, i, &t.Results[i])
	}
	out.Flush()
	if t.Status == record.Failed {
		fmt.Fprintln(w, "Failed")
		printFailure(w, t)
	}
	var warnings []warningView
	for _, x := range t.Warnings {
		warnings = append(warnings, warningView{Warning: x})
	}
	printWarnings(w, "Warnings", warnings)
}

// printPace prints the rate of an open loop, and whether a job with a steady state reached it.
func printPace(line func(name, format string, args ...any), t *record.Trial) {
	if a, ok := workload.ArrivalsOf(t.Spec.Job, t.Results); ok && len(t.Results) > 0 {
		line("Open loop", "%s/s offered, %s/s achieved; of %d due, %d started late, at worst by %s, and %d never",
			size.Count(a.Offered), size.Count(a.Achieved), a.Due, a.Late, size.Duration(a.MaxLate), a.Missed)
	}
	f, ok := workload.Steadiness(t.Results, t.Metric)
	if !ok {
		return
	}
	when := "after " + size.Duration(f.After.Round(time.Millisecond))
	if !f.Steady {
		when = "never"
	}
	line("Steady", "%s; the figures are of rounds %d to %d of %d, of %s each", when, f.From+1, f.To, len(t.Results[0].Rounds.Each), size.Duration(t.Spec.Steady.Round))
}

// printDeviceUse prints the device under clients, and its activity.
func printDeviceUse(line func(name, format string, args ...any), g record.DeviceUse) {
	wh, tr := g.Where, g.Truth
	line("On", "%s on %s (%s), kernel %s", wh.FSType, wh.Source, wh.Options, wh.Kernel)
	if wh.Host != "" {
		line("", "on machine %s", wh.Host)
	}
	if d := wh.Device; d != nil {
		line("Device", "%s, %s, scheduler %s, %s", d.Name, size.Bytes(d.Size), d.Scheduler, d.WriteCache)
	}
	for _, s := range []string{wh.Runtime, wh.Daemon, wh.Storage} {
		if s != "" {
			line("", "%s", s)
		}
	}
	line("Bytes read", "%s by the application, %s by its process, %s by its cgroup, %s from the device", known(tr.AppRead), known(tr.ProcRead), known(tr.CgroupRead), known(tr.DeviceRead))
	line("Bytes written", "%s by the application, %s by its process, %s by its cgroup, %s to the device", known(tr.AppWritten), known(tr.ProcWritten), known(tr.CgroupWritten), known(tr.DeviceWritten))
	if tr.DeviceWhy != "" {
		line("", "%s", tr.DeviceWhy)
	}
}

// clientList names clients, numbered from 1: "Clients 1, 3".
func clientList(clients []int) string {
	words := make([]string, len(clients))
	for i, c := range clients {
		words[i] = fmt.Sprint(c + 1)
	}
	return "Clients " + strings.Join(words, ", ")
}

// printResult prints what one client measured.
func printResult(line func(name, format string, args ...any), i int, r *workload.Result) {
	line(fmt.Sprintf("Client %d", i+1), "%s with %s; CPU time %s user, %s system; %s of memory", size.Duration(r.Elapsed), r.IOEngine,
		size.Duration(r.Usage.User), size.Duration(r.Usage.System), size.Bytes(r.Usage.MaxRSS))
	for _, c := range r.Classes {
		name := "latency"
		if c.Response != nil {
			name = "service time"
		}
		line("", "%s: %d operations, %s%s%s%s", c.Name, c.Ops, size.Bytes(c.Bytes), timesText("response time", c.Response), timesText(name, c.Lat), inFlightText(c))
	}
	if v := r.Verified; v.Bytes > 0 {
		line("", "%s checked, and as they were written", size.Bytes(v.Bytes))
	}
}

// timesText returns the text of a histogram, to follow its subject; empty for an empty one.
func timesText(name string, h *hist.Histogram) string {
	if h.Count() == 0 {
		return ""
	}
	text := "; " + name
	for _, p := range []float64{50, 99, 99.9} {
		text += fmt.Sprintf(" p%g %s,", p, size.Duration(time.Duration(h.Percentile(p))))
	}
	return text + " most " + size.Duration(time.Duration(h.Max()))
}

// inFlightText says how many more operations than those of the window the times include.
func inFlightText(c load.Class) string {
	switch {
	case c.AtLeast > 0:
		return fmt.Sprintf("; %d in flight at the end, %d of which never ended: their times are at least those shown", c.InFlight, c.AtLeast)
	case c.InFlight > 0:
		return fmt.Sprintf("; with %d in flight at the end", c.InFlight)
	}
	return ""
}

// known formats bytes; -1 means unknown.
func known(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return size.Bytes(n)
}

// ordinal returns 1st, 2nd, 3rd, 4th, 11th, ...
func ordinal(n int) string {
	end := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			end = "st"
		case 2:
			end = "nd"
		case 3:
			end = "rd"
		}
	}
	return fmt.Sprint(n, end)
}
