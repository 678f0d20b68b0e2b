package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/limit/explain"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// explainJSON is what programs read of limit explain.
type explainJSON struct {
	Host  explain.Host `json:"host"`
	Paths []struct {
		Path     string         `json:"path"`
		Possible bool           `json:"possible"`
		Why      string         `json:"why"`
		Instead  string         `json:"instead"`
		Hard     []explain.Spot `json:"hard"`
		Modes    []explain.Mode `json:"modes"`
		Tree     struct {
			Kind  string `json:"kind"`
			Below []struct {
				Name  string `json:"name"`
				Limit bool   `json:"limit"`
				Below []any  `json:"below"`
			} `json:"below"`
		} `json:"tree"`
	} `json:"paths"`
	Shared []explain.Shared `json:"shared"`
}

// TestLimitExplain explains disks of the test's own on this machine.
func TestLimitExplain(t *testing.T) {
	image := disktest.Image(t, 64<<20)
	loop := disktest.Loop(t, image, true)
	parts := disktest.Partitions(t, loop)
	var dirs [2]string
	for i, p := range parts {
		disktest.Format(t, p, "ext4")
		dirs[i] = disktest.Mount(t, p, "ext4", 0, "")
	}
	_, xfs := disktest.Disk(t, disktest.Options{Kind: "xfs"})
	layer := disktest.Overlay(t, xfs)

	r := plimsoll(t, t.Context(), t.TempDir(), "", "limit", "explain", dirs[0], dirs[1], layer, "--json")
	var x explainJSON
	if err := json.Unmarshal([]byte(r.stdout), &x); err != nil || r.status != exitDone || r.stderr != "" {
		t.Fatalf("status %d, %v, stderr %q", r.status, err, r.stderr)
	}
	if len(x.Paths) != 3 || x.Host.IO == 0 {
		t.Fatalf("%+v, want three paths on a machine with an I/O controller", x)
	}
	disk := filepath.Base(loop)
	for i, p := range x.Paths[:2] {
		part := filepath.Base(parts[i])
		if !p.Possible || len(p.Hard) != 1 || p.Hard[0].Name != disk {
			t.Errorf("%+v, want a limit on the whole %s of %s", p.Hard, disk, part)
		} else {
			texttest.Has(t, p.Hard[0].Why, []string{part + " is a partition"})
		}
		if len(p.Modes) != 5 || p.Modes[0].Group != explain.Covered {
			t.Errorf("modes %+v, want five, and the first covered", p.Modes)
		}
		if below := p.Tree.Below; len(below) != 1 || below[0].Name != part || below[0].Limit {
			t.Errorf("the tree begins with %+v, want %s without a limit", below, part)
		}
	}
	p := x.Paths[2]
	if !p.Possible || p.Tree.Kind != "mount" {
		t.Errorf("%+v, want a limit on a mount", p)
	}
	if len(p.Hard) == 0 || p.Hard[0].Name == disk {
		t.Errorf("%+v, want a limit on the disk of the upper folder", p.Hard)
	}
	if len(x.Shared) == 0 {
		t.Fatal("nothing is shared, want that the two partitions have one limit")
	}
	s := x.Shared[0]
	if !s.OneLimit || s.Disks[0].Name != disk {
		t.Errorf("shared %+v, want one limit on %s", s, disk)
	}
	if !slices.Equal(s.Paths, dirs[:]) {
		t.Errorf("shared by %q, want %q", s.Paths, dirs)
	}

	r = plimsoll(t, t.Context(), t.TempDir(), "", "limit", "explain", loop, layer)
	for _, want := range []string{"the device itself", disk + " (", "<-- limits go here", "loop device, direct I/O", "overlay on " + layer, "upper folder: xfs on " + xfs, "a limit holds", "buffered writes"} {
		if r.status != exitDone || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d, no %q in:\n%s", r.status, want, r.stdout)
		}
	}
}

// TestLimitExplainImpossible: a place that can't be limited is reported with what to do instead, and with a status of its own.
func TestLimitExplainImpossible(t *testing.T) {
	memory, program := disktest.Tmpfs(t, "size=1m"), disktest.FUSE(t)
	_, ext4 := disktest.Disk(t, disktest.Options{})
	r := plimsoll(t, t.Context(), t.TempDir(), "", "limit", "explain", memory, ext4, program)
	if r.status != exitCannot || !strings.Contains(r.stderr, memory+" and "+program+" can't be limited here") {
		t.Errorf("status %d, want %d; stderr %s", r.status, exitCannot, r.stderr)
	}
	texttest.Has(t, r.stdout, []string{"can't be limited: tmpfs is memory", "instead: ", "the program that serves there:/x", "a limit holds"})
}

// TestLimitExplainUsage: wrong usage has another status than a limit that is impossible.
func TestLimitExplainUsage(t *testing.T) {
	dangling := filepath.Join(t.TempDir(), "link")
	mustDo(t, os.Symlink("/nowhere/at/all", dangling))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"limit", "explain"}, "name a path"},
		{[]string{"limit", "explain", "/nowhere/at/all"}, "/nowhere/at/all does not exist"},
		{[]string{"limit", "explain", "/", dangling}, "link does not exist"},
		{[]string{"limit", "explain", "a\x00b"}, ""},
		{[]string{"limit", "explain", "/", "--jsom"}, "did you mean --json"},
		{[]string{"limit", "explian", "/"}, "did you mean explain"},
	} {
		r := plimsoll(t, t.Context(), t.TempDir(), "", tt.args...)
		if r.status == exitDone || r.status != exitUsage && tt.want != "" {
			t.Errorf("%q: status %d, want %d", tt.args, r.status, exitUsage)
		}
		if r.stdout != "" {
			t.Errorf("%q: stdout has %q, want nothing", tt.args, r.stdout)
		}
		if !strings.Contains(r.stderr, tt.want) {
			t.Errorf("%q: no %q in stderr %q", tt.args, tt.want, r.stderr)
		}
	}
}
