package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/runs"
)

// homelessState is the state folder of a user who has no home: a folder of the
// current one, which he sees.
const homelessState = "plimsoll-state"

// defaultStateDir is /var/lib/plimsoll for root, $XDG_STATE_HOME/plimsoll or
// ~/.local/state/plimsoll for others, and homelessState without a home.
func defaultStateDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/plimsoll"
	}
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "plimsoll")
	}
	if home := homeDir(); home != "" {
		return filepath.Join(home, ".local", "state", "plimsoll")
	}
	return homelessState
}

// machineVar names the environment variable of the folder that machine returns.
const machineVar = "PLIMSOLL_MACHINE"

// machine is the folder of what all Plimsolls of this machine share, whatever their state folder is: who has set which limit in the kernel. It is
// /run/plimsoll for root: like the kernel's limits it doesn't outlive a boot. Another user's limits are in groups of his own, and recorded in his
// state folder. The environment may name another folder.
func (a *app) machine() string {
	env := a.env
	if env == nil {
		env = os.Getenv
	}
	switch dir := env(machineVar); {
	case dir != "":
		return dir
	case os.Geteuid() == 0:
		return "/run/plimsoll"
	}
	return a.stateDir
}

// homeDir is the user's home if there is one: services and users like nobody have a
// name for it at most.
func homeDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		u, err := user.Current() // HOME is not set, as under cron; /etc/passwd may know.
		if err != nil {
			return ""
		}
		home = u.HomeDir
	}
	if st, err := os.Stat(home); err != nil || !st.IsDir() {
		return ""
	}
	return home
}

// aboutUser prints what a user who isn't root has to know before a run: where his
// records go, if that is no usual folder, and what root would add.
func (a *app) aboutUser(p *plan.Plan) {
	if a.stateDir == homelessState {
		fmt.Fprintf(a.stderr, "there is no home folder, so records go to %s in the current folder; --state names another\n", homelessState)
	}
	if runtime.GOOS != "linux" || os.Geteuid() == 0 {
		return
	}
	if lost := runs.NeedsRoot(p); len(lost) > 0 {
		fmt.Fprintf(a.stderr, "this user is not root: %s will be skipped; as root (sudo plimsoll run ...) the run has them too\n", strings.Join(lost, " and "))
	}
}
