package report

import (
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
)

// TestUnfit: the answer of a place names the programs that it is not safe for, and the summary says that there are some.
func TestUnfit(t *testing.T) {
	uses := func(wal record.SafetyAnswer) []record.Use {
		return []record.Use{{Name: "SQLite, WAL mode", Safe: wal}, {Name: "git", Safe: record.SafeYes}, {Name: "etcd", Safe: record.SafeUnknown}}
	}
	for _, row := range []struct {
		answer          record.SafetyAnswer
		inAnswer, inSum string
	}{
		{record.SafeNo, "NOT SAFE for SQLite, WAL mode (plimsoll check says why)", "Some places are not safe"},
		{record.SafeAlone, "safe for one side alone: SQLite, WAL mode (plimsoll check says why)", "Some places are not safe"},
		{record.SafeYes, "", "All places that keep data on a disk are safe for SQLite, WAL mode; git, as far as"},
	} {
		r := Report{Run: record.Run{Safety: []record.PlaceSafety{{Engine: "host", Place: "dir", Uses: uses(record.SafeYes)}, {Engine: "docker", Place: "bind", Uses: uses(row.answer)}}}}
		if got := unfitText(unfit(r.Run.Safety, record.Cell{Engine: "docker", Place: "bind"})); got != row.inAnswer {
			t.Errorf("%s: the answer says %q, want %q", row.answer, got, row.inAnswer)
		}
		if got := unfitText(unfit(r.Run.Safety, record.Cell{Engine: "host", Place: "dir"})); got != "" {
			t.Errorf("%s: the answer of another place says %q", row.answer, got)
		}
		if got := r.fitText(); !strings.Contains(got, row.inSum) {
			t.Errorf("%s: the summary says %q, want %q in it", row.answer, got, row.inSum)
		}
	}
	if got := (&Report{}).fitText(); got != "" {
		t.Errorf("without a check the summary says %q", got)
	}
}
