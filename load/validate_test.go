package load

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestValidateRefuses(t *testing.T) {
	ok := Job{RW: RandRead, Filename: "f"}
	mix := 101
	some := 30
	for want, change := range map[string]func(*Job){
		`rw="": not a pattern; use one of read, write`:                    func(j *Job) { j.RW = "" },
		`fio's readwrite is called rw here`:                               func(j *Job) { j.RW = "readwrite" },
		"bs=-1: must be from":                                             func(j *Job) { j.BS = -1 },
		"bs=2147483648: must be from":                                     func(j *Job) { j.BS = 2 << 30 },
		"bs=1000: direct I/O needs a multiple of 512; use bs=1024":        func(j *Job) { j.BS, j.Direct = 1000, true },
		"offset=-1: must not be negative":                                 func(j *Job) { j.Offset = -1 },
		"offset=100: direct I/O needs":                                    func(j *Job) { j.Offset, j.Direct = 100, true },
		"size=-5: must not be negative":                                   func(j *Job) { j.Size = -5 },
		"size=9223372036854775807: with offset=4096":                      func(j *Job) { j.Size, j.Offset = math.MaxInt64, 4096 },
		"size=4096: less than one block of bs=8192":                       func(j *Job) { j.Size, j.BS = 4096, 8192 },
		"size=8192: less than one block of bs=4096 for each of numjobs=3": func(j *Job) { j.Size, j.NumJobs = 8192, 3 },
		"size=0: the null engine has no file":                             func(j *Job) { j.IOEngine = Null },
		"iodepth=-1: must be from 1 to 4096":                              func(j *Job) { j.IODepth = -1 },
		"numjobs=100000: must be":                                         func(j *Job) { j.NumJobs = 100000 },
		"psync would need 4096 threads":                                   func(j *Job) { j.IODepth, j.NumJobs, j.IOEngine = 64, 64, PSync },
		"the buffers would take more than 1 TiB":                          func(j *Job) { j.IODepth, j.BS = 4096, 1<<30 },
		"runtime=-1s: must be":                                            func(j *Job) { j.Runtime = -time.Second },
		"ramp_time=87600h0m0s: must be":                                   func(j *Job) { j.RampTime = 10 * 365 * 24 * time.Hour },
		"number_ios=-1: must not be negative":                             func(j *Job) { j.NumberIOs = -1 },
		"rate_iops=-1: must be":                                           func(j *Job) { j.RateIOPS = -1 },
		"write_rate_iops=5: is for rw and randrw":                         func(j *Job) { j.RateIOPS, j.WriteRateIOPS = 5, 5 },
		"write_rate_iops=5: needs that of reads, rate_iops":               func(j *Job) { j.RW, j.WriteRateIOPS = RW, 5 },
		"write_rate=-5: must be":                                          func(j *Job) { j.RW, j.Rate, j.WriteRate = RW, 5, -5 },
		"rwmixread=30: has no meaning if":                                 func(j *Job) { j.RW, j.RateIOPS, j.WriteRateIOPS, j.RWMixRead = RW, 5, 5, &some },
		"one_sequence=true: contradicts write_rate":                       func(j *Job) { j.RW, j.Rate, j.WriteRate, j.OneSequence = RW, 5, 5, true },
		`sync="1": use "dsync"`:                                           func(j *Job) { j.Sync = "1" },
		"fsync=1: rw=randread writes nothing":                             func(j *Job) { j.Fsync = 1 },
		"fdatasync=-2: must not be negative":                              func(j *Job) { j.FDataSync = -2 },
		"fdatasync=1: contradicts fsync=1":                                func(j *Job) { j.RW, j.Fsync, j.FDataSync = Write, 1, 1 },
		"end_fsync=1: rw=read writes nothing":                             func(j *Job) { j.RW, j.EndFsync = Read, true },
		"end_data_only=true: needs end_fsync":                             func(j *Job) { j.RW, j.EndDataOnly = Write, true },
		"rwmixread=101: must be a percentage":                             func(j *Job) { j.RW, j.RWMixRead = RW, &mix },
		"rwmixread=30: has no meaning with rw=randread":                   func(j *Job) { j.RWMixRead = &some },
		"fio's libaio is called linux-aio here":                           func(j *Job) { j.IOEngine = "libaio" },
		`filename="": a job needs a file`:                                 func(j *Job) { j.Filename = "" },
		"holds a NUL byte":                                                func(j *Job) { j.Filename = "a\x00b" },
		"tail=true: is for one pass of rw=read":                           func(j *Job) { j.RW, j.Tail = Read, true },
	} {
		j := ok
		change(&j)
		err := j.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate(%+v) = %v, want %q", j, err, want)
		}
		var o *OptionError
		if err != nil && !errors.As(err, &o) {
			t.Errorf("Validate(%+v): %T is no *OptionError", j, err)
		}
		if _, err := Prepare(j); err == nil {
			t.Errorf("Prepare(%+v) accepted what Validate refuses", j)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	err := Job{RW: "x", BS: -1, RateIOPS: -1, Filename: "f"}.Validate()
	for _, want := range []string{"rw=", "bs=-1", "rate_iops=-1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate = %v, want it to name %s", err, want)
		}
	}
}

func TestValidateAccepts(t *testing.T) {
	mix := 0
	for _, j := range []Job{
		{RW: Read, Filename: "f"},
		{RW: Write, Filename: "f", BS: 2300, FDataSync: 1, Size: 220 << 20},
		{RW: RandRW, Filename: "f", RWMixRead: &mix, Direct: true, IODepth: 32, NumJobs: 4, RateIOPS: 1000, EndFsync: true, Sync: "dsync"},
		{RW: RandRead, IOEngine: Null, Size: 1 << 30, Runtime: time.Second},
	} {
		if err := j.Validate(); err != nil {
			t.Errorf("Validate(%+v) = %v", j, err)
		}
	}
}
