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
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/dialect/dialecttest"
	"plimsoll/internal/fuzztest"
)

// TestLastLineIsCoreutils compares the sizes with those that the real dd prints.
func TestLastLineIsCoreutils(t *testing.T) {
	for _, n := range []int64{1, 2, 511, 999, 1000, 1023, 1024, 1025, 9949, 9950, 9951, 10000, 10239, 10240, 99999, 999499, 999500, 999999, 1000000, 1 << 20, 1048575,
		10<<20 - 1, 10 << 20, 105 << 20, 1023 << 20, 1<<30 - 1, 1 << 30, 3 << 29} {
		cmd := exec.Command("dd", "if=/dev/zero", "of=/dev/null", fmt.Sprintf("bs=%d", min(n, 1<<20)), fmt.Sprintf("count=%dB", n))
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("dd: %v: %s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		want, _, _ := strings.Cut(lines[len(lines)-1], " copied,")
		if got, _, _ := strings.Cut(summary(n, time.Second, false), " copied,"); got != want {
			t.Errorf("%d bytes: %q, dd prints %q", n, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		d     time.Duration
		prog  bool
		want  string
	}{
		{104857600, 51234 * time.Microsecond, false, "104857600 bytes (105 MB, 100 MiB) copied, 0.051234 s, 2.0 GB/s"},
		{512, 100 * time.Microsecond, false, "512 bytes copied, 0.0001 s, 5.1 MB/s"},
		{1 << 30, 12345678901, false, "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 12.3457 s, 87.0 MB/s"},
		{1 << 30, 3 * time.Second, true, "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 3 s, 358 MB/s"},
	} {
		c.want = strings.Replace(c.want, "87.0 MB/s", "87 MB/s", 1)
		if got := summary(c.bytes, c.d, c.prog); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// run parses and runs a line in dir and returns what it printed.
func run(t *testing.T, dir string, args ...string) (string, *dialecttest.Local, error) {
	t.Helper()
	test, err := Parse(args, nil)
	if err != nil {
		return "", nil, err
	}
	s := &dialecttest.Local{Dir: dir}
	var out, errs bytes.Buffer
	err = test.Run(context.Background(), s, &out, &errs)
	if out.Len() > 0 {
		t.Errorf("standard output has %q", out.String())
	}
	return errs.String(), s, err
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

func TestProgress(t *testing.T) {
	got, _, err := run(t, t.TempDir(), "if=/dev/zero", "of=f", "bs=4K", "count=256", "status=progress", "oflag=dsync")
	if err != nil || !strings.Contains(got, "\r1048576 bytes (1.0 MB, 1.0 MiB) copied, ") || !strings.Contains(got, "\n256+0 records in\n") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"if=/dev/zero of=f bs=4Q count=1":                                  `argument 3, bs=4Q: "4Q" is no number`,
		"if=/dev/zero of=f bs=1M":                                          "without count=",
		"if=a of=b bs=1M":                                                  "measure the reading with of=/dev/null",
		"if=/dev/zero of=f cuont=1":                                        "did you mean count?",
		"if=/dev/zero of=f count=1 oflag=dircet":                           "argument 4, oflag=dircet: \"dircet\" is unknown; did you mean direct?",
		"if=/dev/zero of=f count=1 conv=ucase":                             "converts text",
		"if=/dev/zero of=f count=1 conv=sync":                              "use oflag=sync",
		"if=/dev/zero of=f count=1 if=x":                                   "was given before",
		"if=/dev/zero of=/dev/null count=1":                                "neither side",
		"of=f count=1":                                                     "give both",
		"if=/dev/zero of=f count=1 seek=4":                                 "conv=notrunc",
		"if=/dev/zero of=f count=1 conv=nocreat,excl":                      "contradicts conv=excl",
		"if=/dev/zero of=f count=99999999999999G":                          "too large",
		"if=f of=/dev/null bs=1M skip=17592186044416":                      "skip=17592186044416: too large",
		"if=f of=/dev/null bs=1G skip=8589934591":                          "skip=8589934591: too large",
		"if=/dev/zero of=f bs=1M count=1 conv=notrunc seek=17592186044416": "seek=17592186044416: too large",
		"if=f of=/dev/null skip=1 iseek=2":                                 "argument 4, iseek=2: skip= was given before",
		"if=/dev/zero of=f count=1 oseek=1 seek=2":                         "argument 5, seek=2: seek= was given before",
		"if=f of=/dev/null bs=4k ibs=garbage":                              `argument 4, ibs=garbage: "garbage" is no number`,
		"if=f of=/dev/null count=":                                         `count=: "" is no number`,
		"if=f of=/dev/null iseek=":                                         `skip=: "" is no number`,
		"if=f of=/dev/null obs=":                                           `obs=: "" is no number`,
		"if=/dev/zero of=f bs=2G count=1":                                  "1 GiB",
		"if=/dev/zero of=f bs=4K count=5000B":                              "no whole number of blocks",
		"if=/dev/zero of=f ibs=4K obs=8K count=1":                          "differs from ibs",
		"count": "name=value",
		"if=/dev/zero of=f count=1 status=verbose": "none, noxfer or progress",
	} {
		_, err := Parse(strings.Fields(line), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("if=/dev/zero of=f bs=1M count=10 oflag=direct conv=fsync,notrunc seek=2")
	f.Add("if=f of=/dev/null bs=2x512 count=4kB iflag=count_bytes status=none")
	f.Fuzz(tryLine)
}

// TestHostileLines: what is much too long is answered too, in bounds.
func TestHostileLines(t *testing.T) {
	for _, hostile := range []string{"bs=" + strings.Repeat("2x", 1<<16), "conv=" + strings.Repeat("fsync,", 1<<16), "count=" + strings.Repeat("9", 1<<16), strings.Repeat("oflag=dsync ", 1<<14)} {
		tryLine(t, "if=/dev/zero of=f "+hostile)
	}
}

// tryLine parses a line within bounds, and lowers what it asks for.
func tryLine(t *testing.T, line string) {
	fuzztest.Bounded(t, line, func() {
		test, err := Parse(strings.Fields(line), nil)
		if err != nil {
			dialecttest.Usage(t, err)
			return
		}
		j := test.job(&dialecttest.Local{Dir: "/d"})
		if err := j.Job.Validate(); err != nil && !strings.Contains(err.Error(), "direct I/O") && !strings.Contains(err.Error(), "beyond any file") {
			t.Errorf("%q makes a job that is refused: %v", line, err)
		}
	})
}

// TestReadEndsWithTheFile: a count beyond the end of a file reads what there is, as dd does, and what is less than a block
// is said to be left out.
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

func TestReadEndsWithTheFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in"), make([]byte, 10<<10+7), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line    string
		records int
		tail    bool
	}{
		{"count=3", 3, false}, {"count=10", 10, false}, {"count=11", 10, true}, {"count=1000000", 10, true}, {"", 10, true},
		{"skip=4 count=100", 6, true}, {"skip=4 count=6", 6, false},
	} {
		out, _, err := run(t, dir, strings.Fields("if=in of=/dev/null bs=1K "+c.line)...)
		want := fmt.Sprintf("%d+0 records in\n%[1]d+0 records out\n%d bytes", c.records, c.records<<10)
		if err != nil || !strings.Contains(out, want) || strings.Contains(out, "last 7 bytes of in") != c.tail {
			t.Errorf("%q: %v\n%s\nwant %q, a tail: %t", c.line, err, out, want, c.tail)
		}
	}
	if _, _, err := run(t, dir, strings.Fields("if=in of=/dev/null bs=1K skip=11")...); err == nil {
		t.Error("nothing was read behind the end, and that was no error")
	}
}
