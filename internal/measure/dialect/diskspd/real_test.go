package diskspd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/load"
)

// TestSharedThreads: with -F each thread has a row for each target.
func TestSharedThreads(t *testing.T) {
	t.Parallel()
	out, _, s := runLine(t, tempDir(t), "-F3", "-r", "-b4K", "-d1", "-W0", "-o1", "-c1M", "a", "b")
	total, _, _ := strings.Cut(out[strings.Index(out, "Total IO"):], "Read IO")
	at := 0
	for _, row := range []string{"     0 | ", "     0 | ", "     1 | ", "     1 | ", "     2 | ", "     2 | ", "total:   "} {
		i := strings.Index(total[at:], "\n"+row)
		if i < 0 {
			t.Fatalf("no row %q behind the others in\n%s", row, total)
		}
		at += i + 1
	}
	texttest.Has(t, out, []string{"thread pool with 3 threads\n", "thread count:\t\t3\n", " | a (1MiB)\n", " | b (1MiB)\n"})
	for _, st := range s.Results[0].Stage {
		if len(st.Jobs) != 3 || st.Ops() == 0 {
			t.Errorf("%s: %d threads, %d I/Os", st.Name, len(st.Jobs), st.Ops())
		}
	}
}

// TestPool: with -F and -O each I/O of a thread goes to any of the targets, and the rows say to which.
func TestPool(t *testing.T) {
	t.Parallel()
	out, _, s := runLine(t, tempDir(t), "-F2", "-O4", "-r", "-b4K", "-d1", "-W0", "-w30", "-L", "-c1M", "a", "b")
	total, _, _ := strings.Cut(out[strings.Index(out, "Total IO"):], "Read IO")
	for _, row := range []string{"\n     0 |", "\n     1 |"} {
		if strings.Count(total, row) != 2 {
			t.Errorf("%q is not there twice in\n%s", row, total)
		}
	}
	texttest.Has(t, out, []string{"thread count:\t\t2\n", "request count:\t\t4\n", " | a (1MiB)\n", " | b (1MiB)\n"})
	if len(s.Stages[0]) != 1 {
		t.Fatalf("%d jobs", len(s.Stages[0]))
	}
	st := s.Results[0].Stage[0]
	if all := sum(total); all != st.Ops() || all == 0 {
		t.Errorf("the rows have %d I/Os, the run %d", all, st.Ops())
	}
}

// sum adds up the I/Os of a table's rows.
func sum(table string) (n int64) {
	for line := range strings.Lines(table) {
		f := strings.Split(line, "|")
		if _, err := strconv.Atoi(strings.TrimSpace(f[0])); err != nil || len(f) < 3 {
			continue
		}
		k, _ := strconv.ParseInt(strings.TrimSpace(f[2]), 10, 64)
		n += k
	}
	return n
}

// TestMapped: -Sm is done by a mapping, and what it writes is there.
func TestMapped(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has mappings here")
	}
	dir := tempDir(t)
	out, _, s := runLine(t, dir, "-Sm", "-Nv", "-Z", "-w100", "-b4K", "-d1", "-W0", "-c64K", "f")
	p, err := os.ReadFile(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	if st := s.Results[0].Stage[0]; st.Engine != load.MMap || st.Ops() == 0 {
		t.Errorf("%d I/Os by %s, want some by %s", st.Ops(), st.Engine, load.MMap)
	}
	if n := bytes.Count(p, []byte{0}); n != 64<<10 {
		t.Errorf("%d bytes are 0, want %d; the file begins with %x", n, 64<<10, p[:16])
	}
	texttest.Has(t, out, []string{"memory mapped I/O enabled"})
}

// TestParallel: -p is done, and said.
func TestParallel(t *testing.T) {
	t.Parallel()
	out, _, s := runLine(t, tempDir(t), "-p", "-o4", "-b4K", "-d1", "-W0", "-c1M", "f")
	if st := s.Results[0].Stage[0]; !st.Job.Parallel || st.Ops() < 100 || !strings.Contains(out, "\t\tusing parallel async I/O\n") {
		t.Errorf("%+v did %d I/Os:\n%s", st.Job, st.Ops(), out)
	}
}

// TestWritesAreDiskspds: what is written by default is 0, 1, 2, ..., with -Z zeros, and with -Zr nothing
// that repeats; and the threads of -T share the range.
func TestWritesAreDiskspds(t *testing.T) {
	t.Parallel()
	for option, check := range map[string]func(p []byte) bool{
		"-Rtext": func(p []byte) bool { return bytes.Equal(p, bytes.Repeat(bytePattern, len(p)/256)) },
		"-Z":     func(p []byte) bool { return bytes.Count(p, []byte{0}) == len(p) },
		"-Zr":    func(p []byte) bool { return bytes.Count(p, []byte{0}) < len(p)/100 },
	} {
		dir := tempDir(t)
		runLine(t, dir, option, "-w100", "-t2", "-T128K", "-b4K", "-d1", "-W0", "-c256K", "f")
		p, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil {
			t.Fatal(err)
		}
		if len(p) != 256<<10 || !check(p) {
			t.Errorf("%s: %d bytes that begin with %x", option, len(p), p[:32])
		}
	}
}

