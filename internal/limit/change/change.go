// Package change makes the changes of limits that a user asks for, limit set and limit clear, and says what to know of each: what shares the limits,
// what escapes them, who will set others, and what proves them.
//
// A change is made by hold, in all parts of a target or in none. Around it go the records: of what was set (for limit show), of limits in the root
// group, of disks that are divided by weight. Easily got wrong: a limit that is set but could not be recorded is set all the same, and the user
// reads both.
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
	// Policy is the path of the policy that a daemon reads by default, and Flags what the commands need that are printed:
	// " --state /srv/state", or "".
	Policy, Flags string
}

// Options say what a change is for, and how it is made. The zero value changes all of a target's data at once.
type Options struct {
	hold.Where
	// Dry plans the change and writes nothing.
	Dry bool
	// Keep has the engine store what is set, for the container's next start.
	Keep bool
	// Enable is what shall divide disks by weight, Auto for whichever can, "" to leave them.
	Enable string
	// Only are the limits that are removed; nil: all.
	Only []limit.Key
}

// A Result is what became of a change.
type Result struct {
	DryRun bool `json:"dry_run"`
	*hold.Scope
	Set     limit.Limits    `json:"set"`
	Remove  []limit.Key     `json:"remove"`
	Done    []hold.Done     `json:"done"`
	Implied []limit.Implied `json:"implied"`
	// Policy is the rule by which plimsoll daemon holds the limits over restarts of the containers, which lose them; empty where
	// nothing is lost.
	Policy string `json:"policy,omitempty"`

	// policy is the file that Policy goes into, and proof the command that tries the rates, "" where there are none.
	policy, proof string
}

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

// result is what became of a change.
func (m *Maker) result(s *hold.Scope, change limit.Change, done []hold.Done, where Options) *Result {
	r := &Result{DryRun: where.Dry, Scope: s, Set: change.Set, Remove: change.Remove, Done: done, Implied: implied(s, change), policy: m.Policy}
	if !stored(done) {
		r.Policy = keeper.Rules(s, change, where.Where)
	}
	if !where.Dry {
		r.proof = m.proveIt(s, change, where)
	}
	return r
}

// impliedSizes are the block sizes at which a rate is put in the other unit: those of a database and of a copy.
var impliedSizes = []int64{4 << 10, 1 << 20}

// implied says what the rates of a change mean in the other unit.
func implied(s *hold.Scope, change limit.Change) []limit.Implied {
	maxIO := int64(0)
	for _, d := range s.Devices() {
		maxIO = max(maxIO, d.MaxIO)
	}
	return change.Set.Implied(impliedSizes, maxIO)
}
