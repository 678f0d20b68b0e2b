package trial

import (
	"fmt"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// Besides its files a cell needs space for the file system's metadata, for logs that grow while they are measured, and for
// the database of records, which may be on the same disk: a fiftieth and 4 MiB.
const (
	roomShare = 50
	roomFixed = 4 << 20
)

// A space is where files of several cells may lie: a file system, or memory.
type space struct {
	// mount is the mount point of the file system, "" for memory.
	mount string
	// free is how many bytes were free before any file was laid out.
	free int64
	// taken is how many bytes the cells before this one need there.
	taken int64
}

// A ledger adds up the files of all cells of a block and checks that they fit. Containers live as long as the block, so
// their files stay.
type ledger struct {
	// spaces are those seen so far, by mount point.
	spaces map[string]*space
	// files are those already counted, by session and name.
	files map[string]bool
}

func newLedger() *ledger {
	return &ledger{spaces: map[string]*space{}, files: map[string]bool{}}
}

// space returns where the data of an agent lies, or its sources; nil if that can't be known, as with a daemon on another
// machine.
func (l *ledger) space(kind place.Kind, a *agent.Agent, sources bool) *space {
	info := a.Session.Info()
	if sources {
		info.HostPath = info.SourcePath
	}
	mount, bytes, ok := "", int64(0), false
	switch {
	case kind == place.Tmpfs && info.PID != 0:
		bytes, ok = procfs.Available("/proc")
	case kind != place.Tmpfs && info.HostPath != "":
		mount, bytes, ok = freeAt(info.HostPath)
	}
	if !ok {
		return nil
	}
	if l.spaces[mount] == nil {
		l.spaces[mount] = &space{mount: mount, free: bytes}
	}
	return l.spaces[mount]
}

// take reserves the space for a cell's files. If there is too little, it reserves nothing and says why. A nil ledger has
// space for all.
func (l *ledger) take(r *Runner, c record.Cell, agents []*agent.Agent) (why string) {
	file, bytes := r.roomOf(c)
	if l == nil || file == "" {
		return ""
	}
	p, _ := r.Plan.Place(c.Place)
	sessions := r.sessions(c)
	need := map[*space]int64{}
	var keys []string
	for i, a := range agents {
		key := sessions[i].key() + "\x00" + file
		if l.files[key] {
			continue // It isn't checked in later blocks either.
		}
		if s := l.space(p.Kind, a, false); s != nil {
			need[s] += bytes
			keys = append(keys, key)
		}
		if c.Source == "" || c.Source == c.Place {
			continue
		}
		// The sources are at most half of it.
		from, _ := r.Plan.Place(c.Source)
		if s := l.space(from.Kind, a, true); s != nil {
			need[s] += bytes / 2
			keys = append(keys, key)
		}
	}
	for s, n := range need {
		if all := s.taken + n; all+all/roomShare+roomFixed > s.free {
			return tooLittle(s, n, p.Kind)
		}
	}
	for s, n := range need {
		s.taken += n
	}
	for _, k := range keys {
		l.files[k] = true
	}
	return ""
}

// roomOf is the file of a cell's workload and its size, "" for none.
func (r *Runner) roomOf(c record.Cell) (file string, bytes int64) {
	w, ok := r.Plan.Workload(c.Workload)
	if !ok || r.target(c) != "" {
		return "", 0
	}
	return w.Room()
}

// tooLittle says that n bytes more don't fit into s, and what would help.
func tooLittle(s *space, n int64, kind place.Kind) string {
	before := ""
	if s.taken > 0 {
		before = fmt.Sprintf(", those of earlier cells %s", size.Bytes(s.taken))
	}
	fix := "make size smaller, free some space, or give the place another path"
	if kind != place.Dir && kind != place.Bind {
		fix = "make size smaller, or free some space"
	}
	spare := roomFixed + (s.taken+n)/roomShare
	where := "are free on the file system of " + s.mount
	if s.mount == "" {
		where = "of memory are free"
	}
	return fmt.Sprintf("too little space: its files need %s%s, but only %s %s, and %s must stay free for logs and records; %s", size.Bytes(n), before, size.Bytes(s.free), where, size.Bytes(spare), fix)
}
