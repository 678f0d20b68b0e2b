//go:build linux

package enginetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// big fills a tmpfs, whose pages belong to the container, with 200 MiB.
var big = workload.Spec{Name: "big", Kind: workload.Block, Job: load.Job{RW: load.RandRead, BS: 4096, Size: 200 << 20, NumberIOs: 100, IOEngine: load.PSync}}

// tooBig does more than the container has memory for, which is limited to asked bytes by the plan
// (0: not), and returns what is said of it.
func tooBig(t *testing.T, a *agent.Agent, asked int64) error {
	t.Helper()
	m := agent.WatchMemory([]*agent.Agent{a}, asked)
	_, err := trial(t, a, "big", big)
	var te *agent.TrialError
	if !errors.As(err, &te) {
		t.Fatalf("a trial in too little memory = %v, want a TrialError", err)
	}
	return m.Explain(err)
}

// testOutOfMemory: a trial that the kernel kills for want of memory says so, with the limit. That the
// kill has a signal's name is not enough: so has any.
func testOutOfMemory(t *testing.T, s Suite) {
	sp := spec(place.Tmpfs)
	sp.Place.Size = 256 << 20
	sp.Limits = limit.Limits{Name: "small", Memory: 48 << 20}
	err := tooBig(t, open(t, s.New(t), sp), sp.Limits.Memory)
	if want := "out of memory (memory limit 48 MiB)"; !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %q, want %q in it", err, want)
	}
}

// testOutsideMemory: if another program set a memory limit around the worker, the error says so. It names the
// group that has the limit and the bytes in effect, whether the plan has a higher limit or none.
func testOutsideMemory(t *testing.T, s Suite) {
	for _, asked := range []int64{0, 1 << 30} {
		if asked > 0 && !s.Memory {
			continue
		}
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			// Made before the worker, they are removed after it.
			around := disktest.NewMemoryGroup(t, 64<<20)
			inner := around.Child(t)
			sp := spec(place.Tmpfs)
			sp.Place.Size, sp.Limits.Memory = 256<<20, asked
			a := open(t, s.New(t), sp)
			if err := inner.Add(a.Session.Info().PID); err != nil {
				t.Fatal(err)
			}
			err := tooBig(t, a, asked)
			want := fmt.Sprintf("memory limit 64 MiB of the control group %s, which is not the plan's", around.Path)
			if !strings.Contains(err.Error(), "out of memory") || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %q, want out of memory and %q in it", err, want)
			}
			if strings.Contains(err.Error(), inner.Path) {
				t.Errorf("the error is %q: the limit is not the inner group's", err)
			}
		})
	}
}
