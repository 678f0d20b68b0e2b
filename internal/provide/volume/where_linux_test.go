package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
)

// TestWhere: what is wrong with where a volume is to be kept.
func TestWhere(t *testing.T) {
	s := New(t.TempDir())
	for _, row := range []struct {
		options map[string]string
		want    string
	}{
		{map[string]string{"backend": "nfs"}, "export=HOST:/FOLDER"},
		{map[string]string{"backend": "nfs", "export": "nas"}, "HOST:/FOLDER"},
		{map[string]string{"backend": "nfs", "export": "-o:/x"}, ""},
		{map[string]string{"backend": "nfs", "export": "nas:/a b"}, "HOST:/FOLDER"},
		{map[string]string{"backend": "nfs", "export": "nas:/x", "mount_options": "soft; reboot"}, "words with commas"},
		{map[string]string{"export": "nas:/x"}, "add backend=nfs"},
		{map[string]string{"backend": "directory", "mount_options": "ro"}, "add backend=nfs"},
		{map[string]string{"backend": "nsf"}, "nfs"},
	} {
		_, _, err := s.Options(row.options)
		if row.want == "" {
			row.want = "HOST:/FOLDER"
		}
		says(t, err, row.want)
	}
	where, _, err := s.Options(map[string]string{"backend": "nfs", "export": "[fe80::1%eth0]:/srv", "mount_options": "vers=4.2,hard"})
	if want := (Where{"nfs", "[fe80::1%eth0]:/srv", "vers=4.2,hard"}); err != nil || where != want {
		t.Errorf("%+v, %v", where, err)
	}
}

// TestNFS: a volume is a folder of an export, which stays on the server when the volume is removed, and which another machine's volume of that
// name finds. It needs a machine that may serve NFS, such as the guest.
func TestNFS(t *testing.T) {
	_, served := disktest.NFS(t)
	s := lab(t)
	options := map[string]string{"backend": "nfs", "export": "127.0.0.1:/", "mount_options": "vers=4.2"}
	s.made(t, "shared", options)
	m, err := s.Mount(t.Context(), "shared", "one")
	must(t, err)
	must(t, put(m.Root, "file", "hello"))
	if got := content(filepath.Join(served, "shared"), "file"); got != "hello" {
		t.Errorf("the server has %q", got)
	}
	other := lab(t)
	other.made(t, "shared", options)
	there, err := other.Mount(t.Context(), "shared", "two")
	must(t, err)
	if got := content(there.Root, "file"); got != "hello" {
		t.Errorf("another machine sees %q", got)
	}
	// A copy never goes into another machine's data, and its failure removes nothing of it.
	third := lab(t)
	where, p, err := third.Options(options)
	must(t, err)
	_, err = third.CreateWith(t.Context(), "shared", where, p, func(context.Context, string) error { return nil })
	says(t, err, "has files already")
	if got := content(m.Root, "file"); got != "hello" {
		t.Errorf("after a copy that was refused, there is %q", got)
	}
	must(t, other.Unmount(t.Context(), "shared", "two"))
	must(t, other.Remove(t.Context(), "shared", true))
	if got := content(m.Root, "file"); got != "hello" {
		t.Errorf("after it was removed elsewhere, there is %q", got)
	}
	must(t, s.Unmount(t.Context(), "shared", "one"))
	must(t, os.RemoveAll(filepath.Join(served, "shared")))
	_, err = s.Mount(t.Context(), "shared", "one")
	says(t, err, "is missing", "not made again")
	if users, err := s.Users("shared"); err != nil || len(users) > 0 {
		t.Errorf("after a mount that failed it has the users %v, %v", users, err)
	}
	if _, err := s.create(t, "bad", options, "export=127.0.0.1:/nothing"); err == nil {
		t.Error("an export that isn't there has no error")
	}
}

// TestDirectoryQuota: a folder holds what its profile says, and no more, where the file system has project quotas. The guest has.
func TestDirectoryQuota(t *testing.T) {
	disk := disktest.Loop(t, disktest.Image(t, 400<<20), true)
	disktest.Run(t, "mkfs.xfs", "-q", disk)
	dir := t.TempDir()
	if err := unix.Mount(disk, dir, "xfs", 0, "prjquota"); errors.Is(err, unix.EINVAL) {
		t.Skip("the kernel has no project quotas for xfs")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
	s := labIn(t, filepath.Join(dir, "state"))
	v := s.made(t, "small", plain, "filesystem=xfs")
	if v.Project == 0 {
		t.Fatal("it has no project")
	}
	if next := s.made(t, "next", plain, "filesystem=xfs"); next.Project == v.Project {
		t.Error("two volumes have one project")
	}
	s.made(t, "guaranteed", plain, "filesystem=xfs", "iops.min=100") // It is admitted and counted under one lock.
	m, err := s.Mount(t.Context(), "small", "one")
	must(t, err)
	data := make([]byte, 40<<20)
	if err := os.WriteFile(filepath.Join(m.Root, "file"), data, 0o644); !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
		t.Errorf("40 MiB in a volume of 32: %v", err)
	}
	if space, err := s.Space(v); err != nil || space.Size != 32<<20 || space.Used < 30<<20 || space.Used > 32<<20 {
		t.Errorf("space %+v, %v", space, err)
	}
	if _, err := s.Update(t.Context(), "small", map[string]string{"capacity": "64MiB"}); err != nil {
		t.Fatal(err)
	}
	must(t, os.WriteFile(filepath.Join(m.Root, "file"), data, 0o644))
	promises, err := s.Promises(v)
	if err != nil || !strings.Contains(promises["capacity"], "enforced") {
		t.Errorf("promises %v, %v", promises, err)
	}
	must(t, s.Unmount(t.Context(), "small", "one"))
	must(t, s.Remove(t.Context(), "small", true))
	if again := s.made(t, "again", plain, "filesystem=xfs"); again.Project != v.Project {
		t.Errorf("the project %d of a removed volume is not free again: %d", v.Project, again.Project)
	}
}

// TestMountedStays: what is mounted in a volume's folder is never deleted with it.
func TestMountedStays(t *testing.T) {
	s := lab(t)
	v := s.made(t, "db", plain)
	must(t, os.Mkdir(v.target(), 0o755))
	must(t, unix.Mount("none", v.target(), "tmpfs", 0, ""))
	must(t, put(v.target(), "file", "another's"))
	says(t, s.Remove(t.Context(), "db", true), "is mounted", "unmount it first")
	if got := content(v.target(), "file"); got != "another's" {
		t.Errorf("there is %q", got)
	}
	must(t, unix.Unmount(v.target(), 0))
	if err := s.Remove(t.Context(), "db", true); err != nil && !isUnknown(err) { // The next call completes the removal.
		t.Error(err)
	}
	if left := s.files(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
