package volume

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"plimsoll/internal/text/refusal"
)

// secret is a password that must be nowhere.
const secret = "correct-horse-battery"

// stores writes a file of stores: a directory, and a server of S3.
func stores(t *testing.T, s *Volumes) {
	t.Helper()
	if _, err := exec.LookPath("restic"); err != nil {
		t.Skip("needs restic: scripts/setup test")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	backend := s3mem.New()
	must(t, backend.CreateBucket("backups"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write(t, dir, "password", secret+"\n")
	write(t, dir, "keys", "# S3\nAWS_ACCESS_KEY_ID=key\nexport AWS_SECRET_ACCESS_KEY="+secret+"\n")
	must(t, os.MkdirAll(s.state, 0o700))
	must(t, os.WriteFile(s.StoresFile(), fmt.Appendf(nil, `default: {repository: %[1]s/repository, password_command: "cat %[1]s/password"}
minio:
  repository: s3:%[2]s/backups
  password_file: %[1]s/password
  environment_file: %[1]s/keys
`, dir, server.URL), 0o600))
}

// TestBackup stores a volume in a directory and in a server of S3, and restores it: every byte, owner, attribute, link and hole is the same.
func TestBackup(t *testing.T) {
	for _, c := range []struct{ on, fs, store string }{{"xfs", "ext4", "default"}, {"ext4", "btrfs", "minio"}, {"ext4", "ext4", "default"}} {
		t.Run(c.fs+"_on_"+c.on+"_to_"+c.store, func(t *testing.T) {
			s := volumesOn(t, c.on)
			stores(t, s)
			ctx := t.Context()
			made(t, s, "db", "filesystem="+c.fs, "capacity=160MiB")
			root := mounted(t, s, "db")
			furnish(t, root)
			want := tree(t, root)
			b, err := s.Backup(ctx, "db", BackupOptions{Store: c.store})
			must(t, err)
			if live := c.on == "ext4" && c.fs == "ext4"; (b.Note != "") != live {
				t.Errorf("the note is %q", b.Note)
			} else if live {
				return
			}
			write(t, root, "plain", "changed")
			again, err := s.Backup(ctx, "db", BackupOptions{Store: c.store})
			must(t, err)
			if again.Stored > 64<<10 {
				t.Errorf("the second backup stored %d bytes", again.Stored)
			}
			v, err := s.RestoreBackup(ctx, c.store, b.ID, "again", nil)
			must(t, err)
			if v.Profile.Filesystem != c.fs {
				t.Errorf("the restored volume has %s", v.Profile.Filesystem)
			}
			same(t, "the restored volume", want, tree(t, mounted(t, s, "again")))
			must(t, s.CheckBackups(ctx, c.store, true))
			must(t, s.RemoveBackup(ctx, c.store, b.ID))
			if list, err := s.Backups(ctx, c.store, "db"); err != nil || len(list) != 1 || list[0].ID != again.ID {
				t.Errorf("after the removal of %s: %+v, %v", b.ID, list, err)
			}
			if _, err := s.RestoreBackup(ctx, c.store, b.ID, "third", nil); err == nil || !strings.Contains(err.Error(), "no backup") {
				t.Errorf("a removed backup: %v", err)
			}
			entries, err := s.journal.Entries(Kind)
			must(t, err)
			for _, e := range entries {
				if strings.Contains(string(e.Payload), secret) {
					t.Errorf("a record has the password: %s", e.Payload)
				}
			}
		})
	}
}

// TestBackupRefused: what is missing is named, and passwords aren't.
func TestBackupRefused(t *testing.T) {
	s := volumesOn(t, "xfs")
	made(t, s, "db")
	_, err := s.Backup(t.Context(), "db", BackupOptions{})
	if !errors.Is(err, refusal.ErrRefused) || !strings.Contains(err.Error(), s.StoresFile()) {
		t.Errorf("without a store: %v", err)
	}
	backend, p, err := s.Options(map[string]string{"capacity": "64MiB", "service.backup.enabled": "yes", "service.backup.provider": "aws"})
	must(t, err)
	if _, _, err := s.Create(t.Context(), "other", backend, p); !errors.Is(err, refusal.ErrRefused) {
		t.Errorf("a volume with backups, without a store: %v", err)
	}
	stores(t, s)
	if _, err := s.Backup(t.Context(), "db", BackupOptions{Store: "aws"}); err == nil || !strings.Contains(err.Error(), "only the stores default, minio") {
		t.Errorf("an unknown store: %v", err)
	}
	for text, want := range map[string]string{
		"x: {repository: /r}":                   "needs password_file or password_command",
		"x: {repository: /r, password_file: p}": "wants an absolute path",
		"x: {repository: 'rest:http://u:" + secret + "@127.0.0.1:1/', password_command: 'echo x'}": "//...@127.0.0.1:1/",
	} {
		must(t, os.WriteFile(s.StoresFile(), []byte(text), 0o600))
		_, err := s.Backup(t.Context(), "db", BackupOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if left, err := os.ReadDir(filepath.Join(s.Folder(), "db")); err != nil || len(left) != 2 {
		t.Errorf("in the volume's folder: %v, %v", left, err)
	}
}

// TestBackupSchedule makes backups when they are due, and keeps the latest.
func TestBackupSchedule(t *testing.T) {
	s := volumesOn(t, "xfs")
	stores(t, s)
	v := made(t, s, "db", "service.backup.enabled=yes", "service.backup.interval=1", "service.backup.max=1")
	manual, err := s.Backup(t.Context(), "db", BackupOptions{Store: "default"})
	must(t, err)
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{59 * time.Minute, 0}, {61 * time.Minute, 1}, {125 * time.Minute, 1}} {
		_, err := s.services()[1].work(t.Context(), v.Created.Add(c.after))
		must(t, err)
		// The record has the real time: as if the clock had jumped.
		must(t, s.existing(t.Context(), "db", func(v Volume) error {
			if !v.BackedUp.IsZero() {
				v.BackedUp = v.Created.Add(c.after)
			}
			return s.keep(t.Context(), v)
		}))
		list, err := s.Backups(t.Context(), "default", "db")
		must(t, err)
		if len(list) != c.want+1 || list[0].ID != manual.ID {
			t.Errorf("after %v: %+v, want %d scheduled ones", c.after, list, c.want)
		}
	}
}

// TestBackupOfNothing: restic refuses an empty folder, and a volume may be one.
func TestBackupOfNothing(t *testing.T) {
	s := volumesOn(t, "xfs")
	stores(t, s)
	made(t, s, "db", "capacity=64MiB")
	b, err := s.Backup(t.Context(), "db", BackupOptions{Store: "default"})
	must(t, err)
	_, err = s.RestoreBackup(t.Context(), "default", b.ID, "again", nil)
	must(t, err)
	if names, err := os.ReadDir(mounted(t, s, "again")); err != nil || len(names) > 0 {
		t.Errorf("an empty volume was restored with %v, %v", names, err)
	}
}
