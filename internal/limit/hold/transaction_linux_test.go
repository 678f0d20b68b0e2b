package hold

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/testkit/disktest"
)

// A write is what cgroup.Host.Through is given.
type write = func(path, text string, next func(path, text string) error) error

// refuse refuses the nth write as the kernel would, and no other.
func refuse(n int) write {
	return func(path, text string, next func(string, string) error) error {
		if n--; n == 0 {
			return syscall.EIO
		}
		return next(path, text)
	}
}

// through is a Holder whose writes go through w.
func through(h *Holder, w write) *Holder {
	return &Holder{FS: h.FS, Finder: h.Finder, Groups: h.Groups.Through(w), Explain: h.Explain, Systemd: h.Systemd}
}

// rateFiles are the rates of a group and of those below it, of the devices that are the test's.
func rateFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "blkio.throttle.*_device"))
	below, _ := filepath.Glob(filepath.Join(dir, "*", "blkio.throttle.*_device"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%s has %q, %v", dir, files, err)
	}
	all := map[string]string{}
	for _, f := range append(files, below...) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.TrimSpace(string(b)); text != "" {
			all[f] = text
		}
	}
	return all
}

// both is a scope of two groups on a new disk, of which the first has limits already.
func both(t *testing.T, h *Holder) (s *Scope, one, two disktest.Group) {
	t.Helper()
	one, two = disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
	loop, _ := disktest.Disk(t, disktest.Options{})
	s, err := h.Scope(t.Context(), ref(t, one), Where{Device: loop}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Apply(t.Context(), s, limit.Change{Set: limit.Limits{ReadBPS: 5000000, WriteBPS: 6000000}}); err != nil {
		t.Fatal(err)
	}
	groups, err := h.Groups.At(string(two))
	if err != nil {
		t.Fatal(err)
	}
	s.GroupSets = append(s.GroupSets, GroupSet{Name: "the other", Groups: groups})
	return s, one, two
}

// TestAllOrNone: whichever write of a change is refused, of whichever group set, everything is as it was and the error says so.
func TestAllOrNone(t *testing.T) {
	h := holder(t)
	s, one, two := both(t, h)
	before := rateFiles(t, string(one))
	change := limit.Change{Set: limit.Limits{ReadBPS: 1 << 20, WriteBPS: 1 << 20, ReadIOPS: 100, WriteIOPS: 100}}
	for n := 1; ; n++ {
		_, err := through(h, refuse(n)).Apply(t.Context(), s, change)
		if err == nil {
			if n != 9 {
				t.Errorf("it took %d writes, want 8", n-1)
			}
			break
		}
		var fault *cgroup.Fault
		if !errors.Is(err, syscall.EIO) || !errors.As(err, &fault) {
			t.Fatalf("write %d refused: %v, want a fault of the write", n, err)
		}
		if undone := n > 1; fault.Undone != undone || strings.Contains(err.Error(), "were undone") != undone {
			t.Errorf("write %d refused: undone %v, %v", n, fault.Undone, err)
		}
		if len(fault.Left) > 0 {
			t.Errorf("write %d refused: left are %q", n, fault.Left)
		}
		if strings.Count(err.Error(), "input/output error") != 1 {
			t.Errorf("write %d refused: %v, want the reason once", n, err)
		}
		if now := rateFiles(t, string(one)); !maps.Equal(now, before) {
			t.Errorf("write %d refused: the first has %v, want %v", n, now, before)
		}
		if now := rateFiles(t, string(two)); len(now) > 0 {
			t.Errorf("write %d refused: the other has %v", n, now)
		}
	}
	if now := rateFiles(t, string(two)); len(now) != 4 {
		t.Errorf("with none refused the other has %v", now)
	}
}

// TestLaterRefused: what is written after all group sets once were is undone with all the rest: of groups that a container
// makes meanwhile, and where somebody else writes the same values.
func TestLaterRefused(t *testing.T) {
	h := holder(t)
	change := limit.Change{Set: limit.Limits{ReadBPS: 1 << 20, WriteBPS: 2 << 20}}
	t.Run("new group", func(t *testing.T) {
		s, one, two := both(t, h)
		before := rateFiles(t, string(one))
		below := []string{filepath.Join(string(one), "below"), filepath.Join(string(two), "below")}
		t.Cleanup(func() { os.Remove(below[0]); os.Remove(below[1]) })
		// Four writes, and two of each group that is made at the last.
		for n := 5; n <= 8; n++ {
			count := 0
			_, err := through(h, func(path, text string, next func(string, string) error) error {
				if count++; count == 4 {
					if err := errors.Join(os.Mkdir(below[0], 0o755), os.Mkdir(below[1], 0o755)); err != nil {
						t.Error(err)
					}
				}
				if count == n {
					if !strings.Contains(path, "/below/") {
						t.Errorf("write %d is to %s", count, path)
					}
					return syscall.EIO
				}
				return next(path, text)
			}).Apply(t.Context(), s, change)
			if err == nil || !strings.Contains(err.Error(), "the earlier writes were undone") {
				t.Errorf("%d: Apply() = %v", n, err)
			}
			if now := rateFiles(t, string(one)); !maps.Equal(now, before) {
				t.Errorf("%d: the first has %v, want %v", n, now, before)
			}
			if now := rateFiles(t, string(two)); len(now) > 0 {
				t.Errorf("%d: the other has %v", n, now)
			}
			if err := errors.Join(os.Remove(below[0]), os.Remove(below[1])); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("somebody else", func(t *testing.T) {
		s, one, two := both(t, h)
		before := rateFiles(t, string(one))
		undoing := false
		_, err := through(h, func(path, text string, next func(string, string) error) error {
			err := next(path, text)
			// He sets 3 MB/s whenever it is anything else, until it is restored.
			undoing = undoing || strings.HasSuffix(text, " 6000000")
			if file := filepath.Join(string(one), "blkio.throttle.write_bps_device"); path == file && !undoing {
				number, _, _ := strings.Cut(text, " ")
				err = errors.Join(err, next(file, number+" 3000000"))
			}
			return err
		}).Apply(t.Context(), s, change)
		if !errors.Is(err, cgroup.ErrNotKept) || !strings.Contains(err.Error(), "the earlier writes were undone") {
			t.Errorf("Apply() = %v", err)
		}
		if now := rateFiles(t, string(one)); !maps.Equal(now, before) {
			t.Errorf("the first has %v, want %v", now, before)
		}
		if now := rateFiles(t, string(two)); len(now) > 0 {
			t.Errorf("the other has %v", now)
		}
	})
}

// TestGroupsEnd: a set whose group goes when the first was written undoes that, and one that ends after all were written
// is no error.
func TestGroupsEnd(t *testing.T) {
	h := holder(t)
	s, one, two := both(t, h)
	before := rateFiles(t, string(one))
	change := limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}}
	ends := func(n int) write {
		return func(path, text string, next func(string, string) error) error {
			if n--; n != 0 {
				return next(path, text)
			}
			err := next(path, text)
			return errors.Join(err, os.Remove(string(two)))
		}
	}
	_, err := through(h, ends(1)).Apply(t.Context(), s, change)
	if now := rateFiles(t, string(one)); !errors.Is(err, cgroup.ErrGone) || !maps.Equal(now, before) {
		t.Errorf("Apply() with a group that goes = %v; the first has %v, want %v", err, now, before)
	}
	if err := os.Mkdir(string(two), 0o755); err != nil { // The end of the test removes it.
		t.Fatal(err)
	}
	done, err := through(h, ends(2)).Apply(t.Context(), s, change)
	if now := slices.Collect(maps.Values(rateFiles(t, string(one)))); err != nil || len(done) != 2 || len(now) != 2 {
		t.Errorf("Apply() with one that ends = %+v, %v; the first has %v", done, err, now)
	}
	if err := os.Mkdir(string(two), 0o755); err != nil {
		t.Fatal(err)
	}
}
