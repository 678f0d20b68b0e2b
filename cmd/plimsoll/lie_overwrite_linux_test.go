package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
)

// TestLieForeignData: another program writes data into a file that Plimsoll made. Plimsoll does not overwrite it.
func TestLieForeignData(t *testing.T) {
	needRun(t)
	const blocks = 16 << 20 / 4096
	line := func(file string, more ...string) []string {
		return append([]string{"fio", "--name=w", "--filename=" + file, "--rw=randwrite", "--bs=4k", "--size=16m", "--number_ios=64"}, more...)
	}
	plant := func(t *testing.T, file string) []byte {
		t.Helper()
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(bytes.Repeat([]byte("precious"), 60*512), (blocks/2+1)*4096); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		all, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for name, folder := range map[string]func(*testing.T) string{
		"marked": func(t *testing.T) string { return t.TempDir() },
		// It has no user's attributes, by which Plimsoll knows its own files.
		"unmarked": func(t *testing.T) string { return disktest.Mount(t, "ramfs", "ramfs", 0, "") },
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := folder(t), t.TempDir()
			file := filepath.Join(dir, "f")
			// A second stage of the same line writes it again.
			if r := plimsoll(t, t.Context(), state, "", line(file, "--stonewall", "--name=x", "--filename="+file, "--rw=write", "--bs=4k", "--size=16m", "--number_ios=64")...); r.status != exitDone {
				t.Fatalf("two stages: status %d: %s", r.status, r.stderr)
			}
			if r := plimsoll(t, t.Context(), state, "", line(file)...); (r.status == exitDone) != (name == "marked") {
				t.Errorf("the next line: status %d: %s", r.status, r.stderr)
			}
			before := plant(t, file)
			r := plimsoll(t, t.Context(), state, "", line(file)...)
			// That Plimsoll did not make it would be wrong: its user saw it being made.
			why := map[string]string{"marked": ", which was changed, copied or renamed after Plimsoll made it; ", "unmarked": ", which Plimsoll can't recognise as its own on this file system; "}[name]
			if r.status != exitUsage || !strings.Contains(r.stderr, "a file of 16777216 bytes"+why+"allow it with --destructive "+file) {
				t.Errorf("with another program's data in it: status %d: %s", r.status, r.stderr)
			}
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the data was written over, %v", err)
			}
		})
	}
}

// TestLieNoStorage: what looks like an empty file is a switch of the kernel, or a mistyped device.
func TestLieNoStorage(t *testing.T) {
	needRun(t)
	typo := "/dev/plimsoll-mistyped"
	var dev, root unix.Stat_t
	if unix.Stat("/dev", &dev) != nil || unix.Stat("/", &root) != nil || dev.Dev == root.Dev {
		typo = ""
	}
	for _, tt := range []struct{ path, want string }{
		{"/proc/self/comm", "an interface of the kernel"},
		{"/proc/sys/kernel/core_pattern", "an interface of the kernel"},
		{"/sys/kernel/mm/transparent_hugepage/enabled", "an interface of the kernel"},
		{"/sys/fs/cgroup/unified/cgroup.subtree_control", "an interface of the kernel"},
		{"/sys/fs/cgroup/cgroup.subtree_control", "an interface of the kernel"},
		{"/sys/fs/cgroup/memory/memory.use_hierarchy", "an interface of the kernel"},
		{typo, "there is no device " + typo},
	} {
		if _, err := os.Stat(tt.path); tt.path == "" || err != nil && tt.path != typo {
			continue // Not of this machine.
		}
		before, _ := os.ReadFile(tt.path)
		t.Cleanup(func() { // What was written by mistake is the machine's own.
			if tt.path == typo {
				os.Remove(typo)
			} else if after, err := os.ReadFile(tt.path); err == nil && !bytes.Equal(before, after) && tt.path != "/proc/self/comm" {
				os.WriteFile(tt.path, before, 0)
			}
		})
		for _, more := range [][]string{nil, {"--destructive", tt.path}} {
			r := plimsoll(t, t.Context(), t.TempDir(), "", append(append([]string{"dd"}, more...), "if=/dev/zero", "of="+tt.path, "bs=4k", "count=1")...)
			if r.status != exitUsage || !strings.Contains(r.stderr, tt.want) {
				t.Errorf("dd of=%s %v: status %d: %s", tt.path, more, r.status, r.stderr)
			}
		}
		after, err := os.ReadFile(tt.path)
		if tt.path == typo && err == nil {
			t.Errorf("%s was made, and holds %q", typo, after)
		}
		if tt.path != "/proc/self/comm" && !bytes.Equal(before, after) {
			t.Errorf("%s was %q and is %q, %v", tt.path, before, after, err)
		}
	}
}
