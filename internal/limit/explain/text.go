package explain

import (
	"cmp"
	"fmt"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/layout"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
)

// An Answer explains some paths, as limit explain prints it.
type Answer struct {
	// Host is the machine: the versions of its I/O and memory controllers.
	Host *Host `json:"host"`
	// Paths are in the order of the request.
	Paths  []*Explanation `json:"paths"`
	Shared []Shared       `json:"shared"`
}

// Refused is the refusal of the paths that can't be limited; nil if all can.
func (x Answer) Refused() error {
	var names []string
	for _, e := range x.Paths {
		if !e.Possible {
			names = append(names, e.Path)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return refusal.New(strings.Join(names, " and ") + " can't be limited here: see the alternatives")
}

// Text returns an answer for people.
func (x Answer) Text() string {
	var b strings.Builder
	for i, e := range x.Paths {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", clean.Line(e.Path))
		drawLayer(&b, e.Tree, nil, "  ", "  ")
		if !e.Possible {
			layout.Sentence(&b, "  can't be limited: ", e.Why)
			layout.Sentence(&b, "  instead: ", e.Instead)
			continue
		}
		for _, s := range e.Hard {
			layout.Sentence(&b, "  limits ", spotWords(s))
		}
		for _, w := range e.Weights {
			layout.Sentence(&b, "  weights ", weightWords(w))
			if w.Fix != "" {
				layout.Sentence(&b, "    fix: ", w.Fix)
			}
		}
		modeTable(&b, e.Modes, x.Host.IO == 1)
		for _, n := range e.Notes {
			layout.Sentence(&b, "  note: ", n)
		}
	}
	for _, s := range x.Shared {
		b.WriteByte('\n')
		layout.Sentence(&b, "shared: ", s.What+".")
		if s.Instead != "" {
			layout.Sentence(&b, "instead: ", s.Instead)
		}
	}
	return b.String()
}

// drawLayer draws a layer and those below it, each with its marks. above is the layer above l; head begins its first
// line, body the following ones.
func drawLayer(b *strings.Builder, l, above *Layer, head, body string) {
	line := head + layerWords(l, above)
	if marks := layerMarks(l, above); len(marks) > 0 {
		line += "  <-- " + strings.Join(marks, "; ")
	}
	b.WriteString(clean.Line(line) + "\n")
	for i, under := range l.Below {
		branch, next := "├─ ", "│  "
		if i == len(l.Below)-1 {
			branch, next = "└─ ", "   "
		}
		drawLayer(b, under, l, body+branch, body+next)
	}
}

// layerMarks are the effects of limits at a layer.
func layerMarks(l, above *Layer) (marks []string) {
	if l.Limit {
		marks = append(marks, "limits go here")
	}
	if w := l.Weight; w != nil {
		switch {
		case w.Works():
			marks = append(marks, "weights go here ("+w.By+")")
		case w.By != "":
			marks = append(marks, "weights have no effect here")
		default:
			marks = append(marks, "weights go here, without effect")
		}
	}
	// The mark stands at the layer where I/O begins to escape.
	if above != nil && l.Charge != above.Charge {
		what := map[Verdict]string{Leaks: "a limit here leaks", Partly: "a limit here leaks in part", Late: "a limit here acts late"}[l.Charge]
		marks = append(marks, what+": "+l.Lost)
	}
	return marks
}

// layerWords describes a layer.
func layerWords(l, above *Layer) string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if l.Kind == device.KindMount {
		text := mountWords(l.Node)
		if l.Why != "" && above != nil {
			text += ": " + l.Why
		}
		return text
	}
	d := l.Device
	name := l.Name
	if !d.Number.IsZero() {
		name += " (" + d.Number.String() + ")"
	}
	add("%s%s", rolePrefix(l.Role), name)
	switch l.Kind {
	case device.KindPartition:
		add("partition")
	case device.KindLoop:
		add("loop device")
		if l.DirectIO {
			add("direct I/O")
		} else {
			add("buffered")
		}
		if l.File != "" {
			add("file %s", l.File)
		}
	case device.KindDM:
		add("%s", mapperWords(l.Node))
	case device.KindMD:
		add("software RAID %s", l.Level)
	case device.KindBcache:
		add("bcache, %s", cmp.Or(l.CacheMode, "mode unknown"))
	case device.KindMultipath:
		add("NVMe namespace with several paths")
	case device.KindPath:
		add("path of the namespace")
	default:
		add("%s", cmp.Or(d.Model, "disk"))
	}
	if d.Size > 0 {
		add("%s", size.Bytes(d.Size))
	}
	if d.MQ && d.Scheduler != "" && l.Kind != device.KindPartition {
		add("scheduler %s", d.Scheduler)
	}
	if d.Rotational {
		add("rotational")
	}
	if l.Why != "" {
		add("%s", l.Why)
	}
	return strings.Join(words, ", ")
}

// rolePrefix is a layer's role for the layer above.
func rolePrefix(role string) string {
	switch role {
	case device.RoleUpper:
		return "upper folder: "
	case device.RoleLower:
		return "lower folders, read only: "
	case device.RoleFile:
		return "its file: "
	case device.RoleLog:
		return "log: "
	case device.RoleRealtime:
		return "realtime section: "
	case device.RoleCache:
		return "cache: "
	case device.RoleBacking:
		return "data: "
	}
	return ""
}

// mountWords describes a mount.
func mountWords(n *device.Node) string {
	m := n.Mount
	s := rolePrefix(n.Role) + m.FSType + " on " + m.Point
	switch {
	case m.FSType == device.RawBlock:
		s = "the device itself"
	case m.FSType == "overlay" && m.Upper != "":
		s += ", writes to " + m.Upper
	case m.Root != "/" && m.Root != "" && m.FSType != "overlay":
		s += ", its folder " + m.Root
	}
	if n.Level != "" {
		s += ", data " + n.Level
	}
	if m.Has("ro") {
		s += ", read-only"
	}
	return s
}

// mapperWords describes a device of the device mapper.
func mapperWords(n *device.Node) string {
	what := "device mapper"
	switch {
	case n.Maker == "LVM":
		what = "LVM"
	case n.Maker == "CRYPT":
		what = "encryption"
	case n.Maker == "mpath":
		what = "multipath"
	case strings.HasPrefix(n.Maker, "part"):
		what = "partition by device mapper"
	}
	if n.Label != "" {
		what += " " + n.Label
	}
	var kinds []string
	for _, t := range n.Targets {
		kinds = append(kinds, strings.TrimSpace(t.Type+" "+t.Level))
	}
	if len(kinds) > 0 {
		what += " (" + strings.Join(kinds, ", ") + ")"
	}
	return what
}

// spotWords describes a device for limits.
func spotWords(s Spot) string {
	text := fmt.Sprintf("go on %s (%s)", s.Name, s.Number)
	if s.ReadsOnly {
		text = fmt.Sprintf("on reads of the lower folders go on %s (%s)", s.Name, s.Number)
	}
	if s.Why != "" {
		text += ": " + s.Why
	}
	if s.MaxIO > 0 {
		text += fmt.Sprintf(". An I/O there has at most %s, so 100 IOPS allow up to %s", size.Bytes(s.MaxIO), size.Rate(float64(100*s.MaxIO)))
	}
	return text
}

// weightWords describes the effect of a weight on a disk.
func weightWords(w Weight) string {
	name := w.Name
	if !w.Number.IsZero() {
		name += " (" + w.Number.String() + ")"
	}
	if w.Works() {
		text := "go on " + name + ", by " + w.By
		if w.Charge == Partly {
			text += ", for what is charged there"
		}
		return text
	}
	return "go on " + name + ", without effect: " + w.Why
}

// modeTable writes what a limit in a container's own group holds. With version 1, a second column has what an
// additional limit in the root group holds.
func modeTable(b *strings.Builder, modes []Mode, root bool) {
	heads := map[string]string{
		Read: "reads beyond the page cache", Direct: "direct writes", DSync: "O_DSYNC writes",
		BufferedSync: "buffered writes, then fsync", Buffered: "buffered writes",
	}
	words := map[Verdict]string{
		Covered: "yes", Late: "yes, late", Partly: "in part", Leaks: "NO", Never: "never done", "": "",
	}
	row := func(what, group, device string) {
		if !root {
			device = ""
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-30s %-12s  %s", what, group, device), " ") + "\n")
	}
	row("a limit holds", "in the group", "and in the root group")
	last := ""
	for _, m := range modes {
		row("  "+heads[m.Name], words[m.Group], words[m.Device])
		if m.Why != "" && m.Why != last {
			layout.Sentence(b, "        ", m.Why)
		}
		last = m.Why
	}
}
