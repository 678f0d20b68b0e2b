package profile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/text/refusal"
)

// TestHostFolders asks real file systems what they can.
func TestHostFolders(t *testing.T) {
	for kind, reflinks := range map[string]bool{Ext4: false, XFS: true, Btrfs: true} {
		t.Run(kind, func(t *testing.T) {
			_, dir := disktest.Disk(t, disktest.Options{Kind: kind, Memory: true})
			below := filepath.Join(dir, "not", "there")
			if got, _, err := (Host{}).Below(below); err != nil || got != kind {
				t.Errorf("Below = %s, %v, want %s", got, err, kind)
			}
			if err := (Host{}).Reflinks(below); (err == nil) != reflinks || err != nil && !errors.Is(err, refusal.ErrRefused) {
				t.Errorf("Reflinks = %v, want %v", err, reflinks)
			}
			if left, err := os.ReadDir(dir); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() != "lost+found" }) {
				t.Errorf("the question left %v, %v", left, err)
			}
			var refused *refusal.Error
			if err := (Host{}).Quota(below); !errors.As(err, &refused) || !strings.Contains(refused.Why, dir) || (kind == Btrfs) != strings.Contains(refused.Why, "has no project quotas") {
				t.Errorf("Quota = %v, want a refusal that names %s", err, dir)
			}
			if err := (Host{}).Filesystem(kind); err != nil {
				t.Errorf("Filesystem = %v", err)
			}
		})
	}
	if err := (Host{}).Loop(); err != nil {
		t.Errorf("Loop = %v", err)
	}
}

// TestHostQuota: the quotas of a file system that is mounted with prjquota are on.
func TestHostQuota(t *testing.T) {
	device := disktest.Loop(t, disktest.Image(t, 64<<20), false)
	disktest.Format(t, device, Ext4, "-O", "quota,project", "-E", "quotatype=prjquota")
	dir := t.TempDir()
	if err := unix.Mount(device, dir, Ext4, 0, "prjquota"); errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		t.Skipf("needs quotas in the kernel (CONFIG_QFMT_V2): %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := disktest.Unmount(dir); err != nil {
		t.Fatal(err)
	}
	dir = disktest.Mount(t, device, Ext4, 0, "prjquota")
	if err := (Host{}).Quota(dir); err != nil {
		t.Errorf("Quota = %v", err)
	}
}

// TestHostEncryption: a device can be encrypted where the answer is yes, and the kernel knows no dm-crypt where it is no.
func TestHostEncryption(t *testing.T) {
	err := (Host{}).Encryption()
	if err != nil {
		if !errors.Is(err, refusal.ErrRefused) {
			t.Fatalf("Encryption = %v, want yes or a refusal", err)
		}
		if _, stat := os.Stat("/sys/module/dm_crypt"); stat == nil {
			t.Errorf("Encryption = %v, but dm-crypt is loaded", err)
		}
		t.Skipf("needs dm-crypt: %v", err)
	}
	disktest.LUKS(t, disktest.Loop(t, disktest.Image(t, 64<<20), false))
	if targets, err := mapperTargets(); err != nil || !slices.Contains(targets, "crypt") {
		t.Errorf("mapperTargets() = %v, %v, want crypt among them", targets, err)
	}
}
