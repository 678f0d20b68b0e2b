// Package winetest runs programs for Windows in tests, under Wine.
//
// Wine before 9 lacks bcryptprimitives.dll, without which no Go program starts (Go 1.24 takes its random seed from there). shim
// makes one, so that Debian's Wine 8 is enough.
package winetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A Wine is a private Wine prefix: an installation of Windows.
type Wine struct {
	// Prefix is its folder.
	Prefix string
	env    []string
}

// Find skips the test if there is no Wine; else it makes a prefix for the test, with the drives C: and D:. The end of the test ends
// all of its processes and removes it.
func Find(t testing.TB) *Wine {
	t.Helper()
	for _, name := range []string{"wine", "wineserver"} {
		if _, err := find(name); err != nil {
			t.Skipf("needs Wine (Debian: wine64): %v", err)
		}
	}
	dir := t.TempDir()
	w := &Wine{Prefix: filepath.Join(dir, "wine")}
	// Debian's server has its socket in a folder wine-XXXXXX in TMPDIR, which remains when it ends.
	w.env = append(os.Environ(), "WINEPREFIX="+w.Prefix, "TMPDIR="+dir, "WINEDEBUG=-all", "DISPLAY=", "WINEDLLOVERRIDES=mscoree,mshtml=")
	t.Cleanup(func() {
		// -k ends the servers of this prefix, and -w waits for their end.
		for _, flag := range []string{"-k", "-w"} {
			server, _ := find("wineserver")
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			c := exec.CommandContext(ctx, server, flag)
			c.Env = w.env
			_ = c.Run() // it is an error if none runs
			cancel()
		}
	})
	if out, err := w.run(t, "", "wineboot", "-i"); err != nil {
		t.Fatalf("wineboot: %v\n%s", err, out)
	}
	// A drive that isn't the system's.
	if err := errors.Join(os.Mkdir(filepath.Join(w.Prefix, "drive_d"), 0o755), os.Symlink("../drive_d", filepath.Join(w.Prefix, "dosdevices", "d:"))); err != nil {
		t.Fatal(err)
	}
	dll := filepath.Join(w.Prefix, "drive_c", "windows", "system32", "bcryptprimitives.dll")
	if _, err := os.Stat(dll); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(dll, shim(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// find looks for one of Wine's programs; Debian keeps some of them out of the path.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, path := range []string{"/usr/lib/wine/" + name, "/usr/lib/wine/" + name + "64"} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// Run runs a program of Windows in the root of drive C: and returns its output. As on Windows, the program sees no /proc or /sys
// there: the machine's files are on another of Wine's drives. The program is killed after three minutes.
func (w *Wine) Run(t testing.TB, exe string, args ...string) (string, error) {
	t.Helper()
	return w.run(t, filepath.Join(w.Prefix, "drive_c"), exe, args...)
}

// run is Run in dir, the current folder if that is empty.
func (w *Wine) run(t testing.TB, dir, exe string, args ...string) (string, error) {
	t.Helper()
	wine, err := find("wine")
	if err != nil {
		t.Fatal(err)
	}
	text, err := w.runOnce(t, wine, dir, exe, args)
	// Wine's server may end just when a program connects to it. The program has not begun then.
	for range 2 {
		if err == nil || !strings.Contains(text, "wine client error:0: recvmsg: Connection reset by peer") {
			break
		}
		text, err = w.runOnce(t, wine, dir, exe, args)
	}
	return text, err
}

// runOnce is one try of run.
func (w *Wine) runOnce(t testing.TB, wine, dir, exe string, args []string) (string, error) {
	t.Helper()
	// The output is no pipe: Wine's services would inherit it, and they run on for some seconds.
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, wine, append([]string{exe}, args...)...)
	c.Env, c.Dir, c.Stdout, c.Stderr = w.env, dir, out, out
	runErr := c.Run()
	text, err := os.ReadFile(out.Name())
	return string(text), errors.Join(runErr, err)
}

// RunTests builds the tests of the current package for Windows, runs those with these names there and returns their output. Each
// must pass: a skipped or missing one is a failure.
func RunTests(t testing.TB, names ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program")
	}
	w := Find(t)
	out, err := w.run(t, "", buildTests(t), "-test.v", "-test.run", "^("+strings.Join(names, "|")+")$")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, n := range names {
		if !strings.Contains(out, "--- PASS: "+n+" ") {
			t.Errorf("%s did not pass on Windows' side:\n%s", n, out)
		}
	}
	return out
}

// buildTests builds the tests of the current package for Windows and returns the program.
func buildTests(t testing.TB) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "tests.exe")
	c := exec.Command("go", "test", "-c", "-o", exe, ".")
	c.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build the tests for Windows: %v\n%s", err, out)
	}
	return exe
}
