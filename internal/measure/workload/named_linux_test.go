package workload

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// prepare prepares a workload that has to be prepared, and closes it at the test's end.
func prepare(t *testing.T, spec Spec, dir string) Runner {
	t.Helper()
	r, err := Prepare(t.Context(), spec, Folders{Work: dir})
	if err != nil {
		t.Fatalf("Prepare(%+v) = %v", spec, err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// names lists the files under dir.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var ns []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			ns = append(ns, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// checkClasses compares names, operations and bytes, and that every operation is in its histogram.
func checkClasses(t *testing.T, r *Result, want ...load.Class) {
	t.Helper()
	if len(r.Classes) != len(want) {
		t.Fatalf("%d classes, want %d", len(r.Classes), len(want))
	}
	for i, c := range r.Classes {
		if w := want[i]; c.Name != w.Name || c.Ops != w.Ops || c.Bytes != w.Bytes {
			t.Errorf("class %s: %d operations, %d bytes, want %s: %d, %d", c.Name, c.Ops, c.Bytes, w.Name, w.Ops, w.Bytes)
		}
		if c.Lat == nil || int64(c.Lat.Count()) != c.Ops+c.InFlight {
			t.Errorf("class %s: the histogram doesn't hold all %d operations", c.Name, c.Ops)
		}
	}
	if r.Elapsed <= 0 || r.Start.IsZero() || r.IOEngine != Syscalls {
		t.Errorf("window %v from %v by %s", r.Elapsed, r.Start, r.IOEngine)
	}
}

// checkSamples compares the result's samples with those reported during the job, and checks that they add up to ops and bytes.
func checkSamples(t *testing.T, r *Result, told []load.Sample, ops, bytes int64) {
	t.Helper()
	if !slices.Equal(r.Samples, told) {
		t.Errorf("told %v, kept %v", told, r.Samples)
	}
	for _, s := range told {
		ops -= s.Ops
		bytes -= s.Bytes
	}
	if ops != 0 || bytes != 0 {
		t.Errorf("the samples lack %d operations and %d bytes", ops, bytes)
	}
}

func TestAppend(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "append.log")
	// An earlier trial's leftovers don't count.
	if err := os.WriteFile(log, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := prepare(t, Spec{Kind: Append, Count: 37, BS: 10}, dir)
	var told []load.Sample
	res, err := r.Run(t.Context(), func(s load.Sample) { told = append(told, s) })
	if err != nil {
		t.Fatal(err)
	}
	checkClasses(t, res, load.Class{Name: "append", Ops: 37, Bytes: 370})
	checkSamples(t, res, told, 37, 370)
	b, err := os.ReadFile(log)
	if err != nil || len(b) != 370 || string(b[:10]) != "abcdefghi\n" {
		t.Errorf("the file holds %d bytes, begins %.10q, %v", len(b), b, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("Close left %v", left)
	}
}

func TestAppendRuntime(t *testing.T) {
	res, err := prepare(t, Spec{Kind: Append, Runtime: 10 * time.Millisecond, Count: 1}, t.TempDir()).Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Elapsed < 10*time.Millisecond || res.Ops() < 1 {
		t.Errorf("%d appends in %v, want the whole 10ms", res.Ops(), res.Elapsed)
	}
}

func TestWAL(t *testing.T) {
	dir := t.TempDir()
	r := prepare(t, Spec{Kind: WAL, Count: 21, BS: 100, Runtime: time.Hour}, dir)
	var told []load.Sample
	res, err := r.Run(t.Context(), func(s load.Sample) { told = append(told, s) })
	if err != nil {
		t.Fatal(err)
	}
	checkClasses(t, res, load.Class{Name: "commit", Ops: 21, Bytes: 2100}, load.Class{Name: "write", Ops: 21, Bytes: 2100}, load.Class{Name: "sync", Ops: 21})
	checkSamples(t, res, told, 21, 2100)
	if st, err := os.Stat(filepath.Join(dir, "wal.log")); err != nil || st.Size() != 2100 {
		t.Errorf("the log: %v, %v", st, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("Close left %v", left)
	}
}

// TestWALWrap: the log begins anew at the end of its segment, and never grows
// past it.
func TestWALWrap(t *testing.T) {
	for _, row := range []struct {
		bs, at, size, next int64
		count              int
	}{
		{MaxBS, 0, segment, segment, 2},                // A record that fills the segment.
		{1000, segment - 1500, segment - 500, 1000, 2}, // The second doesn't fit.
		{1000, segment - 2000, segment, segment, 2},    // Both fit exactly.
		{1000, segment - 2000, segment, 1000, 3},       // The third begins anew.
		{MaxBS - 1, 0, MaxBS - 1, MaxBS - 1, 2},        // Nearly a segment each.
		{100, segment - 100, segment, segment, 1},      // The last that fits.
		{100, segment - 99, 100, 100, 1},               // The first that doesn't.
	} {
		dir := t.TempDir()
		r := prepare(t, Spec{Kind: WAL, Count: row.count, BS: row.bs, Runtime: time.Hour}, dir)
		w := r.(*walRun)
		w.at = row.at
		if _, err := r.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(w.path)
		if err != nil || st.Size() != row.size || w.at != row.next {
			t.Errorf("%d of %d bytes from %d: the log has %d bytes and goes on at %d, want %d and %d (%v)", row.count, row.bs, row.at, st.Size(), w.at, row.size, row.next, err)
		}
		r.Close()
	}
}

func TestTree(t *testing.T) {
	dir := t.TempDir()
	spec := Spec{Kind: Tree, Count: 2*perFolder + 1, BS: 100}
	r := prepare(t, spec, dir)
	sources := names(t, dir)
	if len(sources) != spec.Count+1 {
		t.Fatalf("%d files are laid out, want %d and the mark", len(sources), spec.Count)
	}
	var told []load.Sample
	res, err := r.Run(t.Context(), func(s load.Sample) { told = append(told, s) })
	if err != nil {
		t.Fatal(err)
	}
	n := int64(spec.Count)
	bytes := treeBytes(t, filepath.Join(dir, "tree", "src-81-100"))
	checkClasses(t, res, load.Class{Name: "file", Ops: n}, load.Class{Name: "stat", Ops: n},
		load.Class{Name: "read", Ops: n, Bytes: bytes}, load.Class{Name: "write", Ops: n, Bytes: bytes})
	checkSamples(t, res, told, n, 2*bytes)
	if out := treeBytes(t, filepath.Join(dir, "tree", "out")); out != bytes {
		t.Errorf("%d bytes were written of %d", out, bytes)
	}
	if res.Prepared <= 0 {
		t.Error("the layout took no time")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); !slices.Equal(left, sources) {
		t.Errorf("Close left %d files, want the %d sources", len(left), len(sources))
	}
	again := prepare(t, spec, dir)
	if res, err = again.Run(t.Context(), nil); err != nil || res.Prepared != 0 {
		t.Errorf("the second trial: layout %v, %v; want none", res.Prepared, err)
	}
}

// treeBytes sums the sizes of files.
func treeBytes(t *testing.T, dir string) (sum int64) {
	t.Helper()
	for _, n := range names(t, dir) {
		st, err := os.Stat(filepath.Join(dir, n))
		if err != nil {
			t.Fatal(err)
		}
		sum += st.Size()
	}
	return sum
}

// TestTreeBroken: sources are made again if their layout was interrupted.
func TestTreeBroken(t *testing.T) {
	dir := t.TempDir()
	spec := Spec{Kind: Tree, Count: 5, BS: 100}
	stray := filepath.Join(dir, "tree", "src-5-100", "d000", "stray")
	if err := os.MkdirAll(filepath.Dir(stray), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stray, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	prepare(t, spec, dir)
	if left := names(t, filepath.Join(dir, "tree", "src-5-100")); len(left) != 5 {
		t.Errorf("sources: %v, want 5", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Prepare(ctx, Spec{Kind: Tree, Count: 6, BS: 100}, Folders{Work: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("Prepare with a context that is over = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "tree", "src-6-100")); !os.IsNotExist(err) {
		t.Errorf("a layout that was broken off is still there: %v", err)
	}
}

// TestCancelled: a workload that is stopped says how far it got.
func TestCancelled(t *testing.T) {
	for _, spec := range []Spec{
		{Kind: Append, Count: 100},
		{Kind: WAL, Runtime: time.Hour},
		{Kind: Tree, Count: 3, BS: 100, Runtime: time.Hour},
		{Kind: Block, Job: load.Job{RW: load.RandRead, Size: 1 << 20, Runtime: time.Hour, IOEngine: load.PSync}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		r := prepare(t, spec, t.TempDir())
		cancel()
		_, err := r.Run(ctx, nil)
		var p *PartialError
		if !errors.As(err, &p) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Run = %v, want a PartialError of the cancel", spec.Kind, err)
		}
	}
}

// TestNoSpace: a full disk is an error with its number and how far it got.
func TestNoSpace(t *testing.T) {
	for _, row := range []struct {
		spec  Spec
		least int64 // operations that fit
	}{
		{Spec{Kind: Append, Count: 1000, BS: 64 << 10}, 8},
		{Spec{Kind: WAL, BS: 64 << 10, Runtime: time.Hour}, 8},
		{Spec{Kind: Tree, Count: 40, BS: 16 << 10, Runtime: time.Hour}, 1},
	} {
		dir := disktest.Tmpfs(t, "size=1m")
		r := prepare(t, row.spec, dir)
		res, err := r.Run(t.Context(), nil)
		var p *PartialError
		if !errors.As(err, &p) || !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: Run = %v, %v, want a PartialError of ENOSPC", row.spec.Kind, res, err)
			continue
		}
		if p.Done.Ops < row.least || p.Done.Bytes <= 0 || p.Done.At <= 0 {
			t.Errorf("%s: got as far as %+v, want at least %d operations", row.spec.Kind, p.Done, row.least)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s: Close() = %v", row.spec.Kind, err)
		}
	}
	if _, err := Prepare(t.Context(), Spec{Kind: Tree, Count: 400, BS: 16 << 10}, Folders{Work: disktest.Tmpfs(t, "size=1m")}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Prepare on a small disk = %v, want ENOSPC", err)
	}
}

// TestBlock: jobs of one size share a file, and doubts of the generator are kept.
func TestBlock(t *testing.T) {
	dir := t.TempDir()
	spec := Spec{Kind: Block, Job: load.Job{RW: load.RandRead, BS: 4096, IODepth: 2, Size: 1 << 20, NumberIOs: 16, IOEngine: load.LinuxAIO}}
	for i := range 2 {
		r := prepare(t, spec, dir)
		res, err := r.Run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.Ops() != 16 || res.File.Size != 1<<20 {
			t.Errorf("%d operations on %d bytes", res.Ops(), res.File.Size)
		}
		if len(res.Notes) == 0 {
			t.Error("no note that buffered linux-aio is not asynchronous")
		}
		if reused := res.File.FirstTouch == 0; reused != (i == 1) {
			t.Errorf("trial %d: first touch %v", i, res.File.FirstTouch)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("files: %v, want the one", left)
	}
}
