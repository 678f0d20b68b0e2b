package watch

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/limit/explain"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/layout"
	"plimsoll/internal/text/size"
)

// A Text writes intervals for people.
type Text struct {
	// All shows idle targets too: they were named.
	All bool
	// Devices shows only the devices.
	Devices bool
	// Width is the terminal's width in characters, 0 for no bound.
	Width int
}

// Write returns one interval.
func (t Text) Write(i *Interval) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %.2f s", i.At.Local().Format(time.DateTime), i.Seconds)
	if t.Devices {
		b.WriteString("\n\n")
		b.WriteString(t.disks(i.Devices))
		return b.String()
	}
	idle := 0
	for _, u := range i.Subjects {
		if !u.Busy() {
			idle++
		}
	}
	fmt.Fprintf(&b, "  %s, %d idle\n\n", size.Plural(len(i.Subjects), "target"), idle)
	rows := t.Targets(i)
	switch {
	case len(i.Subjects) == 0 && !t.All:
		b.WriteString("no container runs here\n")
	case rows.Len() == 0:
		b.WriteString("none of them does I/O\n")
	default:
		rows.Write(&b)
	}
	t.Volumes(&b, i.Volumes)
	b.WriteByte('\n')
	b.WriteString(t.disks(i.Devices))
	for n, s := range i.Notes {
		if n == 0 {
			b.WriteByte('\n')
		}
		layout.Sentence(&b, "note: ", s)
	}
	return b.String()
}

// Targets is the table of the targets, and of the I/O that was charged to no group.
func (t Text) Targets(i *Interval) layout.Table {
	rows := layout.Table{Head: []string{"TARGET", "WHERE", "READ", "r/s", "WRITE", "w/s", "AWAIT", "QUEUE", "UTIL", "WAITS", "LIMITS"}, Right: []int{2, 3, 4, 5, 6, 7, 8, 9}}
	for _, u := range i.Subjects {
		if u.Busy() || t.All {
			t.target(&rows, u, i.Seconds)
		}
	}
	t.rootGroup(&rows, i.RootGroup)
	return rows
}

// target adds the rows of one target.
func (t Text) target(rows *layout.Table, u Usage, seconds float64) {
	name := u.Ref
	// row adds a row; the name stands in the first.
	row := func(cells ...string) {
		rows.Add(append([]string{name}, cells...)...)
		name = ""
	}
	switch {
	case u.Ended:
		row("ended")
		return
	case u.Why != "" && u.App == nil:
		row(u.Why)
		return
	}
	held := stopped(u)
	if u.App != nil {
		row("calls of "+countOf(u.App.Processes, "process", "processes"), size.Rate(u.App.ReadCalls.BytesS), size.Count(u.App.ReadCalls.IOsS), size.Rate(u.App.WriteCalls.BytesS), size.Count(u.App.WriteCalls.IOsS), "", "", "", waitsWord(u.WaitTime, seconds), held)
		row("for storage", size.Rate(float64(u.App.StorageRead)/seconds), "", size.Rate(float64(u.App.Wrote())/seconds), "")
	} else {
		row("processes: "+u.AppWhy, "?", "?", "?", "?", "", "", "", waitsWord(u.WaitTime, seconds), held)
	}
	for _, c := range u.Devices {
		row(t.charge(c, u.Rates, escapes(u) && (c.Buffered == explain.Leaks || c.Buffered == explain.Partly))...)
	}
	if u.Why != "" {
		row("devices: "+u.Why, "?", "?", "?", "?")
	}
	t.total(row, u)
	if n := u.Uncharged; n != nil && *n > 0 {
		row("not charged yet, or to no group", "", "", size.Rate(float64(*n)/seconds), "")
	}
	// Limits of groups below the container's own, whose limits are in the rows above, and of groups above it.
	for _, r := range u.Rates {
		if len(u.Groups) > 0 && r.Group != u.Groups[0] {
			row(r.Group+", "+r.Device, "", "", "", "", "", "", "", "", rateWords(r))
		}
	}
	for _, n := range u.Notes {
		row("note: " + n)
	}
}

