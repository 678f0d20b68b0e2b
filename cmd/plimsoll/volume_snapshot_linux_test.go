package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/provide/volume"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/text/clean"
)

// copyLine finds the examples about copies of volumes, which need a volume, a snapshot and a backup.
var copyLine = regexp.MustCompile(`^plimsoll volume (snapshot|backup|export|import|migrate|replicate|receive)\b`)

// otherMachines finds those of them that need another machine or a Docker daemon. The packages volume and migrate test what they do.
var otherMachines = regexp.MustCompile(`ssh |migrate|replicate`)

// TestManualSnapshots executes the manual's and the help's examples about copies of volumes.
func TestManualSnapshots(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := exec.LookPath("restic"); err != nil {
		t.Skip("needs restic: scripts/setup test")
	}
	_, disk := disktest.Disk(t, disktest.Options{Kind: "xfs", Size: 4 << 30, Memory: true})
	state, dir := filepath.Join(disk, "state"), t.TempDir()
	s := volume.New(state)
	backend, p, err := s.Options(map[string]string{"capacity": "64MiB"})
	mustDo(t, err)
	_, _, err = s.Create(t.Context(), "db", backend, p)
	mustDo(t, err)
	mustDo(t, os.WriteFile(filepath.Join(dir, "password"), []byte("secret"), 0o600))
	mustDo(t, os.WriteFile(s.StoresFile(), fmt.Appendf(nil, "default: {repository: %[1]s/one, password_file: %[1]s/password}\nminio: {repository: %[1]s/two, password_file: %[1]s/password}\n", dir), 0o600))
	self, err := filepath.Abs(os.Args[0])
	mustDo(t, err)
	writeProgram(t, filepath.Join(dir, "plimsoll"), fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\" --state %s\n", asPlimsoll, clean.Shell(self), clean.Shell(state)))
	writeProgram(t, filepath.Join(dir, "docker"), "#!/bin/sh\n") // Of a hook.
	lines := slices.DeleteFunc(examples(t), func(line string) bool { return !copyLine.MatchString(line) || otherMachines.MatchString(line) })
	if len(lines) < 15 {
		t.Errorf("only %d examples were found: %q", len(lines), lines)
	}
	for _, line := range lines {
		snapshot, err := s.Snapshot(t.Context(), "db", volume.SnapshotOptions{})
		mustDo(t, err)
		line = strings.ReplaceAll(line, "20260131-235900", snapshot.ID)
		if strings.Contains(line, "import") {
			mustDo(t, exec.Command("sh", "-c", fmt.Sprintf("cd %[1]s && ./plimsoll volume export db db.tar && gzip -k -f db.tar", clean.Shell(dir))).Run())
			line = strings.Replace(line, "import db ", "import db-copy ", 1)
			line = strings.Replace(line, "40GB", "40MB", 1)
		}
		if strings.Contains(line, "4f3c2a10") {
			b, err := s.Backup(t.Context(), "db", volume.BackupOptions{Store: "default"})
			mustDo(t, err)
			line = strings.ReplaceAll(line, "4f3c2a10", b.ID)
		}
		sh := exec.CommandContext(t.Context(), "sh", "-c", line)
		sh.Dir, sh.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+dir)
		out, err := sh.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		mustDo(t, s.SetHooks(t.Context(), "db", volume.Hooks{}))
		list, err := s.List()
		mustDo(t, err)
		for _, v := range list {
			if v.Name != "db" {
				mustDo(t, s.Remove(t.Context(), v.Name, true))
			}
		}
	}
}

// TestSnapshotsRefuse: what can't be done says why, and what would help.
func TestSnapshotsRefuse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	_, disk := disktest.Disk(t, disktest.Options{Kind: "ext4", Size: 256 << 20, Memory: true})
	state := filepath.Join(disk, "state")
	var said transcript
	for _, args := range [][]string{
		{"volume", "create", "db", "-o", "capacity=32MiB"},
		{"volume", "snapshot", "create"},
		{"volume", "snapshot", "create", "nothing"},
		{"volume", "snapshot", "create", "db"},
		{"volume", "snapshot", "create", "db", "--copy", "--before", "exit 7"},
		{"volume", "snapshot", "create", "db", "--timeout", "-1s"},
		{"volume", "snapshot", "ls", "db"},
		{"volume", "snapshot", "rm", "db"},
		{"volume", "snapshot", "rm", "db", "20260131-235900"},
		{"volume", "snapshot", "restore", "db", "20260131-235900"},
		{"volume", "snapshot", "clone", "db", "20260131-235900", "new"},
		{"volume", "backup", "create", "db"},
		{"volume", "import", "new", "/nonexistent/file"},
		{"volume", "migrate", "a", "b"},
		{"volume", "replicate", "db"},
		{"volume", "receive", "db"},
		{"volume", "create", "new", "-o", "capacity=32MiB", "-o", "service.snapshot.enabled=yes"},
	} {
		said.add(args, plimsoll(t, t.Context(), state, "", args...))
	}
	said.check(t, "volume-snapshots-refuse.txt", golden.Text(state, "STATE"))
}
