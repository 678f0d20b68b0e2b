package plimsoll_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// interruptible are functions of golang.org/x/sys/unix that a signal may end with EINTR, at least on FUSE or a network file system.
var interruptible = []string{
	"Access", "Fallocate", "Fdatasync", "Fgetxattr", "FinitModule", "Flock", "Fsetxattr", "Fstatat", "Fstatfs", "Fsync", "Ftruncate", "Futimes", "Mkdirat",
	"Msync", "NameToHandleAt", "Open", "OpenByHandleAt", "Openat", "Openat2", "Pwrite", "Read", "Readlinkat", "Setxattr", "Statfs", "Syncfs", "Unlinkat", "Write",
}

// retries are the functions that repeat an interrupted call.
var retries = []string{"eintr.Retry", "eintr.Value", "uninterrupted"}

// TestInterrupted: the program and the worker repeat every such call if a signal interrupts it. The Go runtime's own signals
// sometimes do. The package device is left out: it imports no other package, and opens no users' files.
func TestInterrupted(t *testing.T) {
	calls := 0
	for _, dir := range []string{"load", "internal", "cmd/plimsoll", "cmd/worker"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch name := d.Name(); {
			case err != nil:
				return err
			case d.IsDir() && (strings.HasSuffix(name, "test") || name == "testdata" || path == "internal/host/device"):
				return fs.SkipDir // Only tests use these.
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			n, err := once(t, path)
			calls += n
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if calls < 40 {
		t.Errorf("%d calls were found: this test shows nothing", calls)
	}
}

// once reports the calls in a file that are not repeated, and counts all.
func once(t *testing.T, path string) (calls int, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		return 0, err
	}
	var above []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		above = append(above, n)
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name, ok := strings.CutPrefix(called(call), "unix.")
		if !ok || !slices.Contains(interruptible, name) {
			return true
		}
		calls++
		if !slices.ContainsFunc(above, func(n ast.Node) bool { c, ok := n.(*ast.CallExpr); return ok && slices.Contains(retries, called(c)) }) {
			t.Errorf("%s: unix.%s may end with EINTR, and is not made again: see internal/host/eintr", set.Position(call.Pos()), name)
		}
		return true
	})
	return calls, nil
}

// called returns the name of the called function: "unix.Open".
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	case *ast.IndexExpr:
		return called(&ast.CallExpr{Fun: f.X})
	}
	return ""
}
