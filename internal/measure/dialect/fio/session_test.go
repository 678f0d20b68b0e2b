package fio

import (
	"context"
	"io"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// place is a session that is not on the host: it has names of its own for the user's files.
type place struct{ stages [][]workload.StageJob }

func (p *place) Path(name string) string { return "place/" + dialect.InPlace(name) }

func (p *place) Stage(_ context.Context, _ string, jobs []workload.StageJob, _ func(load.Sample)) (*workload.Result, error) {
	p.stages = append(p.stages, jobs)
	r := &workload.Result{}
	for _, j := range jobs {
		s := workload.StageResult{Name: j.Name, Job: j.Job}
		if j.Job.KeepWritten {
			s.Written = []load.Ranges{{{Offset: 4096, Size: 8192}}, nil}
		}
		s.Classes = []load.Class{{Name: "write", Ops: 1 << 20}}
		r.Stage = append(r.Stage, s)
	}
	return r, nil
}

// Jobs have the session's paths, of the length that the largest job needs; --destructive is by the user's.
func TestJobsHaveTheSessionsPaths(t *testing.T) {
	test, err := Parse(strings.Fields("--bs=4k --name=a --rw=write --filename=/data/x:y --size=2m --verify=crc32c --name=b --stonewall --rw=read --filename=/data/x --size=8m --name=c --rw=write --size=1m --directory=/d --nrfiles=2"), Source{})
	if err != nil {
		t.Fatal(err)
	}
	var p place
	if err := test.Run(t.Context(), &p, io.Discard, io.Discard, RunOptions{Destructive: []string{"/data/x"}}); err != nil {
		t.Fatal(err)
	}
	if len(p.stages) != 3 {
		t.Fatalf("%d stages, want that of a, its verification, and b with c", len(p.stages))
	}
	a, back, b, c := p.stages[0][0], p.stages[1][0], p.stages[2][0], p.stages[2][1]
	if files, destructive := strings.Join(a.Job.Files, " "), strings.Join(a.Destructive, " "); files != "place/data_x place/y" || destructive != "place/data_x" {
		t.Errorf("a: files %q, destructive %q", files, destructive)
	}
	if a.Size != 8<<20 || a.Job.IOSize != 2<<20 || a.Job.Size != 1<<20 {
		t.Errorf("a: files of %d bytes, %d of them in the region, %d to write, want 8, 1 and 2 MiB", a.Size, a.Job.Size, a.Job.IOSize)
	}
	if back.Job.RW != load.Read || !back.Job.Verify || back.Job.RandSeed != a.Job.RandSeed {
		t.Errorf("reading back: rw=%s, verify=%v, seed %d, want read, true, %d", back.Job.RW, back.Job.Verify, back.Job.RandSeed, a.Job.RandSeed)
	}
	if files := strings.Join(back.Job.Files, " "); files != "place/data_x place/y" || back.Destructive != nil {
		t.Errorf("reading back: files %q, destructive %q", files, back.Destructive)
	}
	if n := len(back.Job.Only[0]); n != 1 {
		t.Errorf("reading back: %d parts of the first file, want 1", n)
	}
	if b.Job.Filename != "place/data_x" || b.Size != 8<<20 || strings.Join(c.Job.Files, " ") != "place/d_c.0.0 place/d_c.0.1" {
		t.Errorf("b = %+v\nc = %+v", b, c)
	}
	// The parsed test is as it was: it can be run again.
	if test.stages[0][0].spec.Job.Files[0] != "/data/x" {
		t.Errorf("the test was changed: %+v", test.stages[0][0].spec)
	}
}
