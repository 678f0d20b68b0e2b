package website

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tenth is the site of a quick run.
var tenth = Spec{Posts: 31, Files: 360, Bytes: 27_800_000}

func TestValidate(t *testing.T) {
	for _, row := range []struct {
		spec Spec
		want string
	}{
		{Spec{Posts: -1}, "is not between"},
		{Spec{Files: MaxFiles + 1}, "is not between"},
		{Spec{Bytes: MaxBytes + 1}, "is not between"},
		{Spec{Posts: 100, Files: 108}, "too few for 100 posts"},
		{Spec{Bytes: 1000}, "bytes are too few"},
		{Spec{}, ""},
		{tenth, ""},
		{Spec{Posts: 1, Files: 10, Bytes: 20_000}, ""},
	} {
		err := row.spec.Validate()
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: Validate() = %v, want %q", row.spec, err, row.want)
		}
		if eachErr := row.spec.Each(func(string, []byte) error { return errStop }); row.want != "" && (eachErr == nil || eachErr.Error() != err.Error()) {
			t.Errorf("%+v: Each() = %v, want %v", row.spec, eachErr, err)
		}
	}
}

var errStop = errors.New("stop")

// TestEach: as many files, posts and bytes as were asked for, no name twice, and the error of put ends it.
func TestEach(t *testing.T) {
	specs := []Spec{tenth, {Posts: 1, Files: 10, Bytes: 20_000}, {Posts: 3, Files: 500, Bytes: 500_000, Seed: 9}}
	if !testing.Short() {
		specs = append(specs, Spec{})
	}
	for _, s := range specs {
		want := s.WithDefaults()
		seen := map[string]bool{}
		posts, bytes, small := 0, int64(0), 0
		err := s.Each(func(name string, data []byte) error {
			if seen[name] || !filepath.IsLocal(name) {
				t.Errorf("%v: the name %s is there twice, or leads out", s, name)
			}
			seen[name] = true
			if strings.HasPrefix(name, "_posts/") {
				posts++
				if len(data) >= maxPost {
					t.Errorf("%v: %s has %d bytes, more than a post may have", s, name, len(data))
				}
			}
			bytes += int64(len(data))
			if int64(len(data)) < want.Bytes/int64(want.Files)/3 {
				small++
			}
			return nil
		})
		if err != nil {
			t.Errorf("%v: %v", s, err)
		}
		if got := (Spec{Files: len(seen), Posts: posts, Bytes: bytes}); got != (Spec{Files: want.Files, Posts: want.Posts, Bytes: want.Bytes}) {
			t.Errorf("%v: made %+v, want %+v", s, got, want)
		}
		if want.Files > 300 && want.Bytes > 10_000_000 && small < want.Files/2 {
			t.Errorf("%v: %d of %d files are small, want most", s, small, want.Files)
		}
	}
	n := 0
	if err := tenth.Each(func(string, []byte) error { n++; return errStop }); !errors.Is(err, errStop) || n != 1 {
		t.Errorf("Each after an error: %v, %d calls", err, n)
	}
}

// sum is the hash of all names and bytes of a site.
func sum(t *testing.T, s Spec) string {
	t.Helper()
	h := sha256.New()
	if err := s.Each(func(name string, data []byte) error {
		fmt.Fprintf(h, "%s %d ", name, len(data))
		h.Write(data)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// TestSame: the bytes of a site are pinned. If this fails, figures of runs before can't be compared with those after.
func TestSame(t *testing.T) {
	if got := sum(t, tenth); got != pinned {
		t.Errorf("a tenth of the site has the hash %s, want %s", got, pinned)
	}
	other := tenth
	other.Seed = 2
	if sum(t, other) == pinned || other.String() == tenth.String() {
		t.Error("another seed makes the same site")
	}
}

func TestWrite(t *testing.T) {
	s := Spec{Posts: 2, Files: 20, Bytes: 60_000}
	dir := t.TempDir()
	if err := s.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	n, bytes := 0, int64(0)
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if st, serr := os.Stat(path); err == nil && serr == nil && !d.IsDir() {
			n, bytes = n+1, bytes+st.Size()
		}
		return err
	})
	if n != 20 || bytes != 60_000 {
		t.Errorf("%d files of %d bytes are written", n, bytes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Write(ctx, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("Write with a context that is over = %v", err)
	}
}

// TestJekyll: the real Jekyll builds a page of every post, and copies all other files.
func TestJekyll(t *testing.T) {
	jekyll, err := exec.LookPath("jekyll")
	if err != nil {
		t.Skip("needs jekyll (Debian's package jekyll)")
	}
	s := Spec{Posts: 12, Files: 60, Bytes: 400_000}
	src, out := t.TempDir(), t.TempDir()
	if err := s.Write(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), jekyll, "build", "--disable-disk-cache", "--source", src, "--destination", out)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8")
	said, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(said), "rror") || strings.Contains(string(said), "arning") {
		t.Fatalf("jekyll: %v\n%s", err, said)
	}
	pages, _ := filepath.Glob(filepath.Join(out, "201?", "*", "*", "*", "index.html"))
	pictures, _ := filepath.Glob(filepath.Join(out, "assets", "*", "*"))
	if len(pages) != s.Posts || len(pictures) != s.Files-s.Posts-len(frame) {
		t.Errorf("jekyll made %d pages and copied %d files, want %d and %d:\n%s", len(pages), len(pictures), s.Posts, s.Files-s.Posts-len(frame), said)
	}
	b, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil || strings.Count(string(b), "<li>") != s.Posts {
		t.Errorf("the front page lists %d posts, %v", strings.Count(string(b), "<li>"), err)
	}
}

// pinned is the hash of tenth.
const pinned = "05cf9bf1dbefba30"
