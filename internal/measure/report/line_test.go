package report

import (
	"testing"

	"plimsoll/internal/measure/record"
)

// TestLinesAreNoPlans: the report of a recorded line doesn't say that its plan lacks something.
func TestLinesAreNoPlans(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		run  record.Run
		line bool
		want string
	}{
		{record.Run{Plan: "fio", Command: "plimsoll fio --name=a"}, true, "What a line of fio measured"},
		{record.Run{Plan: "fio", Command: "plimsoll run fio.yaml", PlanText: "name: fio"}, false, "What was found with the plan fio"},
		{record.Run{Plan: "mine", Command: "plimsoll run -"}, false, "What was found with the plan mine"},
	} {
		if got := questionOf(row.run); got != row.want || isLine(row.run) != row.line {
			t.Errorf("%s: %q, a line: %t; want %q", row.run.Command, got, isLine(row.run), row.want)
		}
	}
}
