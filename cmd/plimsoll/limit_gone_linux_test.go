package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// Fixtures describe devices that go; here a kernel shows the same.

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
	if !root.ForChildren() {
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

// TestLimitMapperGone: a device of the device mapper is removed after the look: before the first write, and when another device
// has its limit already. The error names it in words, and both devices have their earlier limits again.
func TestLimitMapperGone(t *testing.T) {
	for _, tt := range []struct {
		name string
		// after is how many writes are done when it goes.
		after int
		words []string
	}{
		{"before the first write", 0, []string{"there is no block device", "name the one that the data is on now"}},
		{"after a write", 1, []string{"there is no block device", "name the one that the data is on now", "the earlier writes were undone"}},
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
			s.Places = append(s.Places, other.Places...)
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
			texttest.Has(t, err.Error(), tt.words)
			if now := ratesOf(t, group); now != before {
				t.Errorf("the kernel has %q, want %q", now, before)
			}
			if tt.after > 0 && writes < 2*tt.after+1 {
				t.Errorf("%d writes: nothing was restored", writes)
			}
			// A command that names it is refused too.
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
