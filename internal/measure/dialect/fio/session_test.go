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
	if strings.Join(a.Job.Files, " ") != "place/data_x place/y" || strings.Join(a.Destructive, " ") != "place/data_x" || a.Size != 8<<20 || a.Job.IOSize != 2<<20 || a.Job.Size != 1<<20 {
		t.Errorf("a = %+v", a)
	}
	if back.Job.RW != load.Read || !back.Job.Verify || back.Job.RandSeed != a.Job.RandSeed || strings.Join(back.Job.Files, " ") != "place/data_x place/y" || back.Destructive != nil || len(back.Job.Only[0]) != 1 {
		t.Errorf("reading back = %+v", back)
	}
	if b.Job.Filename != "place/data_x" || b.Size != 8<<20 || strings.Join(c.Job.Files, " ") != "place/d_c.0.0 place/d_c.0.1" {
		t.Errorf("b = %+v\nc = %+v", b, c)
	}
	// The parsed test is as it was: it can be run again.
	if test.stages[0][0].spec.Job.Files[0] != "/data/x" {
		t.Errorf("the test was changed: %+v", test.stages[0][0].spec)
	}
}
