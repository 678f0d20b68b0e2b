package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
)

// needSystemd skips where systemd is not the first process, with all controllers in version 2.
func needSystemd(t *testing.T) {
	t.Helper()
	needRun(t)
	if comm, err := os.ReadFile("/proc/1/comm"); err != nil || strings.TrimSpace(string(comm)) != "systemd" {
		t.Skip("needs systemd as the first process")
	}
}

// systemctl runs one of systemd's programs.
func systemctl(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", program, args, err, out)
	}
	return string(out)
}

// A unitLab is a unit of systemd's own making, with a group.
type unitLab struct {
	limitLab
	name, group, number string
}

// has waits until a file of the unit's group has the wanted content: systemd writes it a little after the command.
func (l unitLab) has(t *testing.T, when, file, want string) {
	t.Helper()
	var is string
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", l.group, file))
		is = strings.TrimSuffix(strings.TrimSpace(string(b)), " 100000") // The period of CPU quotas.
		// systemd enables only the controllers that a unit asks for, and disables them again.
		if err == nil && is == want || errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(want, "123456789") {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%s: %s of %s is %q (%v), want %q", when, file, l.name, is, err, want)
			return
		}
	}
}

// stands checks that the limits are in force, and that nothing is left of them if there are none.
func (l unitLab) stands(t *testing.T, when string, limited bool) {
	t.Helper()
	io, cpu, memory := "", "max", "max"
	if limited {
		io, cpu, memory = l.number+" rbps=max wbps=2097152 riops=300 wiops=max", "50000", "134217728"
	}
	l.has(t, when, "io.max", io)
	l.has(t, when, "cpu.max", cpu)
	l.has(t, when, "memory.max", memory)
}

// scope starts a scope, which ends with the test.
func scope(t *testing.T, name string) unitLab {
	t.Helper()
	cmd := exec.Command("systemd-run", "--scope", "--unit="+name, "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for exec.Command("systemctl", "is-active", "--quiet", name).Run() != nil {
		time.Sleep(50 * time.Millisecond)
	}
	return unitLab{limitLab: limitLab{target.Options{}, t.TempDir()}, name: name, group: "system.slice/" + name}
}

