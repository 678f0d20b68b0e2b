package dd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"plimsoll/load"
)

var seconds = regexp.MustCompile(`copied, ([0-9.e+-]+) s`)

// TestInputIsPartOfTheTime: a line takes as long as dd's, which reads its input while its clock runs; random numbers take longer than a
// file in memory. Each was a tenth of dd's time, as the data was made before. What the storage did alone is said beside it.
func TestInputIsPartOfTheTime(t *testing.T) {
	dir := t.TempDir()
	args := strings.Fields("if=/dev/urandom of=f bs=1M count=64")
	took := func(text string) (s float64) {
		m := seconds.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no time in %q", text)
		}
		fmt.Sscan(m[1], &s)
		return s
	}
	var ratio float64
	for range 3 {
		var ratios []float64
		for range 5 {
			cmd := exec.Command("dd", args...)
			cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "LC_ALL=C")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("dd: %v: %s", err, out)
			}
			os.Remove(filepath.Join(dir, "f"))
			var said bytes.Buffer
			s, err := runTo(t, &said, dir, args...)
			if err != nil {
				t.Fatal(err)
			}
			ours := said.String()
			res := s.Results[0]
			if at := res.Stage[0].AtPeer; at <= 0 || at >= res.Elapsed {
				t.Errorf("%v at /dev/urandom, of %v", at, res.Elapsed)
			}
			if !strings.HasPrefix(ours, "plimsoll: reading /dev/urandom took ") || !strings.Contains(ours, "; the storage alone did ") {
				t.Errorf("the storage's own speed isn't said: %q", ours)
			}
			ratios = append(ratios, took(ours)/took(string(out)))
		}
		slices.Sort(ratios)
		if ratio = ratios[2]; ratio > 0.5 && ratio < 2 {
			return
		}
	}
	t.Errorf("a line takes %.2f of dd's time, want about 1", ratio)
}

// TestInputIsWritten: the file holds the bytes of the input: zeros, or random blocks that all differ.
func TestInputIsWritten(t *testing.T) {
	dir := t.TempDir()
	for _, in := range []string{load.PeerZero, load.PeerRandom} {
		os.Remove(filepath.Join(dir, "f"))
		if _, _, err := run(t, dir, "if="+in, "of=f", "bs=4K", "count=16"); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil || len(b) != 64<<10 {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		blocks := map[string]bool{}
		for at := 0; at < len(b); at += 4096 {
			blocks[string(b[at:at+4096])] = true
		}
		if zeros := blocks[string(make([]byte, 4096))]; zeros != (in == load.PeerZero) || len(blocks) != map[string]int{load.PeerZero: 1, load.PeerRandom: 16}[in] {
			t.Errorf("%s: %d different blocks, zeros %t", in, len(blocks), zeros)
		}
	}
}

// TestLieFirstTouch: the kernel gives a buffer its memory when it is first used, which takes most of the time of a line with one large block.
// dd waits for that, both reading and writing; the memory was given before the clock ran, and a file in the page cache was read ten times as fast.
func TestLieFirstTouch(t *testing.T) {
	theirs, ours := t.TempDir(), t.TempDir()
	for _, line := range []string{"if=/dev/zero of=f bs=64M count=1", "if=f of=/dev/null bs=64M"} {
		args := strings.Fields(line)
		cmd := exec.Command("dd", args...)
		cmd.Dir = theirs
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("dd: %v: %s", err, out)
		}
		want := cmd.ProcessState.SysUsage().(*syscall.Rusage).Minflt
		s, err := runTo(t, io.Discard, ours, args...)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Results[0].Stage[0].Threads.MinorFaults; got < want/2 || got > 2*want {
			t.Errorf("%s: %d page faults, dd has %d", line, got, want)
		}
	}
}
