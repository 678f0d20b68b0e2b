package load

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
)

func TestLayoutWritesIncompressibleUniqueData(t *testing.T) {
	for _, size := range []int64{1, 4096, 1<<20 + 777, 5 << 20} {
		path := filepath.Join(t.TempDir(), "f")
		res, err := Layout(context.Background(), path, size, LayoutOptions{})
		if err != nil {
			t.Fatalf("Layout(%d): %v", size, err)
		}
		data, err := os.ReadFile(path)
		if err != nil || int64(len(data)) != size {
			t.Fatalf("Layout(%d) made %d bytes, %v", size, len(data), err)
		}
		if size < 4096 {
			continue
		}
		if res.Reused || res.Rate <= 0 {
			t.Errorf("Layout(%d) = %+v, want it written", size, res)
		}
		wantFilled(t, res.Info)
		var out bytes.Buffer
		w, _ := flate.NewWriter(&out, flate.BestCompression)
		w.Write(data)
		w.Close()
		if int64(out.Len()) < size*99/100 {
			t.Errorf("%d bytes compress to %d", size, out.Len())
		}
		seen := map[string]bool{}
		for at := 0; at+4096 <= len(data); at += 4096 {
			if got := binary.LittleEndian.Uint64(data[at:]); got != uint64(at) {
				t.Errorf("unit at %d is stamped %d", at, got)
			}
			if s := string(data[at+16 : at+4096]); seen[s] {
				t.Errorf("unit at %d is a copy of another", at)
			} else {
				seen[s] = true
			}
		}
	}
}

// wantFilled fails unless all of a file is data that was written.
func wantFilled(t *testing.T, info FileInfo) {
	t.Helper()
	if info.HoleBytes > 0 || info.Unwritten > 0 {
		t.Errorf("a file with %d bytes of holes and %d unwritten extents, want none", info.HoleBytes, info.Unwritten)
	}
}

func TestLayoutReuse(t *testing.T) {
	path := written(t, 1<<20)
	stat := func() uint64 {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		return st.Ino
	}
	first := stat()
	res, err := Layout(context.Background(), path, 1<<20, LayoutOptions{Reuse: true})
	if err != nil {
		t.Fatal(err)
	}
	if !res.Reused || res.Rate != 0 {
		t.Errorf("complete file: %+v, want it reused", res)
	}
	if n := stat(); n != first {
		t.Errorf("complete file: inode %d, want %d", n, first)
	}
	// Another size, or a hole, means a new file.
	for _, spoil := range []func() error{
		func() error { return os.Truncate(path, 1<<19) },
		func() error { return errors.Join(os.Truncate(path, 1<<19), os.Truncate(path, 1<<20)) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		res, err = Layout(context.Background(), path, 1<<20, LayoutOptions{Reuse: true})
		if err != nil || res.Reused || res.Rate <= 0 {
			t.Errorf("incomplete file: %+v, %v", res, err)
		}
	}
}

func TestLayoutRefusesOthersFiles(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte("mine"), 0o600), os.Symlink(file, link), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, reuse := range map[string][]bool{file: {false}, link: {false, true}, pipe: {false, true}, dir: {false, true}} {
		for _, r := range reuse {
			var e *ExistsError
			if _, err := Layout(context.Background(), path, 4096, LayoutOptions{Reuse: r}); !errors.As(err, &e) || e.Path != path {
				t.Errorf("Layout(%s, reuse %v) = %v, want an *ExistsError", path, r, err)
			}
		}
	}
	if data, err := os.ReadFile(file); string(data) != "mine" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	for _, size := range []int64{0, -1} {
		if _, err := Layout(context.Background(), filepath.Join(dir, "new"), size, LayoutOptions{}); err == nil {
			t.Errorf("Layout of %d bytes was accepted", size)
		}
	}
}

