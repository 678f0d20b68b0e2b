package engine

import (
	"strings"

	"github.com/docker/go-units"
)

// dockerLeastUlimit is enough open files and processes for a worker.
const dockerLeastUlimit = 1024

// dockerUlimits are the sets of resource limits that containers are started with, in
// the order in which they are tried. A daemon without CAP_SYS_RESOURCE can't raise
// what it has itself: first the limit on locked memory is left out, then those that Podman
// asks for on its own (1048576 files and processes) are replaced by lower ones.
var dockerUlimits = []func() []*units.Ulimit{
	func() []*units.Ulimit {
		m := ownMemlock()
		return []*units.Ulimit{{Name: "memlock", Soft: m.soft, Hard: m.hard}}
	},
	func() []*units.Ulimit { return nil },
	func() []*units.Ulimit { return dockerOwnUlimits(1 << 20) },
	func() []*units.Ulimit { return dockerOwnUlimits(dockerLeastUlimit) },
}

// limits returns the resource limits to try next, and how many sets were refused before.
func (e *docker) limits() (tried int, ulimits []*units.Ulimit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.limitsTried, dockerUlimits[e.limitsTried]()
}

// tryLimits reports whether a start that failed with err shall be tried again with
// other resource limits ("setting rlimit type 7", "setrlimit `RLIMIT_MEMLOCK`"). tried is
// what limits told.
func (e *docker) tryLimits(err error, tried int) bool {
	if !strings.Contains(err.Error(), "rlimit") {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// Another session may have found out meanwhile.
	if e.limitsTried == tried && tried+1 < len(dockerUlimits) {
		e.limitsTried++
	}
	return e.limitsTried > tried
}
