package keeper

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
)

// systemctl tells systemd something.
func systemctl(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("systemctl", args...).CombinedOutput(); err != nil {
		t.Fatalf("systemctl %v: %v: %s", args, err, out)
	}
}

// TestSystemd: what a rule gives a group of systemd's is held though systemd writes the group's files for its own reasons, and a controller that
// systemd hasn't given is named with what gives it.
func TestSystemd(t *testing.T) {
	if comm, err := os.ReadFile("/proc/1/comm"); err != nil || strings.TrimSpace(string(comm)) != "systemd" {
		t.Skip("needs systemd as the first process")
	}
	if _, err := os.Stat("/sys/fs/cgroup/system.slice/cgroup.controllers"); err != nil {
		t.Skip("needs systemd's groups in version 2")
	}
	const name = "plimsoll-keeper.scope"
	group := disktest.Group("/sys/fs/cgroup/system.slice/" + name)
	cmd := exec.Command("systemd-run", "--scope", "--unit="+name, "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, "the scope is there", func() bool { return exec.Command("systemctl", "is-active", "--quiet", name).Run() == nil })
	b := &bench{group: group, disk: disktest.Loop(t, disktest.Image(t, 32<<20), true)}
	b.number = disktest.Number(t, b.disk)
	b.running = start(t, Options{Holder: holderFor(t), Check: hour}, b.text("rules:\n"+
		"- {name: memory, match: all, limits: {memory: 64MiB}}\n"+
		"- {name: one, match: all, where: {device: DISK}, limits: {write_bps: 1MiB}}\n"))
	memory := func(want string) {
		t.Helper()
		is := ""
		defer func() { t.Logf("memory.max has %q", is) }()
		eventually(t, "memory.max has "+want, func() bool {
			text, err := os.ReadFile(filepath.Join(string(group), "memory.max"))
			is = fmt.Sprint(strings.TrimSpace(string(text)), err)
			return is == want+"<nil>"
		})
	}
	b.k.Started(target.Target{Kind: target.Cgroup, Name: string(group), Running: true})
	memory("67108864")
	eventually(t, "the controller is named with what gives it", func() bool {
		return b.said("the io controller is not given to this group") && b.said("systemctl set-property "+name+" IOAccounting=yes")
	})
	systemctl(t, "set-property", "--runtime", name, "IOAccounting=yes")
	eventually(t, "it is tried again", func() bool { b.k.Check(); return len(b.k.Status().Containers[0].Held) == 2 })
	b.max(group, oneMax)
	memory("67108864")
	eventually(t, "the fault is gone", func() bool { return len(b.k.Status().Containers[0].Faults) == 0 })
	for _, args := range [][]string{{"daemon-reload"}, {"set-property", "--runtime", name, "MemoryMax=128M"}, {"set-property", "--runtime", name, "IOWriteBandwidthMax=" + b.disk + " 5M"}, {"daemon-reload"}} {
		before := b.k.Status().Drift
		systemctl(t, args...)
		if args[0] != "daemon-reload" {
			eventually(t, fmt.Sprint(args, " is counted"), func() bool { return b.k.Status().Drift > before })
		}
		b.max(group, oneMax)
		memory("67108864")
	}
}
