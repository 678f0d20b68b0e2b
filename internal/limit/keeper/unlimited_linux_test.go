package keeper

import (
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/testkit/disktest"
)

// TestUnlimited: what of a target's data can't be limited is told, with what is held and with what would be.
func TestUnlimited(t *testing.T) {
	b := newBench(t, Options{}, "rules:\n- {name: one, match: all, limits: {write_bps: 1MiB}}\n")
	memory := disktest.Mount(t, "tmpfs", "tmpfs", 0, "size=1m")
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	if err := b.group.Add(child.Process.Pid); err != nil {
		t.Fatal(err)
	}
	ticks, err := procfs.Start("/proc", child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	who := target.Target{Kind: target.Process, PID: child.Process.Pid, StartTime: ticks, Running: true, Mounts: []target.Mount{{Source: memory, Destination: memory}}}
	// The bench is one of version 1, where buffered writes are nobody's.
	escapes := func(all []hold.Escape) bool {
		return len(all) > 0 && slices.Contains(all[0].Modes, "buffered") && strings.Contains(all[0].Instead, "device_wide")
	}
	told := func(sentences []string) bool {
		return slices.ContainsFunc(sentences, func(s string) bool { return strings.Contains(s, memory) && strings.Contains(s, "memory") })
	}
	p, err := policy.Parse("policy.yaml", []byte("rules:\n- {name: one, match: all, limits: {write_bps: 1MiB}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	looked := Look(b.k.opt, p, []target.Target{who})
	if len(looked.Containers) != 1 {
		t.Fatalf("Look() = %+v, want one container", looked)
	}
	seen := looked.Containers[0]
	if !told(seen.Unlimited) {
		t.Errorf("Look: without a limit is %q, want what is in memory", seen.Unlimited)
	}
	if !escapes(seen.Escapes) {
		t.Errorf("Look: the escapes are %+v, want buffered writes", seen.Escapes)
	}
	if len(seen.Grants) == 0 {
		t.Error("Look grants nothing")
	}
	b.k.Started(who)
	eventually(t, "it is held, and what isn't is told", func() bool {
		s := b.k.Status()
		return len(s.Containers) == 1 && len(s.Containers[0].Held) > 0 && told(s.Containers[0].Unlimited) && escapes(s.Containers[0].Escapes)
	})
	eventually(t, "the log tells what gets past it", func() bool { return b.said("writes are NOT held in the mode") })
}

// TestCeilingsOfNewDisks: a percentage is of what the disk of today was measured to carry, also if one of its name was there before.
func TestCeilingsOfNewDisks(t *testing.T) {
	var carries atomic.Int64
	carries.Store(100 << 20)
	b := newBench(t, Options{Ceilings: func(string) (limit.Limits, error) { return limit.Limits{WriteBPS: carries.Load()}, nil }},
		"rules:\n- {name: one, match: all, where: {device: DISK}, limits: {write_bps: 10%}}\n")
	b.k.Started(targetOf(b.group))
	b.has("10485760")
	carries.Store(50 << 20)
	b.k.disks(nil)
	other := disktest.NewBlkioGroup(t)
	b.k.Started(targetOf(other))
	eventually(t, "the next is held to a tenth of the new disk", func() bool { return rate(base(other), b.number) == "5242880" })
}