// TestLimitSystemd: limits of a service and of a scope are systemd's own properties, so that a daemon-reload, another property and
// a restart leave them; the kernel holds them, and clear removes them for good.
func TestLimitSystemd(t *testing.T) {
	needSystemd(t)
	loop, dir := fastDisk(t)
	limits := []string{"--path", dir, "--write-bps", "2MiB", "--read-iops", "300", "--cpus", "0.5", "--memory", "128MiB"}

	t.Run("service", func(t *testing.T) {
		const name = "plimsoll-test.service"
		file := filepath.Join("/run/systemd/system", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("[Unit]\nDefaultDependencies=no\n[Service]\nStandardOutput=null\nExecStart=/bin/sleep 1000\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			systemctl(t, "systemctl", "stop", name)
			os.Remove(file)
			systemctl(t, "systemctl", "daemon-reload")
		})
		systemctl(t, "systemctl", "daemon-reload")
		systemctl(t, "systemctl", "start", name)
		l := unitLab{limitLab{target.Options{}, t.TempDir()}, name, "system.slice/" + name, disktest.Number(t, loop)}
		l.stands(t, "before", false)
		l.do(t, exitDone, append([]string{"set", "unit:" + name}, limits...)...)
		l.stands(t, "set", true)
		for when, args := range map[string][]string{
			"daemon-reload":    {"daemon-reload"},
			"another property": {"set-property", "--runtime", name, "TasksMax=100"},
			"restart":          {"restart", name},
		} {
			systemctl(t, "systemctl", args...)
			l.stands(t, "after "+when, true)
		}
		// The group by its path is the unit's: what is set there goes the same way.
		l.do(t, exitDone, "set", "cgroup:/"+l.group, "--path", dir, "--write-bps", "4MiB")
		systemctl(t, "systemctl", "daemon-reload")
		l.has(t, "set by the group's path", "io.max", l.number+" rbps=max wbps=4194304 riops=300 wiops=max")
		// An emulated processor is slow, above all in half of its time.
		l.do(t, exitDone, "set", "unit:"+name, "--path", dir, "--write-bps", "256KiB", "--cpus", "none")
		if text := l.do(t, exitDone, "verify", "unit:"+name, "--path", dir, "--write-bps", "256KiB", "--modes", "direct", "--time", "5s"); !strings.Contains(text, "  held: asked 256 KiB/s") {
			t.Errorf("verify: %s", text)
		}
		l.do(t, exitDone, "clear", "unit:"+name)
		l.stands(t, "cleared", false)
		systemctl(t, "systemctl", "daemon-reload")
		systemctl(t, "systemctl", "restart", name)
		l.stands(t, "cleared and restarted", false)
		// It is still the one that it was, but for what is no limit of ours.
		if is := systemctl(t, "systemctl", "show", "--property=TasksMax,CPUQuotaPerSecUSec,MemoryMax,IOWriteBandwidthMax", name); is != "CPUQuotaPerSecUSec=infinity\nMemoryMax=infinity\nTasksMax=100\n" {
			t.Errorf("properties after clear: %q", is)
		}
	})

	t.Run("scope", func(t *testing.T) {
		const name = "plimsoll-test.scope"
		l := scope(t, name)
		l.number = disktest.Number(t, loop)
		l.stands(t, "before", false)
		l.do(t, exitDone, append([]string{"set", "unit:" + name}, limits...)...)
		systemctl(t, "systemctl", "daemon-reload")
		l.stands(t, "after daemon-reload", true)
		l.do(t, exitDone, "clear", "unit:"+name)
		systemctl(t, "systemctl", "daemon-reload")
		l.stands(t, "cleared", false)
	})

	for by, file := range map[string]string{"iocost": "io.weight", "bfq": "io.bfq.weight"} {
		t.Run("weights by "+by, func(t *testing.T) {
			name := "plimsoll-" + by + ".scope"
			disktest.Schedule(t, loop, "none")
			l := scope(t, name)
			l.number = disktest.Number(t, loop)
			shares, _ := limit.CPUWeight(512)
			t.Cleanup(func() { _ = os.WriteFile(costQoSFile, []byte(l.number+" enable=0"), 0) })
			// The scope has neither controller yet.
			l.do(t, exitDone, "set", "unit:"+name, "--device", loop, "--weight", "200", "--cpu-shares", "512", "--enable-weights="+by)
			for _, args := range [][]string{nil, {"daemon-reload"}, {"set-property", "--runtime", name, "TasksMax=100"}} {
				if args != nil {
					systemctl(t, "systemctl", args...)
				}
				l.has(t, fmt.Sprint("after ", args), "cpu.weight", fmt.Sprint(shares))
				l.has(t, fmt.Sprint("after ", args), file, "default 100\n"+l.number+" 200")
			}
			if is := systemctl(t, "systemctl", "show", "--property=CPUWeight,IODeviceWeight", name); !strings.Contains(is, fmt.Sprintf("CPUWeight=%d\n", shares)) || !strings.Contains(is, "IODeviceWeight="+loop+" ") {
				t.Errorf("properties: %q", is)
			}
			if text := l.do(t, exitDone, "clear", "unit:"+name); !strings.Contains(text, "is not divided by weight any more") {
				t.Errorf("clear: %s", text)
			}
			systemctl(t, "systemctl", "daemon-reload")
			if is := systemctl(t, "systemctl", "show", "--property=CPUWeight", name); is != "CPUWeight=[not set]\n" {
				t.Errorf("properties after clear: %q", is)
			}
			if b, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", l.group, file)); err == nil && strings.Contains(string(b), " 200") {
				t.Errorf("cleared, %s has %q", file, b)
			}
		})
	}

	t.Run("gone", func(t *testing.T) {
		l := limitLab{target.Options{}, t.TempDir()}
		if text := l.do(t, exitFailure, "set", "unit:plimsoll-no-such.service", "--path", dir, "--write-bps", "2MiB"); !strings.Contains(text, "plimsoll-no-such.service") {
			t.Errorf("a unit that isn't there: %s", text)
		}
	})
}
