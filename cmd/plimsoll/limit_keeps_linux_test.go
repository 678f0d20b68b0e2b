package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// A keeping is a keeper of a test's own, which takes its limits away when it ends.
type keeping struct {
	*keeper.Keeper
	// end ends it before the test does.
	end func()
	mu  sync.Mutex
	log []string
}

// keep starts a keeper with one rule; match, where and limits are a policy's words.
func keep(t *testing.T, o target.Options, match, where, limits string) *keeping {
	t.Helper()
	return keepText(t, o, fmt.Sprintf("rules:\n- {name: one, match: %s, where: %s, limits: %s}\n", match, where, limits))
}

// keepText starts a keeper with a policy.
func keepText(t *testing.T, o target.Options, text string) *keeping {
	t.Helper()
	if o.Proc == "" {
		o.Proc = "/proc"
	}
	f := target.New(o)
	t.Cleanup(func() { f.Close() })
	h, err := hold.New(device.Host(), f)
	if err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	k := &keeping{}
	k.Keeper, err = keeper.New(keeper.Options{Holder: h, Policy: policy, Run: t.TempDir(), Check: time.Hour, ClearOnStop: true, Log: func(line string) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.log = append(k.log, line)
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	k.end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the keeper: %v", err)
		}
		if err := k.Close(); err != nil {
			t.Errorf("the keeper: %v", err)
		}
	})
	t.Cleanup(k.end)
	return k
}

// until waits until something is so, and fails the test with what the keeper said if that takes too long.
func (k *keeping) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			k.mu.Lock()
			defer k.mu.Unlock()
			t.Fatalf("not within a minute: %s; the keeper said: %s", what, strings.Join(k.log, "\n"))
		}
	}
}

// said reports whether the keeper said so.
func (k *keeping) said(words string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Contains(strings.Join(k.log, "\n"), words)
}

// restores checks that the keeper limits a group to 1 MiB/s on one device only, and restores that after each change by another program.
func (k *keeping) restores(t *testing.T, group disktest.Group, number string) {
	t.Helper()
	const most = "rbps=max wbps=1048576 riops=max wiops=max"
	is := func() bool { return kept(t, group, "io.max") == number+" "+most }
	k.until(t, "the group is held on "+number+" alone", is)
	k.until(t, "the log says so", func() bool { return k.said("held to") })
	for i, other := range []string{"wbps=5000000", "wbps=max"} {
		if err := group.Put("io.max", number+" "+other); err != nil {
			t.Fatal(err)
		}
		k.until(t, other+" is restored", is)
		k.until(t, "it is counted", func() bool { return k.Status().Drift == int64(i+1) })
		time.Sleep(200 * time.Millisecond) // A second change is answered later.
	}
}

// keeps has a keeper hold a group by a rule for a folder.
func keeps(t *testing.T, group disktest.Group, dir, number string) {
	t.Helper()
	k := keep(t, target.Options{}, "all", "{path: "+dir+"}", "{write_bps: 1MiB}")
	k.Started(target.Target{Kind: target.Cgroup, Name: string(group), Running: true})
	k.restores(t, group, number)
	k.end()
	if is := kept(t, group, "io.max"); is != "" {
		t.Errorf("the keeper ended, and io.max has %q", is)
	}
}

// keepsNot has a keeper tell, in words, that a rule for a folder can't be held, and leave the group alone.
func keepsNot(t *testing.T, group disktest.Group, dir string, words []string) {
	t.Helper()
	before := ratesOf(t, group)
	k := keep(t, target.Options{}, "all", "{path: "+dir+"}", "{write_bps: 1MiB}")
	k.Started(target.Target{Kind: target.Cgroup, Name: string(group), Running: true})
	k.until(t, "the fault is reported", func() bool { c := k.Status().Containers; return len(c) == 1 && len(c[0].Faults) == 1 })
	c := k.Status().Containers[0]
	texttest.Has(t, c.Faults[0].Text, words)
	k.Check()
	if now := ratesOf(t, group); len(c.Held) > 0 || c.Faults[0].Rule != "one" || now != before {
		t.Errorf("the keeper holds %+v; the kernel has %q, want %q", c, now, before)
	}
}
