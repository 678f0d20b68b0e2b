package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/runs"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/text/clean"
)

// machine returns the folder that all Plimsolls of this machine share.
func (a *app) machine() string { return paths.Machine(a.stateDir, a.env) }

// stateFlag returns the --state flag for commands in messages, if it is needed.
func (a *app) stateFlag() string {
	if a.stateDir == paths.State() {
		return ""
	}
	return " --state " + clean.Shell(a.stateDir)
}

// aboutUser prints what a user who isn't root must know before a run: where the records go, if that is not the usual
// folder, and what root would add.
func (a *app) aboutUser(p *plan.Plan) {
	if a.stateDir == paths.Homeless {
		fmt.Fprintf(a.stderr, "there is no home folder, so records go to %s in the current folder; --state names another\n", paths.Homeless)
	}
	if runtime.GOOS != "linux" || os.Geteuid() == 0 {
		return
	}
	if lost := runs.NeedsRoot(p); len(lost) > 0 {
		fmt.Fprintf(a.stderr, "this user is not root: %s will be skipped; run as root (sudo plimsoll run ...) to include them\n", strings.Join(lost, " and "))
	}
}
