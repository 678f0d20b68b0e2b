package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// A Command is what a command line asks for.
type Command struct {
	Target target.Ref
	Where  hold.Where
	// Probe tries a volume from a container that is made for it.
	Probe bool
	// Named returns the limits that the user named; none means the limits that are set.
	Named func(*hold.Scope) (limit.Limits, error)
	// Request has the modes, the time and the tolerance.
	Request row.Request
	// Show receives each result when it is done.
	Show func(Result) error
}

// Do finds what a command refers to, and tests it. The results so far are returned with an error, too.
func (p *Verifier) Do(ctx context.Context, c Command) (all []Result, err error) {
	if c.Probe {
		return p.probe(ctx, c)
	}
	s, only, err := p.scope(ctx, c)
	if err != nil {
		return nil, err
	}
	named, err := c.Named(s)
	if err != nil {
		return nil, err
	}
	list, err := p.find(s, named, only)
	if err != nil {
		return nil, err
	}
	for _, n := range unset(list) {
		fmt.Fprintln(p.Messages, n)
	}
	for _, v := range list {
		done, err := p.verify(ctx, v, c.Request)
		all = append(all, done)
		if err := errors.Join(err, c.Show(done)); err != nil {
			return all, err
		}
	}
	return all, nil
}

// scope finds what to test: the files to write are a container's own, or in the folder that --path names. only are the
// numbers of the devices that --device selects, empty for all.
func (p *Verifier) scope(ctx context.Context, c Command) (s *hold.Scope, only []device.Number, err error) {
	where := c.Where
	if c.Target.Kind == target.Cgroup || c.Target.Kind == target.Unit {
		t, err := p.Finder.Resolve(ctx, c.Target)
		if err != nil {
			return nil, nil, err
		}
		if t.PID == 0 && where.Path == "" {
			return nil, nil, usage.Errorf("verify writes files, and %s has none of its own: say with --path in which folder of this machine%s", t.Ref(), p.limitedOn(t, where.Device))
		}
	}
	if where.Device != "" {
		on, err := p.Scope(ctx, c.Target, where, true)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range on.Devices() {
			only = append(only, d.Number)
		}
		where.Device = ""
	}
	if s, err = p.Scope(ctx, c.Target, where, true); err != nil {
		return nil, nil, err
	}
	if c.Where.Device != "" && !slices.ContainsFunc(s.Devices(), func(d explain.Spot) bool { return slices.Contains(only, d.Number) }) {
		return nil, nil, &refusal.Error{Act: refusal.Tried, What: s.Target.Ref(), Why: "none of its data is on " + c.Where.Device + ", and verify writes files", Fix: "name with --path a folder of it that is"}
	}
	return s, only, nil
}

// limitedOn says on which devices a folder must be to test a limit there.
func (p *Verifier) limitedOn(t target.Target, device string) string {
	if device != "" {
		return ", on " + device
	}
	name := t.Name
	if len(t.Groups) > 0 {
		name = t.Groups[0].Path
	}
	groups, err := p.Groups.At(name)
	if err != nil {
		return ""
	}
	states, err := p.Groups.Read(groups)
	if err != nil || len(states) == 0 {
		return ""
	}
	var on []string
	for n := range states[0].Devices {
		name := n.String()
		if d, err := p.FS.Disk(n); err == nil {
			name = fmt.Sprintf("%s (%s)", d.Name, n)
		}
		on = append(on, name)
	}
	if len(on) == 0 {
		return ""
	}
	slices.Sort(on)
	return "; its limits are for " + strings.Join(on, ", ")
}

// An Outcome says that limits were not held, or that nothing was proved, with the exit status for it.
type Outcome struct {
	text   string
	status int
}

// Exit statuses.
const (
	notHeld = 4
	refused = 5
)

func (o *Outcome) Error() string { return o.text }

// ExitStatus returns the exit status of the command.
func (o *Outcome) ExitStatus() int { return o.status }

// Ended returns the error that results amount to; err is why they ended early, if they did. A row that could not be
// measured is an error, unless another row is not held.
func Ended(all []Result, err error) error {
	rows, by := 0, map[judge.Verdict]int{}
	for _, v := range all {
		for _, r := range v.Rows {
			by[r.Verdict]++
			rows++
		}
	}
	of := size.Plural(rows, "row")
	not, failed := by[judge.NotHeld], by[judge.Failed]
	switch {
	case errors.Is(err, context.Canceled) && rows == 0:
		return errors.New("interrupted: nothing is proved yet")
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted: %s tried, see the lines above; the rest is not tried", of)
	case err != nil:
		return err
	case not > 0 && failed > 0:
		return &Outcome{fmt.Sprintf("NOT held: %d of %s; could not be measured: %d", not, of, failed), notHeld}
	case not > 0:
		return &Outcome{fmt.Sprintf("NOT held: %d of %s", not, of), notHeld}
	case failed > 0:
		return fmt.Errorf("could not be measured: %d of %s, see the lines above", failed, of)
	case by[judge.Held] == 0:
		return &Outcome{"nothing was proved: see the lines above", refused}
	}
	return nil
}
