package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/hierarchy"
)

// TestMake: a group in each hierarchy, and nothing left where it can't be had.
func TestMake(t *testing.T) {
	for _, version := range []int{1, 2, 3} {
		f := newFake(t, version)
		own, err := f.host.Make("plimsoll-x", controllers...)
		if err != nil {
			t.Fatal(err)
		}
		want := map[int]int{1: 3, 2: 1, 3: 2}[version]
		if len(own.Dirs()) != want {
			t.Errorf("version %d: groups are %q, want %d", version, own.Dirs(), want)
		}
		for _, c := range controllers {
			if g, err := own.Group(c); err != nil || g.Path != "/plimsoll-x" {
				t.Errorf("version %d: %+v, %v", version, g, err)
			}
		}
		for _, d := range own.Dirs() {
			if err := os.WriteFile(filepath.Join(d, "cgroup.procs"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := own.Add(42); err != nil || len(f.writes) != want {
			t.Errorf("version %d: Add = %v, %q", version, err, f.writes)
		}
		if _, err := f.host.Make("plimsoll-x", controllers...); !errors.Is(err, os.ErrExist) {
			t.Errorf("version %d: a second group of the name: %v", version, err)
		}
		for _, d := range own.Dirs() {
			// A plain folder doesn't lose its files by itself.
			if err := os.Remove(filepath.Join(d, "cgroup.procs")); err != nil {
				t.Error(err)
			}
		}
		dirs := own.Dirs()
		if err := own.Close(); err != nil {
			t.Error(err)
		}
		for _, d := range dirs {
			if _, err := os.Stat(d); err == nil {
				t.Errorf("%s is still there", d)
			}
		}
	}
	f := newFake(t, 2)
	for _, bad := range []string{"x", "plimsoll-x/y", "../plimsoll-x", ""} {
		if _, err := f.host.Make(bad, hierarchy.IO); err == nil || !strings.Contains(err.Error(), "must begin with plimsoll-") {
			t.Errorf("Make(%q) = %v", bad, err)
		}
	}
	f.put("cg/cgroup.subtree_control", "memory\n")
	_, err := f.host.Make("plimsoll-y", hierarchy.Memory, hierarchy.IO)
	if !errors.Is(err, ErrNoController) || !strings.Contains(err.Error(), "echo +io > "+filepath.Join(f.root, "cg/cgroup.subtree_control")) {
		t.Errorf("Make = %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.root, "cg/plimsoll-y")); err == nil {
		t.Error("the group was left")
	}
}
