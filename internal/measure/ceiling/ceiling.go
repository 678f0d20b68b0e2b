// Package ceiling knows the greatest rates that the records of this machine have of a device, so that a limit may be a percentage of them.
package ceiling

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/stats"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// Resolve turns percentages of what the scope's device was measured to carry into numbers, and adds a note that names the measurement.
// state is the folder of the records. An error of usage is about what was asked for.
func Resolve(state string, ask limit.Ask, s *hold.Scope) (limit.Change, error) {
	var most Measured
	if len(ask.Percent) > 0 {
		devices := s.Devices()
		if len(devices) != 1 {
			return limit.Change{}, usage.Errorf("a percentage is of one device, and this is on %d: name one with --volume, --path or --device", len(devices))
		}
		var err error
		if most, err = Of(state, diskOf(s, devices[0])); err != nil {
			return limit.Change{}, err
		}
	}
	change, err := ask.Resolve(most.Limits())
	if errors.Is(err, limit.ErrNoCeiling) {
		return change, usage.Errorf("%w%s (plimsoll run measures it: with a plan that has a place on that device, and direct I/O)", err, most.Reasons())
	}
	if err != nil {
		return change, &usage.Error{Err: err}
	}
	for _, k := range ask.Relative() {
		s.Notes = append(s.Notes, fmt.Sprintf("%s: %v%% of %s", k, ask.Percent[k], most.greatest[slices.Index(rateKeys, k)]))
	}
	return change, nil
}

// diskOf is what is known of a disk that a scope is on.
func diskOf(s *hold.Scope, spot explain.Spot) device.Device {
	found := device.Device{Name: spot.Name, Number: spot.Number}
	var visit func(*explain.Layer)
	visit = func(l *explain.Layer) {
		if l.Device != nil && l.Device.Number == spot.Number {
			found = *l.Device
		}
		for _, b := range l.Below {
			visit(b)
		}
	}
	for _, g := range s.Places {
		if g.Explanation.Tree != nil {
			visit(g.Explanation.Tree)
		}
	}
	return found
}

// rateKeys are the limits that can be percentages, in the order of what is measured.
var rateKeys = []limit.Key{limit.ReadBPS, limit.WriteBPS, limit.ReadIOPS, limit.WriteIOPS}

// Measured is what the records have of a device.
type Measured struct {
	// greatest has for each of rateKeys the cell with the greatest rate.
	greatest [4]ceiling
	// name is the device's. others counts trials on another device that had this name, unnamed those on a device of the name that nothing identifies,
	// doubted those on this device whose figures are in doubt. unknown: nothing identifies the device itself, so no trial counts.
	name                     string
	others, unnamed, doubted int
	unknown                  bool
	// by is how many trials each check doubts.
	by map[string]int
}

// A ceiling is the greatest rate of one kind that was measured.
type ceiling struct {
	key  limit.Key
	rate float64
	cell *cell
	// brief is a greater one that was measured for too short a time to count beside this one; nil without.
	brief *ceiling
}

// A cell is one of a run whose trials count for a device's ceiling. A baseline and its control are one cell.
type cell struct {
	run, key string
	// took is the time that was measured in all trials, and trials how many there are.
	took   time.Duration
	trials int
	size   int64
	rates  [4][]float64
	// doubts are the checks that have other doubts about the cell.
	doubts []string
}

// leastCarried is how long a cell must be measured before its rate counts as one that the device carries: ten of the kernel's throttle slices.
// Shorter cells, as of a quick run, count only where there is no longer one.
const leastCarried = time.Second

// add replaces c by another cell's rate if that says more about the device.
func (c *ceiling) add(n ceiling) {
	long, longer := c.cell != nil && c.cell.took >= leastCarried, n.cell.took >= leastCarried
	switch {
	case n.rate <= 0:
	case longer == long && n.rate > c.rate:
		n.brief = c.brief
		*c = n
	case longer && !long:
		old := *c
		if *c = n; old.rate > n.rate {
			c.brief = &old
		}
	case !longer && long && n.rate > c.rate && (c.brief == nil || n.rate > c.brief.rate):
		c.brief = &n
	}
	if c.brief != nil && c.brief.rate <= c.rate {
		c.brief = nil
	}
}

