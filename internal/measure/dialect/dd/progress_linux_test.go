package dd

import (
	"bytes"
	"fmt"
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

	"plimsoll/load"
)

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
