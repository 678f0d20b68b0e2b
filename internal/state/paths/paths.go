// Package paths knows where Plimsoll keeps what must survive, by who runs it and what the environment says.
package paths

import (
	"os"
	"os/user"
	"path/filepath"
)

// Homeless is the state folder of a user who has no home: a folder of the current one, which the user sees.
const Homeless = "plimsoll-state"

// State is the state folder where none is named: /var/lib/plimsoll for root, $XDG_STATE_HOME/plimsoll or ~/.local/state/plimsoll for others,
// and Homeless without a home.
func State() string {
	if os.Geteuid() == 0 {
		return "/var/lib/plimsoll"
	}
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "plimsoll")
	}
	if home := homeDir(); home != "" {
		return filepath.Join(home, ".local", "state", "plimsoll")
	}
	return Homeless
}

// MachineVar names the environment variable of the folder that Machine returns.
const MachineVar = "PLIMSOLL_MACHINE"

// Machine is the folder of what all Plimsolls of this machine share, whatever their state folder is: the records of limits in the kernel.
// It is /run/plimsoll for root: like the kernel's limits it doesn't outlive a boot. Another user's limits are in groups of the user's own,
// and recorded in the state folder. The environment may name another folder; nil is os.Getenv.
func Machine(state string, env func(string) string) string {
	if env == nil {
		env = os.Getenv
	}
	switch dir := env(MachineVar); {
	case dir != "":
		return dir
	case os.Geteuid() == 0:
		return "/run/plimsoll"
	}
	return state
}

// Daemon is the folder of the daemon where none is named: /run/plimsoll for root and a folder of XDG_RUNTIME_DIR for others.
func Daemon() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && os.Geteuid() != 0 {
		return filepath.Join(dir, "plimsoll")
	}
	return "/run/plimsoll"
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
