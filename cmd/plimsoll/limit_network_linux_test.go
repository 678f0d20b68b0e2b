package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
)

// TestLimitNetworkMount: on a folder that comes over the network every command says that it can't be limited, why, and what to do
// instead, and changes nothing; so does the keeper. And that is no empty advice: a disk image on it, bound to a loop device, takes a limit.
func TestLimitNetworkMount(t *testing.T) {
	for _, tt := range []struct {
		kind, from string
		mount      func(testing.TB) (dir, served string)
	}{
		{"nfs4", "127.0.0.1:/", disktest.NFS},
		{"cifs", "//127.0.0.1/data", disktest.CIFS},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			group := newIOGroup(t)
			share, served := tt.mount(t)
			// It is the mount that was meant: what is made through it is at the server.
			below := filepath.Join(share, "below")
			if err := os.Mkdir(below, 0o755); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(served, "below")); err != nil {
				t.Fatal(err)
			}
			l := limitLab{target.Options{}, t.TempDir()}
			name := "cgroup:" + string(group)
			disk := disktest.Loop(t, disktest.Image(t, 16<<20), false)
			l.do(t, exitDone, "set", name, "--device", disk, "--write-bps", "1MiB", "--read-iops", "77")
			before := ratesOf(t, group)
			if !strings.Contains(before, "1048576") || !strings.Contains(before, "77") {
				t.Fatalf("the kernel has %q", before)
			}
			why, instead := tt.kind+": data goes over the network to "+tt.from, "limit it at the server, or the network of this machine; a disk image on it, bound to"
			words := []string{why, "limit it at the server", "a disk image on it, bound to"}
			for _, path := range []string{share, below} {
				l.says(t, exitCannot, append(words, "can't be limited here"), "set", name, "--path", path, "--write-bps", "2MiB", "--read-iops", "99")
				l.says(t, exitCannot, words, "explain", path)
				e := l.explainsOne(t, exitCannot, path)
				if e.Possible || len(e.Hard)+len(e.Modes) > 0 {
					t.Errorf("the JSON of explain has it possible: %+v", e)
				}
				if e.Why != why || !strings.HasPrefix(e.Instead, instead) {
					t.Errorf("the JSON of explain has why %q and instead %q, want %q and %q", e.Why, e.Instead, why, instead)
				}
				if !strings.Contains(string(e.Tree), `"`+tt.kind+`"`) {
					t.Errorf("the JSON of explain lacks %s: %s", tt.kind, e.Tree)
				}
				if now := ratesOf(t, group); now != before {
					t.Errorf("%s: the kernel has %q, want %q", path, now, before)
				}
			}
			for _, more := range [][]string{{}, {"--json"}, {"--write-bps", "2MiB"}} {
				l.says(t, exitCannot, words, append([]string{"verify", name, "--path", share}, more...)...)
			}
			keepsNot(t, group, share, words)
			ofContainer(t, share, why)
			if left, _ := filepath.Glob(filepath.Join(share, "*plimsoll*")); len(left) > 0 {
				t.Errorf("left %q", left)
			}

			loop := disktest.Loop(t, disktest.ImageIn(t, share, 16<<20), false)
			l.do(t, exitDone, "set", name, "--device", loop, "--write-bps", "256KiB")
			if now := ratesOf(t, group); !strings.Contains(now, disktest.Number(t, loop)+" ") || !strings.Contains(now, "262144") || len(now) <= len(before) {
				t.Errorf("an image on it: the kernel has %q", now)
			}
			// 1 MiB takes 4 s then, but for what a limiter lets through at the start.
			began := time.Now()
			write := exec.Command("sh", "-c", `echo $$ >"$0/cgroup.procs" && exec dd if=/dev/zero "of=$1" bs=64k count=16 oflag=direct`, string(group), loop)
			if out, err := write.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if took := time.Since(began); took < 2*time.Second {
				t.Errorf("1 MiB was written at 256 KiB/s within %v", took)
			}
		})
	}
}

// ofContainer: a container that has a share of the network as a folder is limited where it can be, on its own layer's disk, by a command
// and by the keeper, and both say that the share is not.
func ofContainer(t *testing.T, share, why string) {
	t.Helper()
	path, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("needs runc: apt-get install runc")
	}
	id := fmt.Sprintf("plimsoll-limit-%d-share", os.Getpid())
	l := limitLab{target.Options{Proc: "/proc", Runc: []string{runBundle(t, path, id, share, "")}}, t.TempDir()}
	name := "oci:" + id
	l.says(t, exitCannot, []string{"can't be limited", why}, "set", name, "--path", "/data", "--write-bps", "2MiB")
	said := l.says(t, exitDone, []string{"set write_bps=2MiB", "/data can't be limited here: " + why, "instead: "}, "set", name, "--write-bps", "2MiB")
	if text := l.do(t, exitDone, "show", name); strings.Count(text, "write_bps=2MiB") != 1 {
		t.Errorf("set said %s, and show %s", said, text)
	}
	l.do(t, exitDone, "clear", name)
	k := keep(t, l.targets, "{name: "+id+"}", "{all: true}", "{write_bps: 1MiB}")
	k.until(t, "the container is held", func() bool { c := k.Status().Containers; return len(c) == 1 && len(c[0].Held) == 1 })
	c := k.Status().Containers[0]
	if len(c.Faults) > 0 || !strings.Contains(strings.Join(c.Unlimited, "\n"), "/data can't be limited here: "+why) {
		t.Errorf("the keeper says %+v", c)
	}
	if text := l.do(t, exitDone, "show", name); !strings.Contains(text, "write_bps=1MiB") {
		t.Errorf("held by the keeper, show says %s", text)
	}
	k.end()
}
