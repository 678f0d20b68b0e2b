package dd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/load"
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

// TestRatesAreCoreutils compares the rates of lines of the real dd, from bytes to hundreds of megabytes a second.
func TestRatesAreCoreutils(t *testing.T) {
	last := regexp.MustCompile(`(?m)^(\d+) bytes? .*copied, ([0-9.e-]+) s, .*$`)
	decimals := 0
	compare := func(cmd *exec.Cmd) {
		t.Helper()
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		m := last.FindStringSubmatch(string(out))
		if err != nil || m == nil {
			t.Fatalf("dd: %v: %s", err, out)
		}
		bytes, err := strconv.ParseInt(m[1], 10, 64)
		secs, err2 := strconv.ParseFloat(m[2], 64)
		if err != nil || err2 != nil {
			t.Fatal(m, err, err2)
		}
		if got := summary(bytes, time.Duration(math.Round(secs*1e9)), false); got != m[0] {
			t.Errorf("%q, dd prints %q", got, m[0])
		}
		if regexp.MustCompile(`\d\d\.\d .B/s$`).MatchString(m[0]) {
			decimals++
		}
	}
	for bs := 1; bs <= 4096; bs = bs*3/2 + 1 {
		compare(exec.Command("dd", "if=/dev/zero", "of=/dev/null", fmt.Sprintf("bs=%d", bs), "count=20000"))
	}
	if decimals == 0 {
		t.Error("no rate from 10 to 100 was met")
	}
	for _, n := range []int{1, 30, 4000} { // Some bytes, tens and thousands a second.
		cmd := exec.Command("dd", "of=/dev/null")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(150*time.Millisecond, func() {
			_, _ = in.Write(make([]byte, n))
			in.Close()
		})
		compare(cmd)
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
		{820000000, 18224800001, false, "820000000 bytes (820 MB, 782 MiB) copied, 18.2248 s, 45.0 MB/s"}, // What dd 9.1 printed.
		{153000001, 1000000001, false, "153000001 bytes (153 MB, 146 MiB) copied, 1 s, 153 MB/s"},
		{99960000, 1000000001, false, "99960000 bytes (100 MB, 95 MiB) copied, 1 s, 100 MB/s"},
		{999960000, 1000000001, false, "999960000 bytes (1.0 GB, 954 MiB) copied, 1 s, 1000 MB/s"},
		{1, 300000001, false, "1 byte copied, 0.3 s, 0.0 kB/s"},
		{512, 0, false, "512 bytes copied, 0 s, Infinity B/s"},
		{1 << 30, 3 * time.Second, true, "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 3 s, 358 MB/s"},
	} {
		if got := summary(c.bytes, c.d, c.prog); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

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

// TestProgress: a line a second, over the one before, and none if the copy takes less; as dd itself.
func TestProgress(t *testing.T) {
	line := func(bs, count string) []string {
		return []string{"if=/dev/zero", "of=f", bs, count, "status=progress"}
	}
	plimsoll := func(bs, count string) (string, time.Duration) {
		out, s, err := run(t, t.TempDir(), line(bs, count)...)
		if err != nil {
			t.Fatal(err)
		}
		return out, s.Results[0].Elapsed
	}
	took := regexp.MustCompile(`copied, ([0-9.e-]+) s, [^\r\n]*\n$`)
	dd := func(bs, count string) (string, time.Duration) {
		cmd := exec.Command("dd", line(bs, count)...)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("dd: %v: %s", err, out)
		}
		m := took.FindSubmatch(out)
		if m == nil {
			t.Fatalf("dd prints %q, want its time", out)
		}
		seconds, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		return string(out), time.Duration(seconds * float64(time.Second))
	}
	inPlace := regexp.MustCompile(`^(\r\d+ bytes \(.*\) copied, \d+ s, [0-9.]+ [kM]B/s *)+\n\d`)
	check := func(name, text string, lines bool) {
		if inPlace.MatchString(text) != lines {
			t.Errorf("%s prints %q, lines of progress: want %t", name, text, lines)
		}
		if strings.Count(text, "\n") > 4 {
			t.Errorf("%s prints progress in lines of its own: %q", name, text)
		}
	}
	ours, _ := plimsoll("bs=4K", "count=16")
	check("plimsoll", ours, false)
	theirs, _ := dd("bs=4K", "count=16")
	check("dd", theirs, false)
	// long copies as many bytes as take the program more than a second here.
	long := func(program func(bs, count string) (string, time.Duration)) (string, time.Duration) {
		for count := 200_000; ; count *= 2 {
			if out, elapsed := program("bs=1", fmt.Sprintf("count=%d", count)); elapsed >= 1200*time.Millisecond {
				return out, elapsed
			}
		}
	}
	ours, elapsed := long(plimsoll)
	check("plimsoll", ours, true)
	if n := strings.Count(ours, "\r"); time.Duration(n) != elapsed/time.Second {
		t.Errorf("%d lines of progress in %v", n, elapsed)
	}
	theirs, _ = long(dd)
	check("dd", theirs, true)
	var w bytes.Buffer
	p := progress{w: &w, lines: true, next: time.Second}
	for _, s := range []load.Sample{{At: time.Second, Bytes: 123456789}, {At: 2 * time.Second, Bytes: 1 << 30}, {At: 2500 * time.Millisecond, Bytes: 1}} {
		p.sample(s)
	}
	p.end()
	want := "\r123456789 bytes (123 MB, 118 MiB) copied, 1 s, 123 MB/s\r1197198613 bytes (1.2 GB, 1.1 GiB) copied, 2 s, 599 MB/s\n"
	if w.String() != want {
		t.Errorf("%q, want %q", w.String(), want)
	}
}

// TestUSR1 asks for the lines in the middle, as published recipes ask dd.
func TestUSR1(t *testing.T) {
	dir, done := t.TempDir(), make(chan struct{})
	go func() {
		defer close(done)
		for st, err := os.Stat(filepath.Join(dir, "f")); err != nil || st.Size() == 0; st, err = os.Stat(filepath.Join(dir, "f")) {
			time.Sleep(time.Millisecond)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			t.Error(err)
		}
	}()
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGUSR1) // However soon the line ends.
	defer signal.Stop(ignored)
	got, _, err := run(t, dir, "if=/dev/zero", "of=f", "bs=1", "count=800000")
	<-done
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?m)^(\d+)\+0 records in\n(\d+)\+0 records out\n(\d+) bytes \(.*\) copied, [0-9.]+ s, .*/s$`).FindAllStringSubmatch(got, -1); len(m) != 2 || m[0][1] != m[0][3] || m[1][3] != "800000" {
		t.Errorf("%q, want dd's lines twice", got)
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
