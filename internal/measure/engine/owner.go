package engine

import "os"

// An Owner is the plimsoll process that made something, in words that no later
// process with the same number can match.
type Owner struct {
	PID int `json:"pid"`
	// Start is the process's start in clock ticks after boot (proc(5), field 22),
	// and Boot the boot's random id; both empty where the system has none.
	Start string `json:"start,omitempty"`
	Boot  string `json:"boot,omitempty"`
	// Namespace is the process's PID namespace: numbers of another one mean nothing here.
	Namespace string `json:"namespace,omitempty"`
}

// Self is this process.
func Self() Owner {
	o := ownerOf(os.Getpid())
	o.Namespace = pidNamespace()
	return o
}

// Alive reports whether the owner still runs. In doubt it does: what belongs to it
// is then left alone.
func (o Owner) Alive() bool {
	if o.PID <= 0 {
		return true
	}
	self := Self()
	if o.Boot == self.Boot && o.Namespace != "" && o.Namespace != self.Namespace {
		return true // It can't be asked from here: a plimsoll in a container, or outside of it.
	}
	o.Namespace = ""
	return ownerOf(o.PID) == o
}
