package filesystem

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSuper makes each kind in a file, which needs no root, reads its superblock, and gives it another UUID.
func TestSuper(t *testing.T) {
	for kind, m := range makers {
		t.Run(string(kind), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "image")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			// 109 MiB are the least for btrfs with blocks of the default size.
			if err := f.Truncate(m.least); err != nil {
				t.Fatal(err)
			}
			if err := Make(t.Context(), path, kind, "web"); err != nil {
				t.Fatal(err)
			}
			s, err := ReadSuper(f)
			if err != nil || s.Kind != kind || s.Label != "web" || s.Errors || s.Dirty || s.Size > m.least || s.Size < m.least-4<<20 {
				t.Errorf("%+v, %v", s, err)
			}
			if err := Check(t.Context(), f, s); err != nil {
				t.Error(err)
			}
			if err := Inspect(t.Context(), path, kind); err != nil {
				t.Error(err)
			}
			if err := NewUUID(t.Context(), path, kind); err != nil {
				t.Error(err)
			}
			if other, err := ReadSuper(f); err != nil || other.UUID == s.UUID || other.Label != s.Label {
				t.Errorf("%+v, %v; before: %+v", other, err, s)
			}
		})
	}
}

func TestBadSuper(t *testing.T) {
	for name, b := range map[string][]byte{"empty": nil, "short": []byte("XFS"), "zeros": make([]byte, 1<<20), "text": bytes.Repeat([]byte("x"), 1<<20)} {
		if s, err := ReadSuper(bytes.NewReader(b)); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// FuzzSuper: no content of an image makes ReadSuper panic.
func FuzzSuper(f *testing.F) {
	f.Add([]byte("XFSB"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, at := range []int{0, 1024, 0x10000} {
			ReadSuper(bytes.NewReader(append(make([]byte, at), b...)))
		}
	})
}

// TestProgramMissing: the answer says which package has the program.
func TestProgramMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Make(t.Context(), filepath.Join(t.TempDir(), "image"), XFS, "")
	if err == nil || err.Error() != "mkfs.xfs: it is not installed; install xfsprogs" {
		t.Errorf("%v", err)
	}
}
