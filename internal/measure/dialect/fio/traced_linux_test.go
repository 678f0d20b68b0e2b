package fio

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tracedLine is the environment's line for TestTracedLine, in JSON.
const tracedLine = "PLIMSOLL_TRACED_FIO"

// TestTracedLine runs a line in a process of its own, which strace looks at.
func TestTracedLine(t *testing.T) {
	line := os.Getenv(tracedLine)
	if line == "" {
		return // The test that needs it starts it.
	}
	var args []string
	if err := json.Unmarshal([]byte(line), &args); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, args...)
}

// tracedIO is a system call on a file of a job.
type tracedIO struct {
	what         string // read, write or sync
	offset, size int64
}

var tracedCall = regexp.MustCompile(`^\d+ +(pread64|pwrite64|fsync)\(\d+<([^>]*)>(?:,.*, (\d+), (\d+)\))?`)

// unfinishedCall and resumedCall are the halves of a call that another thread's came between.
var (
	unfinishedCall = regexp.MustCompile(`^(\d+) +(.*?) *<unfinished \.\.\.>$`)
	resumedCall    = regexp.MustCompile(`^(\d+) +<\.\.\. \w+ resumed>(.*)$`)
)

// traced returns what a command does to the files in dir, in its order. The command's threads take turns.
func traced(t *testing.T, dir string, env []string, command ...string) (all []tracedIO) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	c := exec.Command("strace", append([]string{"-f", "-y", "-s0", "-o", log, "-e", "trace=pread64,pwrite64,fsync"}, command...)...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("strace %s: %v\n%s", command, err, out)
	}
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	begun := map[string]string{} // by thread
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if m := unfinishedCall.FindStringSubmatch(line); m != nil {
			begun[m[1]] = m[1] + " " + m[2]
			continue
		}
		if m := resumedCall.FindStringSubmatch(line); m != nil {
			line = begun[m[1]] + m[2]
		}
		m := tracedCall.FindStringSubmatch(line)
		if m == nil || m[1] != "fsync" && m[4] == "" || !strings.HasPrefix(m[2], dir) {
			continue
		}
		size, _ := strconv.ParseInt(m[3], 10, 64)
		offset, _ := strconv.ParseInt(m[4], 10, 64)
		all = append(all, tracedIO{map[string]string{"pread64": "read", "pwrite64": "write", "fsync": "sync"}[m[1]], offset, size})
	}
	return all
}

