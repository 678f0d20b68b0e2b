// Package change makes the changes of limits that a user asks for, with limit set and limit clear. It also reports what
// to know about each change: what shares the limits, what escapes them, who else will set them, and what proves them.
//
// Package hold makes the change itself, in all group sets of a target or in none. Package change adds the records: of what
// was set (for limit show), of limits in the root group, and of disks that are divided by weight. Easily got wrong: a
// limit that is set but could not be recorded is set all the same, and the output says both.
package change

import (
	"context"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
)

// A Maker makes changes on a machine.
type Maker struct {
	*hold.Holder
	// Machine is the folder of the machine's records, and Run that of the daemon.
	Machine, Run string
	// Daemon asks the daemon for its state. The error is an fs.ErrNotExist if none runs.
	Daemon func() (*keeper.Status, error)
	// Policy is the path of the policy that a daemon reads by default. Flags are the options that printed commands
	// need: " --state /srv/state", or "".
	Policy, Flags string
}

// Options say what a change is for, and how to make it. The zero value changes all of a target's data at once.
type Options struct {
	hold.Where
	// Dry plans the change and writes nothing.
	Dry bool
	// Keep makes the engine store the limits, for the container's next start.
	Keep bool
	// Enable is the way to divide disks by weight: Auto for either that works, "" to leave the disks as they are.
	Enable string
	// Only are the limits to remove; nil: all.
	Only []limit.Key
}

// A Result is the outcome of a change.
type Result struct {
	DryRun bool `json:"dry_run"`
	*hold.Scope
	Set     limit.Limits    `json:"set"`
	Remove  []limit.Key     `json:"remove"`
	Done    []hold.Done     `json:"done"`
	Implied []limit.Implied `json:"implied"`
	// Policy is a rule with which plimsoll daemon sets the limits again after restarts of the containers, which lose
	// them. It is empty if no limits are lost.
	Policy string `json:"policy,omitempty"`

	// policy is the file for Policy. verify is the command that tests the rates, "" if there are none.
	policy, verify string
	unknown        error
}

// Unknown is the error of damaged records, whose limits stay. The change was made all the same.
func (r *Result) Unknown() error { return r.unknown }

// An applier makes a change, or only plans it.
type applier func(context.Context, *hold.Scope, limit.Change) ([]hold.Done, error)

// change makes a change with apply.
func (m *Maker) change(ctx context.Context, apply applier, s *hold.Scope, change limit.Change, where Options) (*Result, error) {
	done, err := apply(ctx, s, change)
	if err != nil {
		return nil, err
	}
	s.Notes = append(s.Notes, m.changeNotes(ctx, s, change, where)...)
	return m.result(s, change, done, where), nil
}

// result returns the outcome of a change.
func (m *Maker) result(s *hold.Scope, change limit.Change, done []hold.Done, where Options) *Result {
	r := &Result{DryRun: where.Dry, Scope: s, Set: change.Set, Remove: change.Remove, Done: done, Implied: implied(s, change), policy: m.Policy}
	if !stored(done) {
		r.Policy = rulesFor(s, change, where.Where)
	}
	if !where.Dry {
		r.verify = m.verifyCommand(s, change, where)
	}
	return r
}

// impliedSizes are the block sizes for converting a rate to the other unit: those of a database and of a copy.
var impliedSizes = []int64{4 << 10, 1 << 20}

// implied returns what the rates of a change mean in the other unit.
func implied(s *hold.Scope, change limit.Change) []limit.Implied {
	maxIO := int64(0)
	for _, d := range s.Devices() {
		maxIO = max(maxIO, d.MaxIO)
	}
	return change.Set.Implied(impliedSizes, maxIO)
}
