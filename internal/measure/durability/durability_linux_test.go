package durability

import (
	"bufio"
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

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// TestMain makes the test binary serve as a writer that can be killed: its arguments are the
// file; its journal is its standard output.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "write" {
		_, err := Write(context.Background(), Options{Path: os.Args[2], Size: fileSize, Every: 4, Rate: 1000, Journal: os.Stdout})
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const fileSize = 16 << 20

// empty makes a written file of zeros.
func empty(t *testing.T, dir string, size int64) string {
	t.Helper()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWholeFile(t *testing.T) {
	for _, o := range []Options{
		{}, {Depth: 8, Every: 16, Direct: true}, {BS: 16384, Engine: load.LinuxAIO, Depth: 4, Direct: true}, {Engine: load.PSync, Every: 1},
	} {
		o.Path, o.Size = empty(t, t.TempDir(), 1<<20), 1<<20
		var journal bytes.Buffer
		o.Journal = &journal
		n, err := Write(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Check(t.Context(), &journal, "")
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		if r.Bad > 0 || r.Later != 0 {
			t.Errorf("%+v: %d blocks are bad and %d exist beyond those that were synced, want none", o, r.Bad, r.Later)
		}
		if r.Blocks != 1<<20/r.BS || n != r.Blocks || r.Flushed != r.Blocks {
			t.Errorf("%+v: %d blocks of %d, %d written, %d synced, want all of 1 MiB", o, r.Blocks, r.BS, n, r.Flushed)
		}
	}
}

func TestFaultsAreNamed(t *testing.T) {
	path := empty(t, t.TempDir(), 1<<20)
	var journal bytes.Buffer
	if _, err := Write(t.Context(), Options{Path: path, Size: 1 << 20, BS: 8192, Journal: &journal}); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		damage func(p []byte)
		want   string
	}{
		{"a bit", func(p []byte) { p[3*8192+5000] ^= 4 }, "damaged"},
		{"lost", func(p []byte) { clear(p[3*8192:][:8192]) }, "only zeros"},
		{"half of it lost", func(p []byte) { clear(p[3*8192+4096:][:4096]) }, "only zeros"},
		{"misplaced", func(p []byte) { copy(p[3*8192:], p[9*8192:][:8192]) }, "the block of offset 73728"},
	} {
		p := bytes.Clone(good)
		c.damage(p)
		if err := os.WriteFile(path, p, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Check(t.Context(), bytes.NewReader(journal.Bytes()), path)
		if err != nil {
			t.Fatal(err)
		}
		if r.Bad != 1 || len(r.Faults) != 1 {
			t.Fatalf("%s: %d bad, with the faults %+v, want one", c.name, r.Bad, r.Faults)
		}
		if f := r.Faults[0]; f.Offset != 3*8192 || !strings.Contains(f.Found, c.want) {
			t.Errorf("%s: %q at %d, want %q at %d", c.name, f.Found, f.Offset, c.want, 3*8192)
		}
	}
	if err := os.WriteFile(path, good[:1<<19], 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := Check(t.Context(), bytes.NewReader(journal.Bytes()), path); err != nil || r.Bad != 64 || !strings.Contains(r.Faults[0].Found, "only 0 bytes") {
		t.Errorf("cut off: %+v, %v", r, err)
	}
}

func TestJournals(t *testing.T) {
	for text, want := range map[string]string{
		"":      "is empty",
		"{}\n":  "first line",
		"hello": "first line",
		"{\"plimsoll_verify\":1,\"job\":{\"rw\":\"randwrite\",\"bs\":4096,\"size\":8192,\"filename\":\"f\",\"verify\":true}}\nxx\n{\"flushed\":1}\n": "line 2 of the journal was not written by plimsoll verify",
		"{\"plimsoll_verify\":1,\"job\":{\"rw\":\"nonsense\",\"bs\":4096,\"size\":8192,\"filename\":\"f\"}}\n":                                       "the journal's job",
	} {
		if _, err := Check(t.Context(), strings.NewReader(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	// A line that a crash cut short is no fault.
	cut := "{\"plimsoll_verify\":1,\"job\":{\"rw\":\"randwrite\",\"bs\":4096,\"size\":32768,\"filename\":\"f\",\"verify\":true}}\n{\"flushed\":7}\n{\"flu"
	if _, n, err := readJournal(strings.NewReader(cut)); err != nil || n != 7 {
		t.Errorf("cut short: %d, %v", n, err)
	}
	if _, err := Write(t.Context(), Options{Path: empty(t, t.TempDir(), 8192), Size: 8192, Journal: full{}}); err == nil || !strings.Contains(err.Error(), "journal: no room") {
		t.Errorf("a journal without room: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

// TestKilledWriter: what a writer that is killed had acknowledged and flushed is there.
func TestKilledWriter(t *testing.T) {
	for range 3 {
		path := empty(t, t.TempDir(), fileSize)
		cmd := exec.Command(os.Args[0], "write", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It is killed amid the file: after its options and some flushes.
		var journal bytes.Buffer
		lines := bufio.NewReader(io.TeeReader(out, &journal))
		for range 10 {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatalf("the journal ends after %q: %v", &journal, err)
			}
		}
		cmd.Process.Kill()
		if _, err := io.Copy(io.Discard, lines); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the writer ended before it was killed")
		}
		r, err := Check(t.Context(), &journal, "")
		if err != nil {
			t.Fatal(err)
		}
		if r.Bad > 0 {
			t.Errorf("%d bad: %+v", r.Bad, r.Faults)
		}
		if r.Flushed == 0 || r.Flushed == r.Blocks {
			t.Errorf("%d of %d blocks were flushed, want some", r.Flushed, r.Blocks)
		}
	}
}

// TestPowerCut stops a file system in the middle as if the power had gone: what was not flushed
// is lost.
func TestPowerCut(t *testing.T) {
	for _, lie := range []bool{false, true} {
		t.Run(fmt.Sprintf("journal lies %v", lie), func(t *testing.T) {
			image := disktest.Image(t, 64<<20)
			loop := disktest.Loop(t, image, false)
			disktest.Format(t, loop, "ext4")
			point := disktest.Mount(t, loop, "ext4", 0, "")
			path := empty(t, point, fileSize)
			unix.Sync()
			o := Options{Path: path, Size: fileSize, Every: 8, Rate: 1000}
			if lie {
				o.Every = 1 << 30 // Nothing is flushed before the end.
			}
			var journal bytes.Buffer
			flushes := make(chan struct{}, fileSize)
			o.Journal = writerFunc(func(p []byte) (int, error) {
				flushes <- struct{}{}
				return journal.Write(p)
			})
			done := make(chan error, 1)
			go func() {
				_, err := Write(context.Background(), o)
				done <- err
			}()
			lines := 1 // The options.
			if !lie {
				lines += 10
			}
			for range lines {
				select {
				case <-flushes:
				case err := <-done:
					t.Fatalf("the writer ended by itself: %v", err)
				}
			}
			if err := disktest.Shutdown(point); err != nil {
				t.Fatalf("shutdown: %v", err)
			}
			if err := <-done; err == nil {
				t.Fatal("the writer got to the end")
			}
			if err := disktest.Unmount(point); err != nil {
				t.Fatal(err)
			}
			disktest.Detach(t, image)
			disktest.MountAt(t, disktest.Loop(t, image, false), point, "ext4", 0, "")
			if lie {
				fmt.Fprintln(&journal, `{"flushed":500}`)
			}
			r, err := Check(t.Context(), &journal, "")
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d of %d blocks were flushed, %d later ones are there, %d are bad", r.Flushed, r.Blocks, r.Later, r.Bad)
			if !lie && (r.Bad > 0 || r.Flushed == 0) {
				t.Errorf("%+v, want blocks flushed and none bad", r)
			}
			if lie && (r.Bad == 0 || !strings.Contains(r.Faults[0].Found, "only zeros")) {
				t.Errorf("%+v, want blocks of zeros", r)
			}
		})
	}
}
