package cgroup

import (
	"testing"

	"plimsoll/internal/limit"
)

// TestSwapBack: what Read found of memory and swap is written as it was, whatever a limit on memory meant for swap in between. Without
// it, a Want means what it always did.
func TestSwapBack(t *testing.T) {
	for _, x := range []struct {
		version      int
		memory, swap string
		has          limit.Limits
	}{
		{2, "536870912", "536870912", limit.Limits{Memory: 512 << 20, Swap: "536870912"}},
		{2, "536870912", "max", limit.Limits{Memory: 512 << 20, Swap: "max"}},
		{2, "536870912", "0", limit.Limits{Memory: 512 << 20}},
		{2, "max", "536870912", limit.Limits{Swap: "536870912"}},
		{2, "max", "0", limit.Limits{Swap: "0"}},
		{2, "max", "max", limit.Limits{}},
		{1, "536870912", "1073741824", limit.Limits{Memory: 512 << 20, Swap: "1073741824"}},
		{1, "536870912", "9223372036854771712", limit.Limits{Memory: 512 << 20, Swap: "max"}},
		{1, "536870912", "536870912", limit.Limits{Memory: 512 << 20}},
		{1, "9223372036854771712", "9223372036854771712", limit.Limits{}},
	} {
		for _, asked := range []int64{64 << 20, 512 << 20, 2 << 30, 0} {
			f := newFake(t, x.version, "/c")
			target := f.target("/c")
			dir := map[int]string{1: "cg/memory/c/", 2: "cg/c/"}[x.version]
			g := target.groups[controllers[2]]
			limitFile, swapFile := memoryFiles(g)
			f.put(dir+limitFile, x.memory+"\n")
			f.put(dir+swapFile, x.swap+"\n")
			before := f.everything()
			states, err := f.host.Read(target)
			if err != nil || states[0].Limits != x.has {
				t.Fatalf("version %d, %s and %s are read as %+v, %v, want %+v", x.version, x.memory, x.swap, states[0].Limits, err, x.has)
			}
			if x.has.IsZero() != (x.has.Memory == 0) {
				t.Errorf("%+v: swap alone is a bound", x.has)
			}
			change := limit.Change{Set: limit.Limits{Memory: asked}}
			if asked == 0 {
				change = limit.Clear(limit.Memory)
			}
			if _, err := f.host.Hold(target, Want{Change: change}); err != nil {
				t.Fatal(err)
			}
			if now, err := f.host.Read(target); err != nil || now[0].Limits != change.Set {
				t.Errorf("set %s: %+v, %v", change.Set, now[0].Limits, err)
			}
			back := limit.Change{Set: limit.Limits{}.With(limit.Memory, x.has)}
			if x.has.Memory == 0 {
				back.Remove = []limit.Key{limit.Memory}
			}
			n, err := f.host.Hold(target, Want{Change: back})
			if err != nil {
				t.Fatal(err)
			}
			if now := f.everything(); now[dir+limitFile] != before[dir+limitFile] || now[dir+swapFile] != before[dir+swapFile] {
				t.Errorf("version %d, after %d bytes: %q and %q, want %q and %q", x.version, asked, now[dir+limitFile], now[dir+swapFile], before[dir+limitFile], before[dir+swapFile])
			}
			if again, err := f.host.Hold(target, Want{Change: back}); err != nil || again != 0 {
				t.Errorf("%d writes and then %d, %v", n, again, err)
			}
		}
	}
	f := newFake(t, 2, "/c")
	if d, err := f.host.Plan(f.target("/c"), Want{Change: limit.Change{Set: limit.Limits{Memory: 64 << 20, Swap: "much"}}}); err == nil {
		t.Errorf("Plan of swap that is not a number = %+v", d)
	}
}