// total adds a row for all devices together, if it says more than one of the rows.
func (t Text) total(row func(...string), u Usage) {
	counted := 0
	for _, c := range u.Devices {
		if c.Read != nil {
			counted++
		}
	}
	if counted < 2 || u.Read == nil || u.Write == nil {
		return
	}
	bytes := func(t *Total, least bool) string {
		s := size.Rate(t.BytesS)
		if t.Partial || t.Most > t.Bytes || least {
			s = "≥ " + s
		}
		return s
	}
	left := u.Uncharged != nil && *u.Uncharged > 0
	row("devices, each byte once", bytes(u.Read, false), size.Count(u.Read.IOsS), bytes(u.Write, left), size.Count(u.Write.IOsS))
}

// escapes reports whether some of a target's writes may be charged to no group.
func escapes(u Usage) bool { return u.Uncharged == nil || *u.Uncharged > 0 }

// charge is a device's row, after the target's name. least: the charge leaves out buffered writes.
func (t Text) charge(c Charge, rates []Rate, least bool) []string {
	where := c.Name
	switch {
	case len(c.Places) > 0:
		where += ": " + strings.Join(c.Places, ", ")
	case len(c.Above) > 0:
		where += ": beneath " + strings.Join(c.Above, ", ")
	}
	var held []string
	for _, r := range rates {
		if r.Number == c.Number && (len(rates) == 0 || r.Group == rates[0].Group) {
			held = append(held, rateWords(r))
		}
	}
	limits := strings.Join(held, "; ")
	if c.Read == nil {
		return []string{where + " (not counted)", "?", "?", "?", "?", "?", "?", "?", "", limits}
	}
	write := size.Rate(c.Write.BytesS)
	if least {
		write = "≥ " + write
	}
	waits := ""
	if c.Waited != nil {
		waits = size.Duration(time.Duration(*c.Waited * float64(time.Second)))
	}
	await, queue, util := serviceWords(c.Service)
	return []string{where, size.Rate(c.Read.BytesS), size.Count(c.Read.IOsS), write, size.Count(c.Write.IOsS), await, queue, util, waits, limits}
}

// serviceWords are the device's times for a target: exact where nothing else used the device.
func serviceWords(s *Service) (await, queue, util string) {
	if s == nil {
		return "", "", ""
	}
	about := ""
	if !s.Alone {
		about = "≈ "
	}
	return fmt.Sprintf("%s%.2f ms", about, s.Await), fmt.Sprintf("%s%.2f", about, s.Queue), fmt.Sprintf("%s%.0f %%", about, s.Util)
}

// rootGroup adds the rows of the root group.
func (t Text) rootGroup(rows *layout.Table, n *RootGroup) {
	if n == nil {
		return
	}
	name := "(root group)"
	for _, c := range n.Devices {
		rows.Add(append([]string{name}, t.charge(Charge{Name: c.Name, Number: c.Number, Read: c.Read, Write: c.Write, Service: c.Service, Why: c.Why}, n.Rates, false)...)...)
		name = ""
	}
}

// Volumes writes the volumes that have a device of their own.
func (t Text) Volumes(b *strings.Builder, list []VolumeUse) {
	rows := layout.Table{Head: []string{"VOLUME", "DEVICE", "READ", "r/s", "WRITE", "w/s", "USED BY"}, Right: []int{2, 3, 4, 5}}
	for _, v := range list {
		users := strings.Join(v.Users, ", ")
		switch {
		case v.Read != nil && (t.All || v.Read.IOs+v.Write.IOs > 0):
			rows.Add(v.Ref, strings.Join(v.Devices, ", "), size.Rate(v.Read.BytesS), size.Count(v.Read.IOsS), size.Rate(v.Write.BytesS), size.Count(v.Write.IOsS), users)
		case v.Read == nil && t.All:
			rows.Add(v.Ref, strings.Join(v.Devices, ", "), "?", "?", "?", "?", users+" ("+v.Why+")")
		}
	}
	if rows.Len() > 0 {
		b.WriteByte('\n')
		rows.Write(b)
	}
}

