package volume

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/text/refusal"
)

// crypt is a machine that encrypts or doesn't, whatever this one can.
type crypt struct {
	profile.Host
	answer error
}

func (c crypt) Encryption() error { return c.answer }

// encrypted parses a profile with encryption.
func encrypted(t *testing.T, more, source string) *profile.Profile {
	t.Helper()
	p, err := profile.Parse("secret", []byte("capacity: 32MiB\n"+more+"service: {encryption: {enabled: true, "+source+"}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// empty fails the test if a folder of volumes has one.
func empty(t *testing.T, s *Volumes) {
	t.Helper()
	list, err := s.all()
	if err != nil || len(list) > 0 {
		t.Errorf("recorded: %v, %v", list, err)
	}
	if entries, err := os.ReadDir(s.Folder()); err == nil && len(entries) > 0 {
		t.Errorf("left: %v", entries)
	}
}

// TestEncryptedNoKey: without its key no volume is made, and nothing is left of it.
func TestEncryptedNoKey(t *testing.T) {
	needRoot(t)
	s := New(t.TempDir())
	s.Machine = crypt{}
	for source, want := range map[string]string{
		"key_file: /nowhere/key": "the key file /nowhere/key: no such file",
		"key_command: \"echo the vault is locked >&2; false SECRET\"": "key_command): exit status 1: the vault is locked",
	} {
		_, made, err := s.Create(t.Context(), "db", Where{Backend: "local"}, encrypted(t, "", source))
		if err == nil || made && err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
		empty(t, s)
	}
}

// TestEncryptedRefused: a machine without dm-crypt refuses an encrypted volume, unless the profile may go without.
func TestEncryptedRefused(t *testing.T) {
	needRoot(t)
	s := New(t.TempDir())
	s.Machine = crypt{answer: &refusal.Error{What: "encryption", Why: "the kernel has no dm-crypt"}}
	_, _, err := s.Create(t.Context(), "db", Where{Backend: "local"}, encrypted(t, "", "key_file: /nowhere/key"))
	if !errors.Is(err, refusal.ErrRefused) || !strings.Contains(err.Error(), "the kernel has no dm-crypt") {
		t.Errorf("Create = %v, want a refusal", err)
	}
	empty(t, s)
	v, _, err := s.Create(t.Context(), "db", Where{Backend: "local"}, encrypted(t, "optional: [service.encryption]\n", "key_file: /nowhere/key"))
	if err != nil || !v.Plain {
		t.Fatalf("optional: %+v, %v", v, err)
	}
	s.Machine = crypt{} // The volume stays as it is.
	if m, err := s.Mount(t.Context(), "db", ByHand); err != nil || m.Root == "" {
		t.Errorf("Mount = %+v, %v", m, err)
	}
	if err := s.Unmount(t.Context(), "db", ByHand); err != nil {
		t.Error(err)
	}
	// So does its clone.
	p, err := s.Snapshot(t.Context(), "db", SnapshotOptions{Copy: true})
	must(t, err)
	c, err := s.CloneSnapshot(t.Context(), "db", p.ID, "copy", image.SnapshotOptions{Copy: true})
	if err != nil || c.Plain || c.Profile.Service.Encryption.Enabled {
		t.Errorf("the clone: %+v, %v", c, err)
	}
	mounted(t, s, "copy")
	unmounted(t, s, "copy")
	if _, err := s.Update(t.Context(), "db", map[string]string{"encryption.enabled": "false"}); err == nil || !strings.Contains(err.Error(), "encryption is settled") {
		t.Errorf("Update = %v", err)
	}
}

// TestEncrypted: the life of an encrypted volume. Its key is in no file of the state folder.
func TestEncrypted(t *testing.T) {
	needRoot(t)
	if err := (profile.Host{}).Encryption(); err != nil {
		t.Skipf("needs dm-crypt: %v", err)
	}
	ctx, dir := t.Context(), t.TempDir()
	leaktest.Check(t, dir)
	const secret = "a secret key of 32 random bytes!"
	key := filepath.Join(t.TempDir(), "key")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.WriteFile(key, []byte(secret), 0o600))
	s := New(dir)
	_, _, err := s.Create(ctx, "db", Where{Backend: "local"}, encrypted(t, "", "key_file: "+key))
	check(err)
	m, err := s.Mount(ctx, "db", ByHand)
	check(err)
	check(os.WriteFile(filepath.Join(m.Root, "f"), []byte("kept"), 0o600))
	_, err = s.Update(ctx, "db", map[string]string{"capacity": "64MiB"})
	check(err)
	v, err := s.Get("db")
	check(err)
	promises, err := s.Promises(v)
	check(err)
	if p := promises["service.encryption"]; p != "yes (enforced)" {
		t.Errorf("service.encryption: %q", p)
	}
	check(s.Unmount(ctx, "db", ByHand))
	other := filepath.Join(t.TempDir(), "moved")
	check(os.Rename(key, other))
	if _, err := s.Mount(ctx, "db", ByHand); err == nil || !strings.Contains(err.Error(), key) {
		t.Errorf("without its key: %v", err)
	}
	if users, err := s.Users("db"); err != nil || len(users) > 0 {
		t.Errorf("users %v, %v", users, err)
	}
	_, err = s.Update(ctx, "db", map[string]string{"encryption.key_file": other})
	check(err)
	m, err = s.Mount(ctx, "db", ByHand)
	check(err)
	if b, err := os.ReadFile(filepath.Join(m.Root, "f")); err != nil || string(b) != "kept" {
		t.Errorf("it has %q, %v", b, err)
	}
	check(s.Unmount(ctx, "db", ByHand))
	check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), "secret key") || strings.Contains(string(b), "lost+found") {
			t.Errorf("%s has the key or the data in it", path)
		}
		return err
	}))
	check(s.Remove(ctx, "db", true))
	empty(t, s)
}
