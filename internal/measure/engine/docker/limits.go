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

// ulimitWords are the names of resource limits in a runtime's error: runc's have the number in Linux ("error setting rlimit
// type 8"), crun's the name ("setrlimit `RLIMIT_MEMLOCK`").
var ulimitWords = map[string][]string{
	ulimitMemlock: {"rlimit type 8", "RLIMIT_MEMLOCK"},
	ulimitNofile:  {"rlimit type 7", "RLIMIT_NOFILE"},
}

// A ulimitSet is a set of resource limits for starting containers.
type ulimitSet struct {
	// raises names the limits in the set that a daemon without CAP_SYS_RESOURCE may not be able to give.
	raises []string
	make   func() []*units.Ulimit
}

// ulimitSets are tried in this order. A daemon without CAP_SYS_RESOURCE can't raise its own limits. The second set leaves
// out the limit on open files, which few jobs need and which slows none down. The third leaves out the limit on locked
// memory; its containers usually may have as many open files as the daemon. The last replaces those that Podman sets on its
// own (1048576 files and processes) by lower ones. Each try costs a container that does not start.
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

// nofileUlimit is how many files the host's worker may have open. A plain user's limit says nothing about the daemon's, so
// at least what a worker needs is asked for. Root's limit counts: root lacks CAP_SYS_RESOURCE only in a container, and so
// does a daemon beside it.
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

// again reports whether to retry a start that failed with err. A container that vanished is started once more with the same
// limits, to learn why. If it vanishes again, that counts as a refusal of the limits, the usual reason. vanished is the set
// of limits with which one vanished, at first -1.
func (e *Engine) again(err error, tried int, vanished *int) bool {
	if errors.Is(err, errVanished) && *vanished != tried {
		*vanished = tried
		return true
	}
	return e.tryLimits(err, tried)
}

// tryLimits reports whether to retry a start that failed with err with other resource limits ("setting rlimit type 7",
// "setrlimit `RLIMIT_MEMLOCK`"). tried is the number that limits returned.
func (e *Engine) tryLimits(err error, tried int) bool {
	if !strings.Contains(err.Error(), "rlimit") && !errors.Is(err, errVanished) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// Another session may have counted it meanwhile.
	if e.limitsTried == tried {
		e.limitsTried = nextUlimits(tried, err.Error())
	}
	return e.limitsTried > tried
}

// nextUlimits is the set to try after one was refused with these words: the next one that doesn't raise the limits they
// name. After the last comes the last again.
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