// TestLayoutKeepsAnEmptyFile: an empty file is filled, and stays the file that it is: its mode and its links.
func TestLayoutKeepsAnEmptyFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(path, nil, 0o640), os.Chmod(path, 0o640), os.Link(path, link)); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, size int64) {
		t.Helper()
		for _, p := range []string{path, link} {
			st, err := os.Stat(p)
			if err != nil {
				t.Fatal(err)
			}
			if !os.SameFile(before, st) || st.Mode() != before.Mode() {
				t.Errorf("%s: %s is %+v, want the file that was there", what, p, st)
			}
			if st.Size() != size {
				t.Errorf("%s: %s has %d bytes, want %d", what, p, st.Size(), size)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Layout(ctx, path, 4<<20, LayoutOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Layout = %v, want context.Canceled", err)
	}
	check("after one that was broken off", 0)
	res, err := Layout(t.Context(), path, 1<<20+777, LayoutOptions{})
	if err != nil || res.Reused {
		t.Errorf("Layout = %+v, %v", res, err)
	}
	wantFilled(t, res.Info)
	check("after the layout", 1<<20+777)
	fresh, err := Layout(t.Context(), filepath.Join(dir, "fresh"), 1<<20+777, LayoutOptions{})
	if err != nil || fresh.Direct != res.Direct {
		t.Errorf("direct I/O is %v for a file that was there, %v for a new one, %v", res.Direct, fresh.Direct, err)
	}
}

// TestLayoutKeepsWhatItCannotOpen: also with Reuse a file that can't be opened stays. A program that runs is one, to root too.
func TestLayoutKeepsWhatItCannotOpen(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("needs a program")
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sleep")
	if err := os.WriteFile(path, program, 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, "60")
	if err := c.Start(); err != nil {
		t.Skipf("needs a folder of programs: %v", err)
	}
	defer func() { _, _ = c.Process.Kill(), c.Wait() }()
	var at *os.PathError
	if _, err := Layout(t.Context(), path, 8192, LayoutOptions{Reuse: true}); !errors.As(err, &at) || at.Op != "open" || !errors.Is(err, syscall.ETXTBSY) {
		t.Errorf("Layout = %v, want that the file can't be opened", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, program) {
		t.Errorf("the file was changed, %v", err)
	}
}

func TestLayoutWithoutSpace(t *testing.T) {
	dir := disktest.Tmpfs(t, "size=8m")
	path := filepath.Join(dir, "big")
	_, err := Layout(context.Background(), path, 64<<20, LayoutOptions{})
	var e *SpaceError
	if !errors.As(err, &e) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Layout = %#v, want a *SpaceError that is ENOSPC", err)
	}
	if e.Path != path || e.Needed != 64<<20 {
		t.Errorf("%s needs %d bytes, want %s to need 64 MiB", e.Path, e.Needed, path)
	}
	if e.Available <= 0 || e.Available > 8<<20 {
		t.Errorf("%d bytes are available, want up to 8 MiB", e.Available)
	}
	if !strings.Contains(err.Error(), "67108864 bytes are needed but") {
		t.Errorf("error text: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the partial file is still there: %v", err)
	}
}

func TestLayoutCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	path := filepath.Join(t.TempDir(), "f")
	if _, err := Layout(ctx, path, 64<<20, LayoutOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Layout = %v, want context.Canceled", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the partial file is still there: %v", err)
	}
}

func TestLayoutInMissingAndReadOnlyFolder(t *testing.T) {
	if _, err := Layout(context.Background(), filepath.Join(t.TempDir(), "no", "f"), 4096, LayoutOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
	dir := disktest.Tmpfs(t, "size=8m")
	disktest.Remount(t, dir, unix.MS_RDONLY)
	if _, err := Layout(context.Background(), filepath.Join(dir, "f"), 4096, LayoutOptions{}); !errors.Is(err, unix.EROFS) {
		t.Errorf("read-only file system: %v", err)
	}
	for _, p := range ProbeEngines(dir) {
		if p.OK != (p.Engine == Null) || (!p.OK && !strings.Contains(p.Reason, "read-only")) {
			t.Errorf("probe of a read-only file system = %+v", p)
		}
	}
}

// TestContainerLayer runs on an overlay, as a container's own layer is one.
func TestContainerLayer(t *testing.T) {
	merged := disktest.Overlay(t, t.TempDir())
	path := filepath.Join(merged, "f")
	res, err := Layout(context.Background(), path, 1<<20, LayoutOptions{})
	if err != nil || res.Info.HoleBytes != 0 {
		t.Fatalf("Layout = %+v, %v", res, err)
	}
	for _, p := range ProbeEngines(merged) {
		if !p.OK {
			t.Errorf("probe = %+v", p)
			continue
		}
		if p.Engine == Null {
			continue
		}
		if r := start(t, Job{RW: RandRW, IODepth: 4, Filename: path, Direct: res.Direct, IOEngine: p.Engine}); r.Ops() != 256 {
			t.Errorf("%s: %d I/Os, want 256", p.Engine, r.Ops())
		}
	}
}

// TestLayoutsAtOnce: of several layouts of one path at most one makes the file, and the others leave it
// alone: they neither remove it nor replace it while it is written.
func TestLayoutsAtOnce(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		for round := range 60 {
			path := filepath.Join(t.TempDir(), "f")
			const size, tries = 1 << 20, 4
			errs := make([]error, tries)
			start := make(chan struct{})
			var all sync.WaitGroup
			for i := range tries {
				all.Go(func() {
					<-start
					_, errs[i] = Layout(context.Background(), path, size, LayoutOptions{Reuse: reuse, Seed: uint64(i + 1)})
				})
			}
			close(start)
			all.Wait()
			made := 0
			for _, err := range errs {
				var e *ExistsError
				if err == nil {
					made++
				} else if !errors.As(err, &e) {
					t.Fatalf("reuse %v, round %d: %v, want an *ExistsError", reuse, round, err)
				}
			}
			// One after the other each may find the file complete and take it.
			if made > 1 && !reuse {
				t.Fatalf("round %d: %d layouts made the file", round, made)
			}
			if made == 0 {
				continue // Each was in another's way; a second try gets it.
			}
			if st, err := os.Stat(path); err != nil || st.Size() != size {
				t.Fatalf("reuse %v, round %d: of %d layouts that made it the file is gone: %v", reuse, round, made, err)
			}
			if got := stamps(t, path, 4096); len(got) != size/4096 || got[255] != 255*4096 {
				t.Fatalf("reuse %v, round %d: the file holds something else", reuse, round)
			}
		}
	}
}

// TestLayoutMode: a file has the mode of fio's, 0644 less the umask, so that another user's line can read it. It was 0600.
func TestLayoutMode(t *testing.T) {
	st, err := os.Stat(written(t, 1<<20))
	umask := unix.Umask(0)
	unix.Umask(umask)
	if want := os.FileMode(0o644 &^ umask); err != nil || st.Mode() != want {
		t.Errorf("the mode is %v, %v, want %v", st.Mode(), err, want)
	}
}
