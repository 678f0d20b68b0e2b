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

// An applier makes a change, or only plans it.
type applier func(context.Context, *hold.Scope, limit.Change) ([]hold.Done, error)

// impliedSizes are the block sizes at which a rate is put in the other unit: those of a database and of a copy.
var impliedSizes = []int64{4 << 10, 1 << 20}
