package hold

import (
	"slices"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
)

// TestEscapesInPart: what a limit holds in part is told from what it doesn't hold, each with its reason. All was said not to be held, for the reason of
// the last mode.
func TestEscapesInPart(t *testing.T) {
	leaks := explain.Mode{Name: explain.Buffered, Group: explain.Leaks, Why: "the flusher"}
	for _, row := range []struct {
		modes []explain.Mode
		want  string
	}{
		{[]explain.Mode{{Name: explain.Direct, Group: explain.Covered}, {Name: explain.BufferedSync, Group: explain.Partly, Why: "before the sync"}, leaks},
			"data: writes are NOT held in the mode buffered, and held only in part in the mode buffered+fsync: before the sync; the flusher"},
		{[]explain.Mode{{Name: explain.Direct, Group: explain.Partly, Why: "twice"}, {Name: explain.DSync, Group: explain.Partly, Why: "twice"}},
			"data: writes are held only in part in the mode direct, dsync: twice"},
		{[]explain.Mode{{Name: explain.BufferedSync, Group: explain.Covered, Why: "by the fsync"}, leaks}, "data: writes are NOT held in the mode buffered: the flusher"},
	} {
		s := Scope{Places: []Place{{Name: "data", Explanation: &explain.Explanation{Modes: row.modes}}}}
		all := s.Escapes(limit.Limits{WriteBPS: 1 << 20}, "--device-wide")
		if len(all) != 1 || all[0].String() != row.want {
			t.Errorf("%v: %v, want %q", row.modes, all, row.want)
		}
		if len(all) == 1 && slices.ContainsFunc(all[0].Partly, func(m string) bool { return !slices.Contains(all[0].Modes, m) }) {
			t.Errorf("%v: partly %v", all[0].Modes, all[0].Partly)
		}
	}
}
