package show

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/text/clean"
)

// Text returns a table, and below it what to know about the limits.
func (x *Answer) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	rows := 0
	row := func(cells ...string) {
		rows++
		for i, c := range cells {
			cells[i] = clean.Line(c)
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	for _, s := range x.Shown {
		for _, g := range s.Groups {
			if !g.Limits.IsZero() {
				row(clean.Name(s.GroupSet.Name), clean.Name(g.Group), "", g.Limits.Words())
			}
			for _, d := range sorted(g.Devices) {
				row(clean.Name(s.GroupSet.Name), clean.Name(g.Group), x.name(d), g.Devices[d].Words(), strings.Join(s.Places[d], ", "))
			}
		}
	}
	for _, d := range x.DeviceLimits {
		now := "has " + d.Now.Words()
		if d.Now.IsZero() {
			now = "has nothing any more"
		}
		whose := "set for " + d.For
		if when := d.When(); when != "" {
			whose += " " + when
		}
		row("device-wide, in the root group", "/", d.Disk+" ("+d.Device.String()+")", now, whose+": "+d.Limits.Words())
	}
	if rows == 0 {
		for _, s := range x.Shown {
			fmt.Fprintln(&b, clean.Line(s.GroupSet.Name)+": no limits"+own(s.Above))
		}
		if len(x.Shown) == 0 {
			fmt.Fprintln(&b, "the root group: no limit is recorded as set there")
		}
	}
	w.Flush()
	for _, s := range x.Shown {
		for _, g := range s.Above {
			fmt.Fprintln(&b, clean.Line(fmt.Sprintf("%s: note: %s above it has %s: that holds it, too", s.GroupSet.Name, g.Group, x.stateWords(g))))
		}
		if s.Stored != nil {
			fmt.Fprintln(&b, clean.Line(fmt.Sprintf("%s: %s", s.GroupSet.Name, s.Stored)))
		}
		for _, n := range s.Notes {
			fmt.Fprintln(&b, clean.Line(fmt.Sprintf("%s: note: %s", s.GroupSet.Name, n)))
		}
	}
	for _, d := range x.DeviceLimits {
		if d.When() != "" {
			fmt.Fprintln(&b, clean.Line("note: "+d.Still("")))
		}
	}
	if x.Scope != nil {
		for _, n := range x.Scope.Notes {
			fmt.Fprintln(&b, clean.Line("note: "+n))
		}
	}
	return b.String()
}

// own completes "no limits" for a group that is bound by limits of groups above it.
func own(above []cgroup.State) string {
	if len(above) == 0 {
		return ""
	}
	return " of its own"
}

// stateWords returns the limits of a group in one line: "memory=1GiB, write_bps=4MiB on sda (8:0)".
func (x *Answer) stateWords(g cgroup.State) string {
	var words []string
	if !g.Limits.IsZero() {
		words = append(words, g.Limits.Words())
	}
	for _, d := range sorted(g.Devices) {
		words = append(words, g.Devices[d].Words()+" on "+x.name(d))
	}
	return strings.Join(words, ", ")
}

// sorted returns the devices that have limits, ordered by their numbers as text.
func sorted(devices map[device.Number]limit.Limits) []device.Number {
	return slices.SortedFunc(maps.Keys(devices), func(x, y device.Number) int { return strings.Compare(x.String(), y.String()) })
}

// Text returns a table, and the notes.
func (l *List) Text() string {
	var b strings.Builder
	if len(l.Limited) == 0 {
		b.WriteString("nothing is limited on this machine\n")
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, x := range l.Limited {
		if i == 0 {
			fmt.Fprintln(w, "TARGET\tGROUP\tDEVICE\tLIMIT\tSET BY")
		}
		device := ""
		if !x.Device.IsZero() {
			device = x.DeviceName + " (" + x.Device.String() + ")"
		}
		cells := []string{pasted(x.Target), pasted(x.Group), device, x.words, x.By}
		for i, c := range cells {
			cells[i] = clean.Line(c)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
	for _, n := range l.Notes {
		fmt.Fprintln(&b, clean.Line("note: "+n))
	}
	return b.String()
}

// pasted returns a name for pasting into a command line, quoted if a shell or a terminal would change it.
func pasted(name string) string {
	if name == rootGroup {
		return name // Not a name: the text is printed as it is.
	}
	return clean.Shell(name)
}
