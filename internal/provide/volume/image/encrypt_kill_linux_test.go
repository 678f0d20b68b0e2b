package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/loop"
	"plimsoll/internal/host/luks"
	"plimsoll/internal/provide/volume/key"
	"plimsoll/internal/testkit/killtest"
)

// TestEncryptedLeft: a device that a killed process opened, and didn't mark to be closed, is closed by a sweep, and is used by a mount.
func TestEncryptedLeft(t *testing.T) {
	needCrypt(t)
	ctx, dir, k := t.Context(), backing(t, ""), keyFile(t, secret)
	path := filepath.Join(dir, "image")
	must(t, Create(ctx, path, Spec{Size: 32 * mib, Key: k}))
	leave := func() {
		t.Helper()
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		must(t, err)
		defer f.Close()
		l, err := loop.Attach(f)
		must(t, err)
		defer l.Close()
		name, err := luks.Name(f)
		must(t, err)
		c := exec.Command("cryptsetup", "open", "--disable-locks", "--key-file", k.File, l.Name(), name)
		if _, err := os.Stat("/run/udev/control"); err != nil {
			c.Env = append(os.Environ(), "DM_DISABLE_UDEV=1")
		}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	leave()
	if closed, err := Sweep(dir); err != nil || len(closed) != 1 {
		t.Errorf("swept %q, %v", closed, err)
	}
	gone(dir)
	shut(t, dir, "image")
	leave()
	m, target := mountedOn(t, path, MountOptions{Key: k})
	write(t, m.Root, "f", "kept")
	if closed, err := Sweep(dir); err != nil || len(closed) != 0 {
		t.Errorf("swept while it is mounted: %q, %v", closed, err)
	}
	has(t, m.Root, "f", "kept")
	must(t, Unmount(ctx, target))
	shut(t, dir, "image")
}

// lifeOfKey mounts and unmounts an encrypted image.
func lifeOfKey(dir string) error {
	ctx := context.Background()
	path, target := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	k := key.Source{File: filepath.Join(dir, "key")}
	if err := Create(ctx, path, Spec{Size: 32 * mib, Key: k}); err != nil {
		return err
	}
	fmt.Println("created")
	if _, err := Mount(ctx, path, target, MountOptions{Key: k}); err != nil {
		return err
	}
	fmt.Println("mounted")
	return Unmount(ctx, target)
}

func init() { killtest.Life("encrypting", lifeOfKey) }

// TestEncryptedKilled kills a process that makes, mounts and unmounts an encrypted image, before and while each program of it runs. The
// image is there whole or not at all, and no device is left after the next mount.
func TestEncryptedKilled(t *testing.T) {
	needCrypt(t)
	killed := killtest.Test{
		Name:  "encrypting",
		Calls: []string{"clone", "waitid", "move_mount"},
		Before: func(t *testing.T, dir string) {
			must(t, os.Mkdir(filepath.Join(dir, "mnt"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "key"), []byte(secret), 0o600))
		},
		After: afterKilledKey,
	}.Run(t)
	if killed < 6 {
		t.Errorf("it was killed %d times only", killed)
	}
}

func afterKilledKey(t *testing.T, dir, at, said string) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	path, target := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	k := key.Source{File: filepath.Join(dir, "key")}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Errorf("killed at %s after %q: %v", at, said, err)
		}
	}
	// Programs of the killed process may still run.
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_, err := Sweep(dir)
		check(err)
		m, err := mountedAt(target)
		check(err)
		if m != nil || !luksLeft(dir) {
			break
		}
	}
	_, err := Sweep(dir)
	check(err)
	if err := Create(ctx, path, Spec{Size: 32 * mib, Key: k}); !errors.Is(err, ErrExists) {
		check(err)
		if said != "" {
			t.Errorf("killed at %s: the image is gone", at)
		}
	}
	m, err := Mount(ctx, path, target, MountOptions{Key: k})
	check(err)
	check(os.WriteFile(filepath.Join(m.Root, "f"), nil, 0o600))
	check(Unmount(ctx, target))
	unix.Unmount(target, unix.MNT_DETACH)
	shut(t, dir, "image", "mnt", "key")
}
