package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/testkit/texttest"
)

// judged is says for a limit verify that finds its target and starts a worker there, but measures nothing: all rows have the verdict. It
// returns what would have been measured as well. Whether a limit holds is for package row to measure, and to judge from what it recorded.
func (l limitLab) judged(t *testing.T, verdict judge.Verdict, status int, words []string, args ...string) (asked []row.Request, text string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, targets: &l.targets}
	a.try = func(_ context.Context, r row.Request) (rows []row.Row, err error) {
		asked = append(asked, r)
		modes := r.Modes
		if modes == nil {
			modes = row.Modes
		}
		for _, k := range limit.Keys {
			for _, mode := range modes {
				if r.Asked[k] > 0 {
					rows = append(rows, judgedRow(r, k, mode, verdict))
				}
			}
		}
		return rows, nil
	}
	got := a.run(t.Context(), slices.Concat([]string{"limit"}, args, []string{"--state", l.state}))
	text = out.String() + errs.String()
	if got != status {
		t.Errorf("limit %v: status %d, want %d:\n%s", args, got, status, text)
	}
	texttest.Has(t, text, words, args)
	if len(asked) == 0 {
		t.Errorf("%v: nothing would have been measured:\n%s", args, text)
	}
	return asked, text
}

// judgedRow is a row of a request that is at its limit, or at four times that if it isn't held.
func judgedRow(r row.Request, k limit.Key, mode row.Mode, verdict judge.Verdict) row.Row {
	asked := float64(r.Asked[k])
	seen := asked
	if verdict == judge.NotHeld {
		seen *= 4
	}
	return row.Row{
		Finding: judge.Finding{Key: k, Asked: asked, Seen: seen, Off: seen/asked - 1, Verdict: verdict},
		Mode:    mode, Members: r.Members, App: seen, Device: seen, Converged: -1, Elapsed: r.Time,
	}
}