// rateWords describes a limit and the rate that was seen.
func rateWords(r Rate) string {
	asked := strconv.FormatInt(r.Asked, 10) + " IOPS"
	if strings.HasSuffix(string(r.Key), "_bps") {
		asked = size.Rate(float64(r.Asked))
	}
	if r.Seen == nil {
		return fmt.Sprintf("%s %s: ?", r.Key, asked)
	}
	words := fmt.Sprintf("%s %s: %.0f %%", r.Key, asked, *r.Seen/float64(r.Asked)*100)
	if r.Standing != Below {
		words += ", " + string(r.Standing)
	}
	if r.Waiting > 0 {
		words += ", " + size.Bytes(r.Waiting) + " wait"
	}
	return words
}

// stopped describes how long the CPU controller stopped a target.
func stopped(u Usage) string {
	if u.Limits == nil || u.Limits.CPUs == 0 || u.CPU == nil {
		return ""
	}
	return fmt.Sprintf("cpus %g: stopped for %.2f s", u.Limits.CPUs, u.CPU.Seconds)
}

// waitsWord is the share of the time in which at least one thread waited for I/O.
func waitsWord(w *WaitTime, seconds float64) string {
	if w == nil {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", min(100, w.Seconds/seconds*100))
}

// countOf is a number of things.
func countOf(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// iostatWide is the width of a line of iostat -x in characters.
const iostatWide = 207

// disks writes the active devices, as iostat -xz does, or as iostat -xsz if the terminal is too narrow.
func (t Text) disks(list []DiskUse) string {
	var b strings.Builder
	short := t.Width > 0 && t.Width < iostatWide
	if short {
		b.WriteString("Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util\n")
	} else {
		b.WriteString("Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\n")
	}
	for _, d := range list {
		if !d.Active {
			continue
		}
		fmt.Fprintf(&b, "%-13s", clean.Line(d.Name))
		if short {
			tps := d.ReadsS + d.WritesS + d.DiscardS
			kbs, await, size := d.ReadKBS+d.WriteKBS+d.DiscKBS, 0.0, 0.0
			if tps > 0 {
				await = (d.ReadAw*d.ReadsS + d.WriteAw*d.WritesS + d.DiscAw*d.DiscardS) / tps
				size = kbs / tps
			}
			fmt.Fprintf(&b, " %8.2f %9.2f %8.2f %7.2f %8.2f %7.2f %6.2f\n", tps, kbs, d.ReadMS+d.WriteMS+d.DiscMS, await, size, d.Queue, d.Util)
			continue
		}
		const kind = " %7.2f %9.2f %8.2f %6.2f %7.2f %8.2f"
		fmt.Fprintf(&b, kind, d.ReadsS, d.ReadKBS, d.ReadMS, d.ReadMPC, d.ReadAw, d.ReadSz)
		fmt.Fprintf(&b, kind, d.WritesS, d.WriteKBS, d.WriteMS, d.WriteMPC, d.WriteAw, d.WriteSz)
		fmt.Fprintf(&b, kind, d.DiscardS, d.DiscKBS, d.DiscMS, d.DiscMPC, d.DiscAw, d.DiscSz)
		fmt.Fprintf(&b, " %7.2f %7.2f %7.2f %6.2f\n", d.FlushesS, d.FlushAw, d.Queue, d.Util)
	}
	return b.String()
}

// OnScreen makes a terminal show a text from its top, cut to the terminal's size.
func OnScreen(text string, height, width int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if room := height - 1; len(lines) > room && room > 1 {
		more := len(lines) - room + 1
		lines = append(lines[:room-1], fmt.Sprintf("... %s: a higher window, --devices or a TARGET shows them", size.Plural(more, "more line")))
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, l := range lines {
		if r := []rune(l); width > 0 && len(r) > width {
			l = string(r[:width-1]) + "…"
		}
		b.WriteString(l + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	return b.String()
}
