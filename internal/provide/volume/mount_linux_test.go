package volume

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/testkit/leaktest"
)

// TestMount: several users share one mount, an unknown one ends nothing, and a repeated one counts once.
func TestMount(t *testing.T) {
	t.Parallel()
	s := lab(t)
	ctx := t.Context()
	_, err := s.Mount(ctx, "none", "x")
	says(t, err, `there is no volume "none"`)
	must(t, s.Unmount(ctx, "none", "x"))
	says(t, s.Unmount(ctx, "../x", "x"), "not a volume's name")

	v := s.made(t, "db", small)
	must(t, s.Unmount(ctx, "db", "never"))
	a, err := s.Mount(ctx, "db", "a")
	must(t, err)
	must(t, put(a.Root, "f", "written"))
	for _, id := range []string{"b", "a", ""} {
		m, err := s.Mount(ctx, "db", id)
		must(t, err)
		if m.Root != a.Root || content(m.Root, "f") != "written" {
			t.Errorf("Mount(%s) = %q with %q", id, m.Root, content(m.Root, "f"))
		}
	}
	if got := s.ids(t, "db"); got != "[a b ]" {
		t.Errorf("the users are %s", got)
	}
	must(t, s.Unmount(ctx, "db", "never"))
	says(t, s.Remove(ctx, "db", false), "volume db", "mounted by 3 containers")
	for _, id := range []string{"a", "a", "never", "b"} {
		must(t, s.Unmount(ctx, "db", id))
		if root, err := s.Root(v); root == "" || err != nil {
			t.Errorf("after the unmount by %s: Root() = %q, %v", id, root, err)
		}
	}
	must(t, s.Unmount(ctx, "db", ""))
	if left := leaktest.Find(s.state); len(left) > 0 {
		t.Errorf("left mounted: %q", left)
	}
	m, err := s.Mount(ctx, "db", ByHand)
	must(t, err)
	if got := content(m.Root, "f"); got != "written" {
		t.Errorf("the file is %q", got)
	}
	says(t, s.Remove(ctx, "db", false), "mounted by hand")
	must(t, s.Unmount(ctx, "db", ByHand))
	must(t, s.Remove(ctx, "db", true))
}

// TestEarlierBoot: the uses of an earlier boot are void: nothing is mounted since.
func TestEarlierBoot(t *testing.T) {
	s := lab(t)
	s.made(t, "db", plain)
	must(t, s.journal.Keep(t.Context(), useKind, "db", uses{Boot: "earlier", List: []Use{{ID: "old", Since: time.Now()}}}))
	if got := s.ids(t, "db"); got != "[]" {
		t.Errorf("the users after a reboot are %s", got)
	}
	if _, err := s.Mount(t.Context(), "db", "new"); err != nil {
		t.Error(err)
	}
	if got := s.ids(t, "db"); got != "[new]" {
		t.Errorf("the users are %s", got)
	}
	must(t, s.journal.Keep(t.Context(), useKind, "db", uses{Boot: "earlier", List: []Use{{ID: "old", Since: time.Now()}}}))
	must(t, s.Remove(t.Context(), "db", true))
	if left := s.files(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A guest is a process in a mount namespace of its own, with a bind of a folder in its own place, as a container's.
func guest(t *testing.T, folder string) (end func()) {
	t.Helper()
	at := t.TempDir()
	c := exec.Command("sh", "-c", `mount --make-rprivate / && mount --bind "$1" "$2" && umount -l "$3" 2>/dev/null; echo there; read x`, "sh", folder, at, filepath.Dir(folder))
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	in, err := c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err)
	c.Stderr = os.Stderr
	must(t, c.Start())
	b := make([]byte, 6)
	if _, err := out.Read(b); err != nil || !strings.HasPrefix(string(b), "there") {
		t.Fatalf("the process with a mount: %q, %v", b, err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			in.Close()
			c.Wait()
		}
	}
	t.Cleanup(end)
	return end
}

// TestReconcile: a use ends if no mount namespace shows the volume; a young one, one by hand, and that of a container stay.
func TestReconcile(t *testing.T) {
	for name, options := range map[string]map[string]string{"local": small, "directory": plain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lab(t)
			ctx := t.Context()
			v := s.made(t, "db", options)
			m, err := s.Mount(ctx, "db", "container")
			must(t, err)
			if _, err := s.Mount(ctx, "db", "lost"); err != nil {
				t.Fatal(err)
			}
			reconciled := func(stale time.Duration, want string) {
				t.Helper()
				s.stale = stale
				if _, err := s.Reconcile(ctx); err != nil {
					t.Error(err)
				}
				if got := s.ids(t, "db"); got != want {
					t.Errorf("the users are %s, want %s", got, want)
				}
			}
			reconciled(time.Hour, "[container lost]")
			end := guest(t, m.Root)
			reconciled(0, "[container lost]")
			if root, err := s.Root(v); root != m.Root || err != nil {
				t.Errorf("Root() = %q, %v", root, err)
			}
			end()
			if _, err := s.Mount(ctx, "db", ByHand); err != nil {
				t.Fatal(err)
			}
			reconciled(0, "["+ByHand+"]")
			must(t, s.Unmount(ctx, "db", ByHand))
			if _, err := s.Mount(ctx, "db", "lost"); err != nil {
				t.Fatal(err)
			}
			reconciled(0, "[]")
			if left := leaktest.Find(s.state); len(left) > 0 {
				t.Errorf("left mounted: %q", left)
			}
			if left := s.files(t); strings.Join(left, " ") != "volume/db volumes/db" {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestNeverMounted: a process was killed after it recorded a use, and before it mounted the volume. That use prevents no removal.
func TestNeverMounted(t *testing.T) {
	s := lab(t)
	s.made(t, "db", small)
	must(t, s.journal.Keep(t.Context(), useKind, "db", uses{Boot: bootOf(t, s), List: []Use{{ID: "x", Since: time.Now()}}}))
	must(t, s.Remove(t.Context(), "db", false))
	if got := s.ids(t, "db"); got != "[]" {
		t.Errorf("the users of a removed volume are %s", got)
	}
}

func bootOf(t *testing.T, s *Volumes) string {
	t.Helper()
	u, err := s.uses("none")
	must(t, err)
	return u.Boot
}