// TestSystemCallsAreFios: lines that did other I/O than fio does, or that might, beside an installed fio. What is said of the calls is the
// same of both: offsets are drawn by other numbers.
func TestSystemCallsAreFios(t *testing.T) {
	t.Parallel()
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Fatalf("%v: run scripts/setup test", err)
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatalf("%v: run scripts/setup test", err)
	}
	const mib = 1 << 20
	blocks := func(all []tracedIO) []tracedIO {
		return slices.DeleteFunc(slices.Clone(all), func(o tracedIO) bool { return o.what == "sync" })
	}
	// runs reports whether runs of 8 go on, but where the region ends, and others don't.
	runs := func(all []tracedIO) string {
		goOn, jumps, aligned := true, 0, true
		all = blocks(all)
		for i, o := range all {
			aligned = aligned && o.offset%o.size == 0
			if i == 0 {
				continue
			}
			end := all[i-1].offset + all[i-1].size
			if i%8 > 0 {
				goOn = goOn && (o.offset == end || end == mib)
			} else if o.offset != end {
				jumps++
			}
		}
		return fmt.Sprintf("runs go on %v, and jump between them %v, aligned %v", goOn, jumps > len(all)/16, aligned)
	}
	total := func(all []tracedIO) string {
		n, end := int64(0), int64(0)
		for _, o := range blocks(all) {
			n, end = n+o.size, max(end, o.offset+o.size)
		}
		return fmt.Sprintf("%d bytes up to %d", n, end)
	}
	sizes := func(all []tracedIO) string {
		seen := map[string]bool{}
		for _, o := range blocks(all) {
			seen[fmt.Sprintf("%s of %d", o.what, o.size)] = true
		}
		return fmt.Sprint(seen)
	}
	// places are the offsets modulo 64 KiB, and whether one came twice.
	places := func(all []tracedIO) string {
		seen, mod := map[int64]int{}, map[int64]bool{}
		for _, o := range blocks(all) {
			seen[o.offset]++
			mod[o.offset%65536] = true
		}
		twice := false
		for _, n := range seen {
			twice = twice || n > 1
		}
		return fmt.Sprintf("%d places, twice %v", len(mod), twice)
	}
	// syncs says what follows an I/O, from the first write on.
	syncs := func(all []tracedIO) string {
		first := slices.IndexFunc(all, func(o tracedIO) bool { return o.what == "write" })
		last := len(all) - 1 // After the last write fio does none.
		for last > first && all[last].what == "sync" {
			last--
		}
		after := map[string]map[bool]bool{"read": {}, "write": {}}
		for i := first; i < last; i++ {
			if what := all[i].what; what != "sync" {
				after[what][all[i+1].what == "sync"] = true
			}
		}
		return fmt.Sprint(after)
	}
	list := func(all []tracedIO) string { return fmt.Sprint(blocks(all)) }
	// drawn says whether sizes are any from 4 KiB to 16 KiB.
	drawn := func(all []tracedIO) string {
		seen, odd, outside := map[int64]bool{}, false, false
		for _, o := range blocks(all) {
			seen[o.size] = true
			odd, outside = odd || o.size%512 != 0, outside || o.size < 4096 || o.size > 16384
		}
		return fmt.Sprintf("many sizes %t, odd ones %t, others %t", len(seen) > 20, odd, outside)
	}
	for _, c := range []struct {
		line string
		say  func([]tracedIO) string
	}{
		{"--rw=read --size=1m --bsrange=4k-16k --bs_unaligned", drawn},
		{"--rw=randread --size=1m --blocksize_unaligned=1 --bsrange=4k-16k --norandommap", drawn},
		{"--rw=randread --size=1m --bssplit=4k/50:16k/50 --bs_unaligned --norandommap", sizes},
		{"--rw=write --size=1m --bs=8k,16k --bs_is_seq_rand=1", sizes},
		{"--rw=randread --size=1m --bs=8k,16k --bs_is_seq_rand=1 --norandommap", sizes},
		{"--rw=randrw --size=1m --bssplit=4k/100,8k/50:16k/50 --bs_is_seq_rand=1", sizes},
		{"--rw=write --size=1m --bs=8k --lockfile=readwrite", total},
		{"--rw=read --size=1m --bs=16k --zonemode=strided --zonesize=64k --zoneskip=192k", list},
		{"--rw=write --size=1m --bs=16k --zonemode=strided --zonesize=128k --zonerange=64k --zoneskip=192k --loops=2", list},
		{"--rw=write --size=1m --bs=16k --zonemode=strided --zonesize=32k --zonerange=64k --zoneskip=64k", list},
		{"--rw=read --size=1m --bs=16k --zonemode=strided --zonesize=128k --zoneskip=200k", list}, // the end cuts a zone off
		{"--rw=read --size=928k --offset=96k --bs=16k --zonemode=strided --zonesize=64k --zoneskip=192k --io_size=2m", list},
		{"--rw=read --size=1m --bs=12k --zonemode=strided --zonesize=64k --zoneskip=192k", list},
		{"--rw=randread --size=1m --bs=16k --zonemode=strided --zonesize=256k --zoneskip=256k", total},
		{"--rw=randread:8 --size=1m", runs},
		{"--rw=randwrite:4 --size=1m --norandommap", total},
		{"--rw=randread --size=1m --ba=16k --io_size=4m", places},
		{"--rw=randread --size=1m --bs=64k --ba=4k --io_size=16m", places},
		{"--rw=randread --size=1m --bs=64k --ba=64k", places},
		{"--rw=randrw --size=1m --fsync=1", syncs},
		{"--rw=randrw --size=1m --fsync=3", syncs},
		{"--rw=write --size=1m --fsync=1", syncs},
		{"--rw=read --size=1m --bssplit=4k/30:64k/70", total},
		{"--rw=randread --size=1m --bssplit=4k/30:64k/70", total},
		{"--rw=write --size=1m --bsrange=4k-64k --loops=2", total},
		{"--rw=rw --size=1m --bs=,64k", sizes},
		{"--rw=rw --size=1m --bs=8k --bs=,64k", sizes},
		{"--rw=rw --size=1m --bs=8k --bs=16k,", sizes},
		{"--rw=read --size=4m --bs=1m", total}, // longer than the file of the line before
		{"--rw=randrw --size=1m --verify=crc32c --do_verify=0", sizes},
		{"--rw=read --size=1m --readonly", total},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--name=a", "--ioengine=psync"}, strings.Fields(c.line)...)
			before := []string{"--name=a", "--rw=read", "--size=1m", "--bs=1m"}
			ours, theirs := t.TempDir(), t.TempDir()
			peer(t, theirs, before...)
			run(t, ours, before...)
			line, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			a := c.say(traced(t, theirs, nil, append([]string{fio}, args...)...))
			all := traced(t, ours, []string{tracedLine + "=" + string(line)}, self, "-test.run=^TestTracedLine$", "-test.count=1")
			if begin := slices.IndexFunc(all, func(o tracedIO) bool { return o.what == "sync" }); begin >= 0 && strings.Contains(c.line, "size=4m --bs=1m") {
				all = all[begin:] // The file is laid out before, and synced.
			}
			if b := c.say(all); a != b {
				t.Errorf("fio: %s; here: %s", a, b)
			}
		})
	}
}