// String says what was measured, by which run, with which I/Os and for how long.
func (c ceiling) String() string {
	b := c.cell
	text := fmt.Sprintf("%s, the most that was measured: %s of run %s, in I/Os of %s, %s in %s", c.key.PerSecond(c.rate), b.key, b.run, size.Format(b.size),
		size.Plural(b.trials, "trial"), size.Duration(b.took.Round(time.Millisecond)))
	if len(b.doubts) > 0 {
		text += " (in doubt: " + strings.Join(b.doubts, ", ") + ")"
	}
	if n := c.brief; n != nil {
		text += fmt.Sprintf("; run %s saw %s, but in %s only", n.cell.run, n.key.PerSecond(n.rate), size.Duration(n.cell.took.Round(time.Millisecond)))
	}
	return text
}

// Limits are the rates, whole.
func (m Measured) Limits() (l limit.Limits) {
	for i, k := range rateKeys {
		*l.Whole(k) = int64(m.greatest[i].rate)
	}
	return l
}

// Reasons say why records don't count, "" if there are none.
func (m Measured) Reasons() string {
	var words []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			words = append(words, fmt.Sprintf("%d trials ", n)+fmt.Sprintf(format, args...))
		}
	}
	if m.unknown {
		words = append(words, m.name+" has no serial number or the like, so records can't identify it")
	}
	add(m.others, "were on another device that was called %s, or on this one before a reboot (nothing identifies it across one)", m.name)
	add(m.unnamed, "don't say which device was called %s", m.name)
	add(m.doubted, "on it are in doubt (%s)", m.doubts())
	if len(words) == 0 {
		return ""
	}
	return ": " + strings.Join(words, "; ")
}

// Named are the greatest rates that the records in a state folder have of the device that has a name now.
func Named(state, name string) (limit.Limits, error) {
	d := device.Device{Name: name}
	fs := device.Host()
	if number, err := device.ParseNumber(device.Text(fs.Sys, "class", "block", name, "dev")); err == nil {
		d.Number = number
		if found, err := fs.Disk(d.Number); err == nil {
			d = *found
		}
	}
	m, err := Of(state, d)
	if err == nil && m.Limits().IsZero() && m.Reasons() != "" {
		err = fmt.Errorf("%w%s", limit.ErrNoCeiling, m.Reasons())
	}
	return m.Limits(), err
}

// Of looks for the greatest rates of a device, under any name that it had. It takes the median over the trials of each cell, and
// then the greatest median. Cells that were measured for less than leastCarried count only if there are no others. A trial whose
// figure isn't the device's doesn't count.
func Of(state string, d device.Device) (Measured, error) {
	m := Measured{name: d.Name, unknown: d.Identity == ""}
	path := filepath.Join(state, "plimsoll.db")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return Measured{}, nil
	}
	db, err := store.Open(path)
	if err != nil {
		return m, err
	}
	defer db.Close()
	runs, err := db.IDs()
	if err != nil {
		return m, err
	}
	for _, run := range runs {
		cells := map[record.Cell]*cell{}
		for t, err := range db.EachTrial(run, store.TrialsOptions{}) {
			if err != nil {
				return m, err
			}
			on, rates, ok := Rates(t)
			if !ok || !m.Counts(t, on, d) {
				continue
			}
			of := t.Cell
			of.Control = false
			c := cells[of]
			if c == nil {
				c = &cell{run: run, key: t.Key}
				cells[of] = c
			}
			c.add(t, rates)
		}
		for _, c := range cells {
			for i := range c.rates {
				m.greatest[i].add(ceiling{key: rateKeys[i], rate: stats.Median(c.rates[i]), cell: c})
			}
		}
	}
	return m, nil
}

