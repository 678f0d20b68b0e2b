package plan

import (
	"path"
	"slices"

	"plimsoll/internal/measure/record"
)

// A Match names cells by some of their dimensions. A cell matches if each list that is not empty has its name; names may be
// patterns with *, ? and [a-z].
type Match struct {
	Workload, Engine, Source, Place, Limits []string
	Clients                                 []int
}

// Matches reports whether m matches c.
func (m Match) Matches(c record.Cell) bool {
	for _, x := range []struct {
		globs []string
		name  string
	}{{m.Workload, c.Workload}, {m.Engine, c.Engine}, {m.Source, c.Source}, {m.Place, c.Place}, {m.Limits, c.Limits}} {
		if !anyGlob(x.globs, x.name) {
			return false
		}
	}
	return len(m.Clients) == 0 || slices.Contains(m.Clients, c.Clients)
}

// isZero reports whether m has no names, and so matches every cell.
func (m Match) isZero() bool {
	return len(m.Workload)+len(m.Engine)+len(m.Source)+len(m.Place)+len(m.Limits)+len(m.Clients) == 0
}

func anyGlob(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return glob(p, name) })
}

// glob reports whether name matches pattern. A malformed pattern matches nothing; the check of the plan reports it, since
// it then matches no name.
func glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
