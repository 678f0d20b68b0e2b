package docker

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/docker/go-units"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/wire"
)

// leastUlimit is enough open files and processes for a worker.
const leastUlimit = 1024

// Names of resource limits in the Engine API.
const (
	ulimitMemlock = "memlock"
	ulimitNofile  = "nofile"
	ulimitNproc   = "nproc"
)

// ulimitWords are what a runtime calls a resource limit that it may not set: runc by its number in
// Linux ("error setting rlimit type 8"), crun by its name ("setrlimit `RLIMIT_MEMLOCK`").
var ulimitWords = map[string][]string{
	ulimitMemlock: {"rlimit type 8", "RLIMIT_MEMLOCK"},
	ulimitNofile:  {"rlimit type 7", "RLIMIT_NOFILE"},
}

// A ulimitSet is a set of resource limits that containers may be started with.
type ulimitSet struct {
	// raises names the limits in it that a daemon without CAP_SYS_RESOURCE may not be able to give.
	raises []string
	make   func() []*units.Ulimit
}

// ulimitSets are the sets in the order in which they are tried. A daemon without
// CAP_SYS_RESOURCE can't raise what it has itself: first that on open files is left out, which a few
// jobs need and which slows none down, then that on locked memory (its containers may have as many
// open files as itself, as a rule); then those that Podman asks for on its own (1048576 files and
// processes) are replaced by lower ones. Each try costs a container that does not start.
var ulimitSets = []ulimitSet{
	{[]string{ulimitMemlock, ulimitNofile}, func() []*units.Ulimit { return []*units.Ulimit{memlockUlimit(), nofileUlimit()} }},
	{[]string{ulimitMemlock}, func() []*units.Ulimit { return []*units.Ulimit{memlockUlimit()} }},
	{nil, func() []*units.Ulimit { return nil }},
	{nil, func() []*units.Ulimit { return ownUlimits(1 << 20) }},
	{nil, func() []*units.Ulimit { return ownUlimits(leastUlimit) }},
}

// memlockUlimit is how much memory the host's worker may lock.
func memlockUlimit() *units.Ulimit {
	m := engine.OwnMemlock()
	return &units.Ulimit{Name: ulimitMemlock, Soft: m.Soft, Hard: m.Hard}
}

// nofileUlimit is what the host's worker may have open. A plain user's limit says nothing of what the
// daemon may give, which is at least what a worker needs; root's does, who lacks CAP_SYS_RESOURCE only in
// a container, as a daemon beside it.
func nofileUlimit() *units.Ulimit {
	n := engine.OpenFiles()
	if os.Geteuid() != 0 {
		n = max(n, wire.OpenFiles)
	}
	return &units.Ulimit{Name: ulimitNofile, Soft: n, Hard: n}
}

// limits returns the resource limits to try next, and how many sets were refused before.
func (e *Engine) limits() (tried int, ulimits []*units.Ulimit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.limitsTried, ulimitSets[e.limitsTried].make()
}

// again reports whether a start that failed with err shall be tried again. A container that vanished
// is started once more with the same limits, to hear why it can't be; a second time it is taken for
// a refusal of the limits, which is what it is as a rule. vanished is the set of limits with which one
// did, at first -1.
func (e *Engine) again(err error, tried int, vanished *int) bool {
	if errors.Is(err, errVanished) && *vanished != tried {
		*vanished = tried
		return true
	}
	return e.tryLimits(err, tried)
}

// tryLimits reports whether a start that failed with err shall be tried again with
// other resource limits ("setting rlimit type 7", "setrlimit `RLIMIT_MEMLOCK`"). tried is
// what limits told.
func (e *Engine) tryLimits(err error, tried int) bool {
	if !strings.Contains(err.Error(), "rlimit") && !errors.Is(err, errVanished) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// Another session may have found out meanwhile.
	if e.limitsTried == tried {
		e.limitsTried = nextUlimits(tried, err.Error())
	}
	return e.limitsTried > tried
}

// nextUlimits is the set to try after one that was refused with these words: the next one that doesn't
// raise what they name. The last is followed by itself.
func nextUlimits(tried int, words string) int {
	refused := func(name string) bool {
		return slices.ContainsFunc(ulimitWords[name], func(w string) bool { return strings.Contains(words, w) })
	}
	for i := tried + 1; i < len(ulimitSets); i++ {
		if !slices.ContainsFunc(ulimitSets[i].raises, refused) {
			return i
		}
	}
	return tried
}
