package limitverdict

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestImplied: a rate is put in the other unit at the sizes that the device sees. It was always 4 KiB of a line, whose jobs are not
// in the spec's Job.
func TestImplied(t *testing.T) {
	stage := func(jobs ...load.Job) workload.Spec {
		s := workload.Spec{Kind: workload.Stage}
		for _, j := range jobs {
			s.Jobs = append(s.Jobs, workload.StageJob{Job: j})
		}
		return s
	}
	direct := func(rw string, bs int64) load.Job { return load.Job{RW: rw, BS: bs, Direct: true} }
	writes, both := limit.Limits{WriteIOPS: 100}, limit.Limits{ReadIOPS: 100, WriteIOPS: 50}
	split := direct(load.Write, 0)
	split.WriteSplit = []load.SizeShare{{Size: 4 << 10, Percent: 50}, {Size: 60 << 10, Percent: 50}}
	half := 0
	for name, row := range map[string]struct {
		spec   workload.Spec
		limits limit.Limits
		want   []string
	}{
		"fio bs=64k":     {stage(direct(load.Write, 64<<10)), writes, []string{"write_iops 100 lets 6.25 MiB/s through in I/Os of 64KiB"}},
		"dd oflag=dsync": {stage(load.Job{RW: load.Write, BS: 64 << 10, Sync: "dsync"}), writes, []string{"write_iops 100 lets 6.25 MiB/s through in I/Os of 64KiB"}},
		"dd": {stage(load.Job{RW: load.Write, BS: 64 << 10, EndFsync: true}), writes,
			[]string{"write_iops 100 lets up to 125 MiB/s through: the device takes I/Os of up to 1280KiB"}},
		"diskspd -b8K -w25": {stage(direct(load.RandRW, 8<<10)), both, []string{
			"read_iops 100 lets 800 KiB/s through in I/Os of 8KiB", "write_iops 50 lets 400 KiB/s through in I/Os of 8KiB"}},
		"diskspd of Windows": {stage(direct(load.RandRW, 8<<10)), limit.Limits{SystemIOPS: 100}, []string{"io_maxiops 100 lets 800 KiB/s through in I/Os of 8KiB"}},
		"two jobs": {stage(direct(load.Write, 4<<10), direct(load.Write, 1<<20), direct(load.Read, 2<<20)), writes, []string{
			"write_iops 100 lets 400 KiB/s through in I/Os of 4KiB", "write_iops 100 lets 100 MiB/s through in I/Os of 1MiB"}},
		"split by the kernel": {stage(direct(load.Read, 2560<<10)), both, []string{"read_iops 100 lets 125 MiB/s through in I/Os of 2560KiB"}},
		"several sizes":       {stage(split), writes, []string{"write_iops 100 lets 3.12 MiB/s through in I/Os of 32KiB"}},
		"only writes":         {stage(load.Job{RW: load.RandRW, BS: 8 << 10, Direct: true, RWMixRead: &half}), both, []string{"write_iops 50 lets 400 KiB/s through in I/Os of 8KiB"}},
		"bytes":               {stage(direct(load.Write, 64<<10)), limit.Limits{WriteBPS: 1 << 20}, []string{"write_bps 1MiB lets 16 I/Os of 64KiB a second through"}},
		"a plan's job":        {workload.Spec{Kind: workload.Block, Job: direct(load.Read, 16<<10)}, both, []string{"read_iops 100 lets 1.56 MiB/s through in I/Os of 16KiB"}},
		"a log":               {workload.Spec{Kind: workload.WAL}, writes, []string{"write_iops 100 lets up to 125 MiB/s through: the device takes I/Os of up to 1280KiB"}},
		"requests":            {workload.Spec{Kind: workload.HTTP}, both, nil},
	} {
		tr := &record.Trial{Spec: row.spec, Where: []record.Where{{Device: &record.Device{MaxIO: 1280 << 10}}}}
		if diff := cmp.Diff(row.want, Implied(tr, row.limits)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := Implied(&record.Trial{Spec: stage(load.Job{RW: load.Write})}, writes); got != nil {
		t.Errorf("of an unknown device: %q", got)
	}
}
