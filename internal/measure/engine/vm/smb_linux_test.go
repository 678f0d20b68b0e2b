package vm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/testkit/texttest"
)

// TestSMBConfig: an smbd has nothing in common with the system's: each of its folders is the session's, and there.
func TestSMBConfig(t *testing.T) {
	v := New(Options{State: t.TempDir()}).(*Engine)
	p := &placeDevice{dir: filepath.Join(v.State, "vm", "plimsoll-a"), data: "/srv/a folder/plimsoll-a"}
	path, err := v.smbConfig(p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The paths that Debian's smbd -b lists and smb.conf(5) can move.
	for _, key := range []string{"private dir", "lock directory", "state directory", "cache directory", "pid directory", "ncalrpc dir"} {
		_, dir, ok := strings.Cut(string(b), "\n"+key+" = /proc/self/fd/3/")
		dir, _, _ = strings.Cut(dir, "\n")
		if !ok || dir == "" {
			t.Errorf("%s is not in the session's folder:\n%s", key, b)
		}
		if st, err := os.Stat(filepath.Join(p.dir, "smb", dir)); err != nil || !st.IsDir() {
			t.Errorf("%s is not there: %v", key, err)
		}
	}
	texttest.Has(t, string(b), []string{"\nsmb passwd file = /proc/self/fd/3/", "\nlog file = /proc/self/fd/3/", "\npath = /srv/a folder/plimsoll-a\n"})
	if strings.Contains(string(b), "guest account") {
		t.Errorf("the configuration sets the guest's account:\n%s", b)
	}
	for _, data := range []string{"/srv/%U/plimsoll-a", "/srv/a\nwide links = yes\n/plimsoll-a"} {
		p.data = data
		if _, err := v.smbConfig(p); err == nil || !strings.Contains(err.Error(), "give the place another path") {
			t.Errorf("smbConfig(%q) = %v, want it refused", data, err)
		}
	}
}

// TestConnectionPair: what is written at one end is read at the other.
func TestConnectionPair(t *testing.T) {
	served, connected, err := connectionPair()
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	defer connected.Close()
	for _, e := range [][2]*os.File{{served, connected}, {connected, served}} {
		if _, err := e[0].WriteString("hello"); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 5)
		if _, err := e[1].Read(b); err != nil || string(b) != "hello" {
			t.Errorf("Read() = %q, %v", b, err)
		}
	}
}

// TestFirstProgram: what can't be run is passed over.
func TestFirstProgram(t *testing.T) {
	root := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a/smbd": 0, "b/smbd": 0o644, "c/smbd": 0o755, "d/smbd": 0o755} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if mode == 0 {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := firstProgram(root, "none/smbd", "a/smbd", "b/smbd", "c/smbd", "d/smbd"), filepath.Join(root, "c/smbd"); got != want {
		t.Errorf("firstProgram() = %q, want %q", got, want)
	}
	if got := firstProgram(root, "none/smbd", "a/smbd", "b/smbd"); got != "" {
		t.Errorf("firstProgram() = %q of none", got)
	}
}
