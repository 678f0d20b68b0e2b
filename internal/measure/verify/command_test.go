package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
)

// TestEnded: what the rows stand for. One that could not be measured is no success beside one that is held.
func TestEnded(t *testing.T) {
	for _, tt := range []struct {
		rows   []judge.Verdict
		status int
		words  string
	}{
		{[]judge.Verdict{judge.Held}, 0, ""},
		{[]judge.Verdict{judge.Held, judge.Unproved}, 0, ""},
		{[]judge.Verdict{judge.Unproved}, 5, "nothing was proved"},
		{nil, 5, "nothing was proved"},
		{[]judge.Verdict{judge.Held, judge.Failed}, 1, "could not be measured: 1 of 2 rows"},
		{[]judge.Verdict{judge.Failed}, 1, "could not be measured: 1 of 1 row"},
		{[]judge.Verdict{judge.Unproved, judge.Failed}, 1, "could not be measured: 1 of 2 rows"},
		{[]judge.Verdict{judge.Held, judge.NotHeld}, 4, "NOT held: 1 of 2 rows"},
		{[]judge.Verdict{judge.Failed, judge.NotHeld, judge.Held}, 4, "NOT held: 1 of 3 rows; could not be measured: 1"},
	} {
		v := Result{}
		for _, verdict := range tt.rows {
			v.Rows = append(v.Rows, row.Row{Finding: judge.Finding{Verdict: verdict}})
		}
		err := Ended([]Result{v}, nil)
		got := 0
		if has := (interface{ ExitStatus() int })(nil); errors.As(err, &has) {
			got = has.ExitStatus()
		} else if err != nil {
			got = 1
		}
		if got != tt.status || err != nil && !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%v: status %d, %v; want %d, %q", tt.rows, got, err, tt.status, tt.words)
		}
	}
}

// TestInterrupted: what was tried until an interrupt stands, and the error says so.
func TestInterrupted(t *testing.T) {
	for _, x := range []struct {
		rows []row.Row
		want string
	}{
		{nil, "interrupted: nothing is proved yet"},
		{[]row.Row{{Finding: judge.Finding{Verdict: judge.Held}}}, "interrupted: 1 row tried, see the lines above; the rest is not tried"},
	} {
		err := Ended([]Result{{Rows: x.rows}}, fmt.Errorf("worker: %w", context.Canceled))
		if err == nil || err.Error() != x.want {
			t.Errorf("%d rows: %v, want %q", len(x.rows), err, x.want)
		}
	}
}