// add takes in a trial that counts.
func (b *cell) add(t record.Trial, rates [4]float64) {
	for i := range rates {
		b.rates[i] = append(b.rates[i], rates[i])
	}
	if !t.Cell.Control {
		b.key = t.Key // The control's own key names a cell that no plan has.
	}
	b.trials++
	took := time.Duration(0)
	for _, r := range t.Results {
		took = max(took, r.Elapsed)
	}
	b.took += took
	_, b.size, _ = t.Spec.Job.BlockSizes()
	for _, w := range t.Warnings {
		if w.Severity == record.Doubt && !slices.Contains(b.doubts, w.Check) {
			b.doubts = append(b.doubts, w.Check)
		}
	}
}

// notDevice are the doubts that say that a figure isn't what the device can carry: another figure than the device's, or one that
// it reached for a moment. Each has what it means and what helps.
var notDevice = map[string]string{
	check.Cache:        "memory answered, not the device",
	check.Direct:       "direct I/O had no effect; take a file system that has it",
	check.Unwritten:    "blocks of the file were not written, or shared; let plimsoll lay it out",
	check.Compressible: "not all that was written came to the device; measure without compression",
	check.Burst:        "it was fast for a moment only; take a longer runtime",
	check.Window:       "too little was measured; take a longer runtime",
	check.Foreign:      "a limit was in force, and the figure shows that limit; clear it and measure again",
}

// Counts reports whether a trial on a device counts for another's ceiling, and counts why not.
func (m *Measured) Counts(t record.Trial, on, d device.Device) bool {
	switch {
	case d.Identity == "" || on.Identity != d.Identity:
		if on.Name == d.Name && on.Identity == "" {
			m.unnamed++
		} else if on.Name == d.Name {
			m.others++
		}
		return false
	}
	var by []string
	for _, w := range t.Warnings {
		if w.Severity == record.Doubt && notDevice[w.Check] != "" && !slices.Contains(by, w.Check) {
			by = append(by, w.Check)
		}
	}
	if len(by) == 0 {
		return true
	}
	if m.by == nil {
		m.by = map[string]int{}
	}
	for _, c := range by {
		m.by[c]++
	}
	m.doubted++
	return false
}

// doubts are the checks that doubt trials, the most frequent first, with what each has against them and what helps.
func (m Measured) doubts() string {
	var words []string
	for _, c := range slices.SortedFunc(maps.Keys(m.by), func(a, b string) int { return cmp.Or(m.by[b]-m.by[a], strings.Compare(a, b)) }) {
		why := notDevice[c]
		if c == check.Cache && strings.HasPrefix(m.name, "loop") {
			why += ": losetup --direct-io=on " + filepath.Join("/dev", m.name)
		}
		words = append(words, fmt.Sprintf("%d by the check %s: %s", m.by[c], c, why))
	}
	return strings.Join(words, "; ")
}

// Rates are what a trial read and wrote a second, in bytes and in I/Os, where all of it went to one device,
// past the page cache and without a limit.
func Rates(t record.Trial) (on device.Device, r [4]float64, ok bool) {
	if t.Status != record.Done || t.Spec.Kind != workload.Block || !t.Spec.Job.Direct || t.Spec.Job.OpenLoop() || len(t.Results) == 0 {
		return on, r, false
	}
	for i, res := range t.Results {
		if i >= len(t.Truth) || i >= len(t.Where) || t.Where[i].Host != "" || t.Where[i].Device == nil || t.Where[i].Limits != "" || res.Elapsed <= 0 {
			return on, r, false
		}
		d := *t.Where[i].Device
		if i > 0 && (d.Identity != on.Identity || d.Name != on.Name) || d.Name != t.Truth[i].Device {
			return on, r, false
		}
		on = d
		for _, c := range res.Classes {
			s := res.Elapsed.Seconds()
			switch c.Name {
			case "read":
				r[0], r[2] = r[0]+float64(c.Bytes)/s, r[2]+float64(c.Ops)/s
			case "write":
				r[1], r[3] = r[1]+float64(c.Bytes)/s, r[3]+float64(c.Ops)/s
			}
		}
	}
	return on, r, true
}
