package load

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
)

// damage changes one byte of the block at off, like storage that loses or mixes up data.
func damage(t testing.TB, path string, off int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], off+100); err != nil {
		t.Fatal(err)
	}
	b[0]++
	if _, err := f.WriteAt(b[:], off+100); err != nil {
		t.Fatal(err)
	}
}

// A job that reads only what another job wrote finds a damaged block of that job, and does not judge the rest.
func TestOnlyWhatWasWrittenIsVerified(t *testing.T) {
	for _, engine := range []string{PSync, LinuxAIO, IOUring} {
		path := written(t, 1<<20)
		j := Job{RW: RandRW, BS: 4096, IODepth: 4, Filename: path, IOEngine: engine, Verify: true, KeepWritten: true, NumberIOs: 100, RandSeed: 5, RandomMap: true}
		if engine == PSync {
			j.IODepth = 1
		}
		res := start(t, j)
		writes := res.Class("write").Ops
		if writes < 20 || writes > 80 {
			t.Fatalf("%s: %d writes", engine, writes)
		}
		if len(res.Written) != 1 || res.Written[0].Bytes() != writes*4096 {
			t.Fatalf("%s: %d writes, written %v", engine, writes, res.Written)
		}
		text, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		var back Result
		if err := json.Unmarshal(text, &back); err != nil || !slices.Equal(back.Written[0], res.Written[0]) {
			t.Fatalf("%s: %v: %v became %v in JSON", engine, err, res.Written, back.Written)
		}
		read := Job{RW: Read, BS: 4096, IODepth: j.IODepth, Filename: path, IOEngine: engine, Verify: true, RandSeed: 5, Only: back.Written}
		if got := start(t, read); got.Class("read").Ops != writes {
			t.Errorf("%s: %d reads of %d writes", engine, got.Class("read").Ops, writes)
		}
		hole, last := int64(0), res.Written[0][len(res.Written[0])-1]
		for _, r := range res.Written[0] {
			if r.Offset > hole {
				break
			}
			hole = r.Offset + r.Size
		}
		damage(t, path, hole)
		start(t, read)
		damage(t, path, last.Offset)
		var bad *VerifyError
		if _, err := prepare(t, read).Start(context.Background(), nil); !errors.As(err, &bad) || bad.Offset != last.Offset {
			t.Errorf("%s: a damaged block at %d: %v", engine, last.Offset, err)
		}
	}
}

// Blocks that a backlog has read back are not read back again. A block that is damaged right after its write ends the run while it
// still writes.
func TestBacklogFindsDamageBetweenTheWrites(t *testing.T) {
	for _, engine := range []string{PSync, LinuxAIO, IOUring} {
		path := written(t, 1<<20)
		j := Job{RW: RandWrite, BS: 4096, Filename: path, IOEngine: engine, Verify: true, KeepWritten: true, VerifyBacklog: 8, VerifyBacklogBatch: 4, RandSeed: 5, FDataSync: 1}
		res := start(t, j)
		reads, left := res.Class("read").Ops, res.Written[0].Bytes()/4096
		if reads < 200 || reads+left != 256 || left < 4 {
			t.Errorf("%s: %d reads and %d blocks left, want 256 together", engine, reads, left)
		}
		r := prepare(t, j)
		var at int64
		r.OnSync = func(_ int, n int64) {
			if n == 100 {
				for w := range j.Recall(0, 1<<20) {
					if w.Number == n {
						at = w.Offset
						break
					}
				}
				damage(t, path, at)
			}
		}
		res, err := r.Start(context.Background(), nil)
		var bad *VerifyError
		if !errors.As(err, &bad) || bad.Offset != at || res.Class("write").Ops > 110 {
			t.Errorf("%s: a damaged block at %d: %v after %d writes", engine, at, err, res.Class("write").Ops)
		}
	}
}

// Invalid ranges are errors, and allocate no memory.
func TestRangesThatAreNone(t *testing.T) {
	for _, text := range []string{`1`, `"!"`, `"gA=="`, `"AA=="`, `"AAA="`, `"////////////AQE="`} {
		var r Ranges
		if err := json.Unmarshal([]byte(text), &r); err == nil {
			t.Errorf("%s became %v", text, r)
		}
	}
	for name, change := range map[string]func(*Job){
		"outside":         func(j *Job) { j.Size, j.Only = 8192, []Ranges{{{4096, 8192}}} },
		"random":          func(j *Job) { j.RW, j.Only = RandRead, []Ranges{{{0, 4096}}} },
		"of two files":    func(j *Job) { j.Only = []Ranges{{{0, 4096}}, nil} },
		"nothing to keep": func(j *Job) { j.KeepWritten = true },
		"a backlog alone": func(j *Job) { j.RW, j.Verify, j.VerifyBacklog = Write, true, 3 },
		"shared by depth": func(j *Job) { j.RW, j.Verify, j.KeepWritten, j.VerifyBacklog, j.IODepth = Write, true, true, 3, 4 },
	} {
		j := Job{RW: Read, BS: 4096, Filename: "f", IOEngine: PSync}
		if change(&j); j.Validate() == nil {
			t.Errorf("%s is taken: %+v", name, j)
		}
	}
}

// A block that is being written while it is read back proves nothing, and is read back again later.
func TestOvertakenReadSaysNothing(t *testing.T) {
	b := &readBack{unit: 4096, open: make([]units, 1)}
	b.open[0].set(0, 4)
	th := &thread{run: &Run{engine: PSync}, bufs: &buffers{unit: 4096}, back: b, slots: []slot{{op: opRead, off: 8192, size: 4096, state: backIO}}, transferring: true}
	th.outdate(&slot{op: opWrite, off: 4096, size: 8192})
	if err := th.judge(&th.slots[0]); err != nil || !b.open[0].any(2, 3) {
		t.Errorf("an overtaken read: %v, still to be read back: %v", err, b.open[0].any(2, 3))
	}
}
