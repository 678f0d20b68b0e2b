package dd

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/dialecttest"
)

// run parses and runs a line in dir and returns what it printed, without Plimsoll's notes.
func run(t *testing.T, dir string, args ...string) (string, *dialecttest.Local, error) {
	t.Helper()
	var errs bytes.Buffer
	s, err := runTo(t, dialect.Quiet{Writer: &errs}, dir, args...)
	return errs.String(), s, err
}

// runTo parses and runs a line in dir, with this standard error.
func runTo(t *testing.T, stderr io.Writer, dir string, args ...string) (*dialecttest.Local, error) {
	t.Helper()
	test, err := Parse(args, nil)
	if err != nil {
		return nil, err
	}
	s := &dialecttest.Local{Dir: dir}
	var out bytes.Buffer
	err = test.Run(context.Background(), s, &out, stderr)
	if out.Len() > 0 {
		t.Errorf("standard output has %q", out.String())
	}
	return s, err
}

var lastLines = regexp.MustCompile(`^16\+0 records in\n16\+0 records out\n1048576 bytes \(1\.0 MB, 1\.0 MiB\) copied, [0-9.e-]+ s, [0-9.]+ [kMG]B/s\n$`)

func TestRunWritesAndReads(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"if=/dev/zero", "of=f", "bs=64K", "count=16"},
		{"if=/dev/zero", "of=f", "bs=64k", "count=16", "oflag=direct", "conv=fsync"},
		{"if=/dev/urandom", "of=f", "bs=65536", "count=1048576", "iflag=count_bytes", "oflag=dsync"},
		{"if=f", "of=/dev/null", "bs=64K"},
		{"if=f", "of=/dev/null", "bs=64K", "count=1M", "iflag=count_bytes,direct"},
	} {
		got, _, err := run(t, dir, args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if !lastLines.MatchString(got) {
			t.Errorf("%v prints %q", args, got)
		}
		if st, err := os.Stat(filepath.Join(dir, "f")); err != nil || st.Size() != 1<<20 {
			t.Errorf("%v: %v, %v", args, st, err)
		}
	}
	got, _, err := run(t, dir, "if=f", "of=/dev/null", "bs=64K", "count=3", "skip=13", "status=noxfer")
	if err != nil || got != "3+0 records in\n3+0 records out\n" {
		t.Errorf("the end of the file: %q, %v", got, err)
	}
}

// TestSyncAtTheEnd: fdatasync is not fsync; both are.
func TestSyncAtTheEnd(t *testing.T) {
	for conv, want := range map[string][2]bool{"notrunc": {false, false}, "fsync": {true, false}, "fdatasync": {true, true}, "fdatasync,fsync": {true, false}} {
		test, err := Parse(strings.Fields("if=/dev/zero of=f count=1 conv="+conv), nil)
		if err != nil {
			t.Fatal(err)
		}
		j := test.job(&dialecttest.Local{Dir: "/d"}).Job
		if got := [2]bool{j.EndFsync, j.EndDataOnly}; got != want {
			t.Errorf("conv=%s: synced at the end and only its data: %v, want %v", conv, got, want)
		}
	}
}