// TestWritesOfAFile: what -Z<size>,<file> writes is the beginning of that file, over and over, on each of two targets.
func TestWritesOfAFile(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	source := filepath.Join(dir, "source")
	text := strings.Repeat("what a file holds ", 1000)
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for size, content := range map[string]string{"10000b": "", "8K": text[:8192], "1G": text} {
		line := []string{"-Z" + size + "," + source, "-w100", "-b4K", "-d1", "-W0", "-c256K", "f" + size, "g" + size}
		if content == "" { // In blocks of -b: all of the file too.
			content = text
		}
		out, _, s := runLine(t, dir, line...)
		if !strings.Contains(out, "write buffer source: '"+source+"'") {
			t.Errorf("%s: the report doesn't name the source:\n%s", size, out)
		}
		if job := s.Results[0].Stage[1].Job; job.Data != load.DataSource || string(job.Pattern) != content {
			t.Errorf("%s: the job writes %s of %d bytes, want %d", size, job.Data, len(job.Pattern), len(content))
		}
		blocks := strings.Repeat(content, 2)
		for _, name := range []string{"f", "g"} {
			p, err := os.ReadFile(filepath.Join(dir, name+size))
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for at := 0; at < len(p); at += 4096 {
				seen[string(p[at:at+4096])] = true
				if !strings.Contains(blocks, string(p[at:at+4096])) {
					t.Fatalf("%s%s: at %d is nothing of the source: %.40q", name, size, at, p[at:])
				}
			}
			if len(seen) < 2 {
				t.Errorf("%s%s: all blocks are alike", name, size)
			}
		}
	}
}

// TestSpans: several time spans of a profile run one after the other, and are added up.
func TestSpans(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	span := "<TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target><Path>*1</Path><BlockSize>4096</BlockSize><FileSize>1048576</FileSize></Target></Targets></TimeSpan>"
	profile := filepath.Join(dir, "p.xml")
	if err := os.WriteFile(profile, []byte("<Profile><TimeSpans>"+span+span+"</TimeSpans></Profile>"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, s := runLine(t, dir, "-X"+profile, "f")
	if len(s.Results) != 2 || !strings.Contains(out, "Results for timespan 2:") || !strings.Contains(out, "\ntotal test time:\t2.00s\n") {
		t.Errorf("%d stages:\n%s", len(s.Results), out)
	}
}

// TestBandwidthOfALimit: a limit of bytes per millisecond is one of each thread.
func TestBandwidthOfALimit(t *testing.T) {
	t.Parallel()
	_, _, s := runLine(t, tempDir(t), "-g400", "-t2", "-r", "-b4K", "-d1", "-W0", "-c1M", "f")
	st := s.Results[0].Stage[0]
	for i, j := range st.Jobs {
		// 400 bytes a millisecond are 97.7 blocks a second.
		if n := j.Classes[0].Ops; n == 0 || n > 99 {
			t.Errorf("thread %d did %d I/Os, want about 97", i, n)
		}
	}
	// I/Os that a busy machine could not begin in time count as missed.
	if n := st.Ops() + st.Missed + st.InFlight(); n < 192 || n > 198 {
		t.Errorf("%d I/Os of both threads were done, %d missed and %d unfinished, want 195 in all", st.Ops(), st.Missed, st.InFlight())
	}
}

// TestForeignFilesAreSpared: a test that writes refuses a file that isn't Plimsoll's.
func TestForeignFilesAreSpared(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	if err := os.WriteFile(filepath.Join(dir, "f"), bytes.Repeat([]byte("precious "), 1<<17), 0o600); err != nil {
		t.Fatal(err)
	}
	test, err := Parse(strings.Fields("-w50 -b4K -d1 -W0 f"), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(opt RunOptions) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		var out, errs bytes.Buffer
		err := test.Run(ctx, &dialecttest.Local{Dir: dir}, opt, &out, &errs)
		return out.String(), err
	}
	out, err := run(RunOptions{})
	var over *workload.OverwriteError
	if !errors.As(err, &over) || out != "" {
		t.Errorf("%v, and %q is printed", err, out)
	}
	if _, err := run(RunOptions{Destructive: []string{"f"}}); err != nil {
		t.Error(err)
	}
}
