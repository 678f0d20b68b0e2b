package dd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect/dialecttest"
)

// TestExistingFiles: what is there is kept, made, or refused as dd does, and the files are dd's.
func TestExistingFiles(t *testing.T) {
	const old = "0123456789abcdef"
	for _, c := range []struct {
		there bool
		args  string
		fails string
	}{
		{true, "conv=notrunc bs=4 count=2", ""},
		{true, "conv=notrunc bs=4 count=2 seek=3", ""}, // Over its end.
		{true, "conv=notrunc,nocreat bs=4 count=1", ""},
		{true, "bs=4 count=1 conv=fdatasync", ""},
		{true, "bs=4 count=1 conv=excl", "exists"},
		{false, "bs=4 count=1 conv=excl,fsync", ""},
		{false, "bs=4 count=1 conv=nocreat", "no"},
		{false, "bs=4 count=2 conv=notrunc", ""},
		{false, "bs=4 count=1 seek=2 conv=notrunc", ""},
		{true, "bs=4 count=1 seek=2", ""}, // What is behind it goes, what is before it stays.
		{true, "bs=4 count=1 seek=9", ""},
		{false, "bs=4 count=1 seek=9", ""},
		{false, "bs=4 count=1 seek=9 conv=nocreat", "no"},
		{true, "bs=4 count=2 oflag=append conv=notrunc", ""},
		{true, "bs=4 count=2 oflag=append conv=notrunc seek=1", ""},
		{true, "bs=4 count=2 oflag=append", ""},
		{true, "bs=4 count=2 oflag=append seek=3", ""},
		{false, "bs=4 count=2 oflag=append", ""},
		{true, "bs=4 count=2 conv=sync", ""},
	} {
		// First dd, then ours.
		var left, failed [2]string
		for who := range 2 {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			if c.there {
				if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args := append([]string{"if=/dev/zero", "of=" + path}, strings.Fields(c.args)...)
			if who == 0 {
				cmd := exec.Command("dd", args...)
				cmd.Env = append(os.Environ(), "LC_ALL=C")
				if out, err := cmd.CombinedOutput(); err != nil {
					failed[who] = string(out)
				}
			} else {
				test, err := Parse(args, []string{path})
				if err != nil {
					t.Fatal(err)
				}
				if err := test.Run(context.Background(), &dialecttest.Local{Dir: dir}, io.Discard, io.Discard); err != nil {
					failed[who] = err.Error()
				}
			}
			b, err := os.ReadFile(path)
			left[who] = fmt.Sprintf("%q %v", b, errors.Is(err, os.ErrNotExist))
		}
		for who, f := range failed {
			if (f != "") != (c.fails != "") || !strings.Contains(strings.ToLower(f), c.fails) {
				t.Errorf("%s, file there %v: %d fails with %q, want %q", c.args, c.there, who, f, c.fails)
			}
		}
		if left[0] != left[1] {
			t.Errorf("%s, file there %v: dd leaves %s, ours %s", c.args, c.there, left[0], left[1])
		}
	}
}

// TestNothingToRead: what can't be read is said of the file, in its own figures.
func TestNothingToRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"if=f of=/dev/null bs=4096 skip=1000000": "f has 1048576 bytes, none of them behind offset 4096000000",
		"if=f of=/dev/null bs=4096 skip=256":     "f has 1048576 bytes, none of them behind offset 1048576",
		"if=nosuch of=/dev/null":                 "nosuch does not exist, and is to be read",
	} {
		test, err := Parse(strings.Fields(line), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := test.Run(t.Context(), &dialecttest.Local{Dir: dir}, io.Discard, io.Discard); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// TestReadEndsWithTheFile: the records and bytes of a read are dd's, with the part of a block at the end of the file, and a
// count beyond it.
func TestReadEndsWithTheFile(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"in": 10<<10 + 7, "whole": 8 << 10, "byte": 1} {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte{7}, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"if=in bs=1K count=3", "if=in bs=1K count=10", "if=in bs=1K count=11", "if=in bs=1K count=1000000", "if=in bs=1K", "if=in bs=1000", "if=in bs=1M",
		"if=in bs=1M count=1", "if=in bs=1K skip=4 count=100", "if=in bs=1K skip=4 count=6", "if=in bs=1K skip=10", "if=in",
		"if=in bs=4K iflag=direct", "if=in bs=4K iflag=direct count=2", "if=in bs=1M iflag=direct", "if=in bs=8K iflag=direct skip=1",
		"if=in bs=1K conv=sync", "if=in bs=1K skip=4 conv=notrunc,sync", "if=whole bs=4K conv=sync", "if=byte conv=sync",
		"if=whole bs=4K", "if=whole bs=4K iflag=direct", "if=whole bs=3K", "if=byte", "if=byte bs=4K iflag=direct",
	} {
		args := append(strings.Fields(line), "of=/dev/null")
		got, s, err := run(t, dir, args...)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		cmd := exec.Command("dd", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("dd %s: %v: %s", line, err, out)
		}
		got, _, _ = strings.Cut(got, " copied,")
		if want, _, _ := strings.Cut(string(out), " copied,"); got != want {
			t.Errorf("%s prints %q, dd %q", line, got, want)
		}
		c := s.Results[0].Stage[0].Classes[0]
		var in, part int64
		if _, err := fmt.Sscanf(got, "%d+%d records in", &in, &part); err != nil || c.Ops != in+part {
			t.Errorf("%s: %d I/Os of %d+%d, %v", line, c.Ops, in, part, err)
		}
	}
	if _, _, err := run(t, dir, strings.Fields("if=in of=/dev/null bs=1K skip=11")...); err == nil {
		t.Error("nothing was read behind the end, and that was no error")
	}
}
