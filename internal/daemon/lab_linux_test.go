package daemon

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
)

// A bench is a daemon, and a group and a disk of its own.
type bench struct {
	t     *testing.T
	d     *Daemon
	opt   keeper.Options
	stop  func()
	group disktest.Group
	// disk is the node of the device, and number is its number.
	disk, number string

	mu  sync.Mutex
	log []string
}

// oneRule is a policy, but for the node of the disk.
const oneRule = "rules:\n- {name: one, match: all, where: {device: DISK}, limits: {write_bps: 1MiB}}\n"

// needV1 skips where rates aren't those of version 1, which the tests read.
func needV1(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err != nil {
		t.Skip("needs the blkio controller of version 1")
	}
}

// newBench starts a daemon with a policy in which DISK is the bench's.
func newBench(t *testing.T, opt keeper.Options, policy string) *bench {
	t.Helper()
	needV1(t)
	return startOn(t, opt, disktest.Loop(t, disktest.Image(t, 16<<20), false), policy)
}

// startOn is newBench with a disk.
func startOn(t *testing.T, opt keeper.Options, disk, policy string) *bench {
	t.Helper()
	b := &bench{t: t, group: disktest.NewBlkioGroup(t), disk: disk, number: disktest.Number(t, disk)}
	f := target.New(target.Options{Proc: "/proc"})
	t.Cleanup(func() { f.Close() })
	h, err := hold.New(device.Host(), f)
	if err != nil {
		t.Fatal(err)
	}
	opt.Holder, opt.Check, opt.Run, opt.Policy = h, time.Hour, t.TempDir(), filepath.Join(t.TempDir(), "policy.yaml")
	opt.Log = func(line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.log = append(b.log, line)
		t.Log(line)
	}
	b.opt = opt
	b.write(policy)
	if b.d, err = New(opt); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.d.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run() = %v", err)
		}
		if err := b.d.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	t.Cleanup(b.stop)
	b.eventually("the daemon can be asked", func() bool { _, err := Ask(b.opt.Run); return err == nil })
	return b
}

// write replaces the policy.
func (b *bench) write(policy string) {
	b.t.Helper()
	if err := os.WriteFile(b.opt.Policy, []byte(strings.ReplaceAll(policy, "DISK", b.disk)), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// said reports whether a line of the log has words in it.
func (b *bench) said(words string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(strings.Join(b.log, "\n"), words)
}

// targetOf is a group as a target.
func targetOf(g disktest.Group) target.Target {
	return target.Target{Kind: target.Cgroup, Name: string(g), Running: true}
}

// has waits until a group has a limit on bytes written.
func (b *bench) has(group disktest.Group, want string) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("the group has %q", want), func() bool {
		text, _ := os.ReadFile(filepath.Join(string(group), "blkio.throttle.write_bps_device"))
		return strings.Contains("\n"+string(text), "\n"+b.number+" "+want+"\n")
	})
}

// eventually waits until something is so.
func (b *bench) eventually(what string, is func() bool) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if is() {
			return
		}
	}
	b.t.Fatalf("not within a minute: %s", what)
}
