package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun finds the tests that use the package directly, through a helper, a method or a table. It doesn't find one that doesn't use
// it, or that has the package's name for something else.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a_test.go", `package a

import "x/engine"

func TestItself(t *testing.T) { engine.Start() }
func helper()                 { engine.Start() }

type box struct{}

func (box) open() { helper() }
`)
	write("b_test.go", `package a

import e "x/engine"

var table = []any{e.Start}

func TestHelper(t *testing.T) { helper() }
func TestMethod(t *testing.T) { box{}.open() }
func TestTable(t *testing.T)  { _ = table }
`)
	write("c_test.go", `package a

import "y/engine"

func TestOther(t *testing.T)  { engine.Start() }
func TestMain(m *testing.M)   { helper() }
func TestNone(t *testing.T)   {}
`)
	write("d.go", `package a; not Go`)
	got, err := run("x/engine", []string{dir})
	if want := "^(TestHelper|TestItself|TestMethod|TestTable)$"; got != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	// The folder of the package itself.
	if got, err := run("x"+filepath.ToSlash(dir), []string{dir}); err != nil || !strings.Contains(got, "TestNone") || strings.Contains(got, "TestMain") {
		t.Errorf("of the package itself: %s, %v", got, err)
	}
	for _, c := range []struct {
		of   string
		dirs []string
		want string
	}{
		{"", []string{dir}, "are needed"},
		{"x/engine", nil, "are needed"},
		{"z/engine", []string{dir}, "no test of " + dir + " uses z/engine"},
	} {
		if got, err := run(c.of, c.dirs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("of %q in %v: %q, %v, want %q", c.of, c.dirs, got, err, c.want)
		}
	}
	write("broken_test.go", "package a; func {")
	if _, err := run("x/engine", []string{dir}); err == nil {
		t.Error("a file that can't be read was passed over")
	}
}
