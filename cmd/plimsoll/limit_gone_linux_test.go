package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/device"
	"plimsoll/internal/device/hierarchy"
	"plimsoll/internal/disktest"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/target"
)

// What fixtures tell of network mounts and of devices that go, a kernel that has them shows.

// newIOGroup makes a group that takes limits on I/O, of either version.
func newIOGroup(t *testing.T) disktest.Group {
	t.Helper()
	needRun(t)
	tree, err := hierarchy.Read(device.Host())
	if err != nil {
		t.Fatal(err)
	}
	root, err := tree.Root(hierarchy.IO)
	if err != nil {
		t.Skipf("needs an I/O controller: %v", err)
	}
	if !root.Given() {
		t.Skip("needs a group that hands on the io controller")
	}
	return disktest.NewGroup(t, root.Dir)
}

// ratesOf is what the files of a group have, each with its name.
func ratesOf(t *testing.T, group disktest.Group) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(string(group), "blkio.throttle.*ps_device"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		files = []string{filepath.Join(string(group), "io.max")}
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			all.WriteString(filepath.Base(f) + " " + strings.TrimSpace(line) + "\n")
		}
	}
	return all.String()
}

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
				if e := l.explainsOne(t, exitCannot, path); e.Possible || len(e.Hard)+len(e.Modes) > 0 || e.Why != why || !strings.HasPrefix(e.Instead, instead) || !strings.Contains(string(e.Tree), `"`+tt.kind+`"`) {
					t.Errorf("the JSON of explain has %+v", e)
				}
				if now := ratesOf(t, group); now != before {
					t.Errorf("%s: the kernel has %q, want %q", path, now, before)
				}
			}
			for _, more := range [][]string{{}, {"--json"}, {"--write-bps", "2MiB"}} {
				l.says(t, exitCannot, words, append([]string{"verify", name, "--path", share}, more...)...)
			}
			keepsNot(t, group, share, words)
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

// TestLimitMapperGone: a device of the device mapper is removed after the look: before the first write, and when another device
// has its limit already. It is told in words, and what was there before is there again, on both.
func TestLimitMapperGone(t *testing.T) {
	for _, tt := range []struct {
		name string
		// after is how many writes are done when it goes.
		after int
		words []string
	}{
		{"before the first write", 0, []string{"there is no block device", "name the one that the data is on now"}},
		{"after a write", 1, []string{"there is no block device", "name the one that the data is on now", "what was written before was put back"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			group := newIOGroup(t)
			disk := disktest.Loop(t, disktest.Image(t, 16<<20), false)
			mapped := disktest.Mapper(t, disktest.Loop(t, disktest.Image(t, 16<<20), false))
			l := limitLab{target.Options{}, t.TempDir()}
			name := "cgroup:" + string(group)
			l.do(t, exitDone, "set", name, "--device", disk, "--write-bps", "1MiB", "--read-iops", "77")
			before := ratesOf(t, group)

			f := target.New(target.Options{})
			defer f.Close()
			h, err := hold.New(device.Host(), f)
			if err != nil {
				t.Fatal(err)
			}
			ref, err := target.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := h.Scope(t.Context(), ref, hold.Where{Device: disk}, true)
			if err != nil {
				t.Fatal(err)
			}
			other, err := h.Scope(t.Context(), ref, hold.Where{Device: mapped}, true)
			if err != nil {
				t.Fatal(err)
			}
			s.Grounds = append(s.Grounds, other.Grounds...)
			writes := 0
			goes := func() {
				if writes == tt.after {
					disktest.RemoveMapper(t, mapped)
				}
			}
			h.Groups = h.Groups.Through(func(path, text string, next func(path, text string) error) error {
				err := next(path, text)
				writes++
				goes()
				return err
			})
			goes()
			_, err = h.Apply(t.Context(), s, limit.Change{Set: limit.Limits{WriteBPS: 2 << 20, ReadIOPS: 99}})
			if err == nil {
				t.Fatal("a limit was set on a device that is gone")
			}
			for _, w := range tt.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("no %q in %v", w, err)
				}
			}
			if now := ratesOf(t, group); now != before {
				t.Errorf("the kernel has %q, want %q", now, before)
			}
			if tt.after > 0 && writes < 2*tt.after+1 {
				t.Errorf("%d writes: nothing was put back", writes)
			}
			// By name it is told as well, with what there is to do.
			if _, err := os.Stat(mapped); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is there: %v", mapped, err)
			}
			l.says(t, exitUsage, []string{"there is no device " + mapped + " (any more)"}, "set", name, "--device", mapped, "--write-bps", "2MiB")
			if now := ratesOf(t, group); now != before {
				t.Errorf("by name: the kernel has %q, want %q", now, before)
			}
		})
	}
}
