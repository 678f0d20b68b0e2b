package workload

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/load"
)

// onlyFile is the one file in dir.
func onlyFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "block-*.dat"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	return files[0]
}

// damage changes one byte of a file.
func damage(t *testing.T, path string, off int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], off); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0xff
	if _, err := f.WriteAt(b[:], off); err != nil {
		t.Fatal(err)
	}
}

// TestVerifiedJobs: what is read, or was written, is checked, every byte of it; with blocks of several sizes
// too, and in a file that a job with other stamps used before.
func TestVerifiedJobs(t *testing.T) {
	dir := t.TempDir()
	const size = 1 << 20
	for seed, j := range []load.Job{
		{RW: load.Write, IODepth: 4},
		{RW: load.RandWrite, BS: 16384, NumJobs: 2},
		{RW: load.Read, IODepth: 2},
		{RW: load.RandRead, BS: 1536, BlockAlign: 512, NumberIOs: 1000},
		{RW: load.RandRead, ReadSplit: []load.SizeShare{{Size: 512, Percent: 50}, {Size: 8192, Percent: 50}}},
		{RW: load.Read, Loops: 2},
	} {
		j.Size, j.Verify, j.RandSeed = size, true, uint64(1+seed)
		run, err := Prepare(t.Context(), Spec{Kind: Block, Job: j}, Folders{Work: dir})
		if err != nil {
			t.Fatal(err)
		}
		r, err := complete(t, run, nil)
		if err != nil {
			t.Fatalf("%+v: %v", j, err)
		}
		read, written := r.Bytes()
		want := read + written
		if want == 0 || r.Verified.Bytes != want {
			t.Errorf("%+v: %d bytes were checked, of %d", j, r.Verified.Bytes, want)
		}
		if j.Writes() && want != size {
			t.Errorf("%+v: %d bytes of I/O, want %d", j, want, size)
		}
		if (r.Verified.Took > 0) != j.Writes() {
			t.Errorf("%+v: reading back took %v", j, r.Verified.Took)
		}
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVerifyFindsDamage: of data that is read, and of data that was lost after it was written.
func TestVerifyFindsDamage(t *testing.T) {
	const size, off = 1 << 20, 300_000
	wantFound := func(t *testing.T, err error) {
		t.Helper()
		var found *load.VerifyError
		if !errors.As(err, &found) || found.Offset != off/4096*4096 || !strings.Contains(found.Found, "damaged") {
			t.Errorf("Run() = %v, want damage at %d", err, off/4096*4096)
		}
		var far *PartialError
		if !errors.As(err, &far) {
			t.Errorf("%v doesn't say how far it got", err)
		}
	}
	for _, direct := range []bool{false, true} {
		job := load.Job{Size: size, Verify: true, Direct: direct}
		dir := t.TempDir()
		job.RW = load.RandRead
		run, err := Prepare(t.Context(), Spec{Kind: Block, Job: job}, Folders{Work: dir})
		var refused *load.DirectError
		if errors.As(err, &refused) {
			t.Logf("no direct I/O here: %v", err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		damage(t, onlyFile(t, dir), off)
		_, err = complete(t, run, nil)
		wantFound(t, err)
		run.Close()

		job.RW = load.RandWrite
		run, err = Prepare(t.Context(), Spec{Kind: Block, Job: job}, Folders{Work: dir})
		if err != nil {
			t.Fatal(err)
		}
		done := int64(0)
		_, err = complete(t, run, func(s load.Sample) {
			// The last sample comes when all is written, and before it is read back.
			if done += s.Bytes; done == size {
				damage(t, onlyFile(t, dir), off)
			}
		})
		wantFound(t, err)
		run.Close()
	}
}

// TestVerifyLeavesForeignDataAlone: what isn't stamped is neither read as if it were, nor stamped.
func TestVerifyLeavesForeignDataAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "theirs")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Prepare(t.Context(), Spec{Kind: Block, Job: load.Job{RW: load.Read, Filename: path, Size: 1 << 20, Verify: true}}, Folders{Work: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "did not stamp") {
		t.Errorf("Prepare() = %v, want a refusal", err)
	}
	if b, err := os.ReadFile(path); err != nil || strings.Trim(string(b), "\x00") != "" {
		t.Errorf("the file was changed: %v", err)
	}
}

// complete runs what was prepared, and settles it.
func complete(t *testing.T, run Runner, onSample func(load.Sample)) (*Result, error) {
	t.Helper()
	r, err := run.Run(t.Context(), onSample)
	if s, ok := run.(Settler); ok && err == nil {
		err = s.Settle(t.Context(), r, nil)
	}
	return r, err
}
