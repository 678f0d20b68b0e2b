package dd

import (
	"bytes"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plimsoll/load"
)

var seconds = regexp.MustCompile(`copied, ([0-9.e+-]+) s`)

// TestInputIsPartOfTheTime: dd reads its input while its clock runs, and so does a line: its time is all of it, with the part at
// /dev/urandom. What the storage did alone is said beside it.
func TestInputIsPartOfTheTime(t *testing.T) {
	var said bytes.Buffer
	s, err := runTo(t, &said, t.TempDir(), strings.Fields("if=/dev/urandom of=f bs=1M count=64")...)
	if err != nil {
		t.Fatal(err)
	}
	res, ours := s.Results[0], said.String()
	if at := res.Stage[0].AtPeer; at <= 0 || at >= res.Elapsed {
		t.Errorf("%v at /dev/urandom, of %v", at, res.Elapsed)
	}
	if !strings.HasPrefix(ours, "plimsoll: reading /dev/urandom took ") || !strings.Contains(ours, "; the storage alone did ") {
		t.Errorf("the storage's own speed isn't said: %q", ours)
	}
	m := seconds.FindStringSubmatch(ours)
	if m == nil {
		t.Fatalf("no time in %q", ours)
	}
	took, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	if whole := res.Elapsed.Seconds(); math.Abs(took/whole-1) > 0.01 {
		t.Errorf("the line says %v s, and all of it took %v s", took, whole)
	}
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
