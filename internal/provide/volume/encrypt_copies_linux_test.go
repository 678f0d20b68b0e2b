package volume

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume/image"
)

// stream is what Replicate sends of a snapshot.
func stream(t *testing.T, s *Volumes, p Snapshot, base *Snapshot) *bytes.Buffer {
	t.Helper()
	v, err := s.Get("db")
	must(t, err)
	first := sending{Profile: v.carried(), Snapshot: p, Keep: 2}
	if base != nil {
		first.Base = base.ID
	}
	b := &bytes.Buffer{}
	must(t, json.NewEncoder(b).Encode(first))
	frames := newFrameWriter(b)
	must(t, local{}.send(t.Context(), v, p, base, frames))
	must(t, frames.Close())
	return b
}

// TestEncryptedReceive: a volume receives what is encrypted as it is itself, and runs no command of another machine.
func TestEncryptedReceive(t *testing.T) {
	s := lab(t)
	s.made(t, "db", small)
	p, err := s.Snapshot(t.Context(), "db", SnapshotOptions{Copy: true})
	must(t, err)
	b := stream(t, s, p, nil).Bytes()
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	var first sending
	must(t, json.Unmarshal(line, &first))
	send := func(to *Volumes, e profile.Encryption) error {
		first.Profile.Service.Encryption = e
		line, err := json.Marshal(first)
		must(t, err)
		_, err = to.Receive(t.Context(), "db", bytes.NewReader(append(append(line, '\n'), rest...)))
		return err
	}
	other := lab(t)
	other.made(t, "db", small)
	says(t, send(other, profile.Encryption{Enabled: true, KeyFile: "/nowhere/key"}), "what is sent is encrypted, and this volume isn't")
	must(t, send(other, profile.Encryption{}))
	ran := filepath.Join(t.TempDir(), "ran")
	third := lab(t)
	third.Machine = crypt{}
	says(t, send(third, profile.Encryption{Enabled: true, KeyCommand: "touch " + ran}), "no command of another machine is run here")
	if _, err := os.Lstat(ran); err == nil {
		t.Error("the command was run")
	}
}

// TestEncryptedSnapshots: snapshots, clones, views and replicas of encrypted volumes. Their device for limits is the encrypted one.
func TestEncryptedSnapshots(t *testing.T) {
	needRoot(t)
	if err := (profile.Host{}).Encryption(); err != nil {
		t.Skipf("needs dm-crypt: %v", err)
	}
	for _, kind := range []string{profile.Ext4, profile.Btrfs} {
		t.Run(kind, func(t *testing.T) {
			key := filepath.Join(t.TempDir(), "key")
			must(t, os.WriteFile(key, []byte("a secret key of 32 random bytes!"), 0o600))
			s := volumesOn(t, "xfs")
			v := made(t, s, "db", "filesystem="+kind, "capacity="+sizes[kind], "encryption.enabled=yes", "encryption.key_file="+key)
			root := mounted(t, s, "db")
			hasDevice(t, v, root)
			encryptedCopies(t, s, root)
		})
	}
}

// hasDevice fails the test unless the device of a volume is the encrypted one.
func hasDevice(t *testing.T, v Volume, root string) {
	t.Helper()
	calls := 0
	must(t, onDevice(v, func(d explain.Spot) error {
		calls++
		var st unix.Stat_t
		must(t, unix.Stat(root, &st))
		if !strings.HasPrefix(d.Name, "dm-") || v.Profile.Filesystem == profile.Ext4 && d.Number != device.NumberOf(st.Dev) {
			t.Errorf("the device is %+v", d)
		}
		if _, ok := countersOf(d.Name); !ok {
			t.Errorf("%s has no counters", d.Name)
		}
		return nil
	}))
	if calls != 1 {
		t.Errorf("%d devices", calls)
	}
}

func encryptedCopies(t *testing.T, s *Volumes, root string) {
	ctx := t.Context()
	write(t, root, "f", "one")
	one, err := s.Snapshot(ctx, "db", SnapshotOptions{})
	must(t, err)
	write(t, root, "f", "two")
	two, err := s.Snapshot(ctx, "db", SnapshotOptions{})
	must(t, err)
	_, err = s.CloneSnapshot(ctx, "db", one.ID, "copy", image.SnapshotOptions{})
	must(t, err)
	holds(t, mounted(t, s, "copy"), "f", "one")
	unmounted(t, s, "copy")
	w, err := s.View(ctx, "db", one.ID)
	must(t, err)
	holds(t, w.Root, "f", "one")
	must(t, w.Close())
	other := volumesOn(t, "btrfs")
	_, err = other.Receive(ctx, "db", stream(t, s, one, nil))
	must(t, err)
	_, err = other.Receive(ctx, "db", stream(t, s, two, &one))
	must(t, err)
	_, err = other.RestoreSnapshot(ctx, "db", two.ID, true)
	must(t, err)
	holds(t, mounted(t, other, "db"), "f", "two")
	unmounted(t, other, "db")
	unmounted(t, s, "db")
	_, err = s.RestoreSnapshot(ctx, "db", one.ID, false)
	must(t, err)
	holds(t, mounted(t, s, "db"), "f", "one")
	unmounted(t, s, "db")
	must(t, s.RemoveSnapshot(ctx, "db", two.ID))
}
