package fio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// A job reads back the blocks that it wrote, and no others. It does as many reads as fio, between the writes or after them, and also where the
// pattern leaves out blocks.
func TestReadsBackWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"--rw=randrw --verify_backlog=4",
		"--rw=rw --verify_backlog=1",
		"--rw=randrw --rwmixread=70 --ioengine=libaio --iodepth=8 --verify_backlog=16 --verify_backlog_batch=8",
		"--rw=randwrite --verify_backlog=4 --verify_backlog_batch=2 --verify_fatal=1",
		"--rw=write --verify_backlog=4 --verify_backlog_batch=8",
		"--rw=write --verify_backlog=7 --do_verify=0",
		"--rw=write:4k",
		"--rw=randwrite --number_ios=5 --offset=64k",
		"--rw=randwrite --ioengine=null --verify_backlog=16",
		"--rw=randread --ioengine=null",
		"--rw=write --verify=pattern --verify_pattern=0xdeadbeef --io_size=32k",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--name=j", "--bs=4k", "--size=256k", "--filename=f", "--verify=crc32c", "--fallocate=none"}, strings.Fields(line)...)
			if strings.Contains(line, "rw=randrw") || strings.Contains(line, "rw=rw") {
				// How many of a mix are writes is drawn: fio's generator is another.
				test := run(t, t.TempDir(), args...)
				var reads, writes, trims int
				if _, err := fmt.Sscanf(issued(test)[0], "%d,%d,%d", &reads, &writes, &trims); err != nil || reads != 64 {
					t.Errorf("ours did %v (%v), want 64 reads: each block was read once, or written and read back", issued(test), err)
				}
				peer(t, t.TempDir(), args...)
				return
			}
			sameIO(t, peer(t, t.TempDir(), args...), run(t, t.TempDir(), args...))
		})
	}
}

// Blocks that overlap, come again or are of several sizes are read back without a false alarm, also in flight beside each other.
func TestReadsBackOverlaps(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"--rw=randwrite --norandommap --bs=4k",
		"--rw=randrw --norandommap --bs=4k --verify_backlog=5 --io_size=16m",
		"--rw=randwrite --random_distribution=zipf:1.4 --bs=8k --verify_backlog=1 --io_size=16m",
		"--rw=randwrite --bssplit=4k/40:6k/30:64k/30 --verify_backlog=9 --io_size=32m",
		"--rw=randwrite --bsrange=512-640k --io_size=32m",
		"--rw=randwrite --bsrange=4k-64k --blockalign=4k --io_size=32m",
		"--rw=randrw --bssplit=4k/50:12k/50 --verify=pattern --verify_pattern=0x0abcdef0 --verify_backlog=3 --io_size=8m",
		"--rw=rw --bs=16k --loops=20 --verify_backlog=10",
		"--rw=randwrite --bs=4k --rate_iops=20000 --verify_backlog=8 --numjobs=2 --filename_format=$jobname.$jobnum",
	} {
		for _, engine := range []string{"--ioengine=io_uring --iodepth=16", "--ioengine=libaio --iodepth=8 --direct=1", "--ioengine=psync"} {
			t.Run(line+" "+engine, func(t *testing.T) {
				t.Parallel()
				args := append([]string{"--name=j", "--size=1m", "--verify=crc32c"}, strings.Fields(line+" "+engine)...)
				var reads, writes, trims int
				if _, err := fmt.Sscanf(issued(run(t, t.TempDir(), args...))[0], "%d,%d,%d", &reads, &writes, &trims); err != nil {
					t.Fatal(err)
				}
				if reads == 0 || writes == 0 || reads > 2*writes+300 {
					t.Errorf("%d reads, %d writes", reads, writes)
				}
			})
		}
	}
}

// spoiling is a session whose storage damages the byte at that offset once the first stage is over.
type spoiling struct {
	*dialecttest.Local
	at func(written load.Ranges) int64
}

func (s *spoiling) Stage(ctx context.Context, name string, jobs []workload.StageJob, onSample func(load.Sample)) (*workload.Result, error) {
	res, err := s.Local.Stage(ctx, name, jobs, onSample)
	if len(s.Stages) == 1 && err == nil {
		f, err := os.OpenFile(filepath.Join(s.Dir, "f"), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte("damage"), s.at(res.Stage[0].Written[0])+200); err != nil {
			return nil, err
		}
	}
	return res, err
}

// A mixed job finds a block that is damaged after it wrote it, and is no judge of a block that it never wrote.
func TestMixedJobFindsDamage(t *testing.T) {
	behind := func(r load.Ranges) int64 { return r[0].Offset + r[0].Size }
	for name, at := range map[string]func(load.Ranges) int64{
		"written": func(r load.Ranges) int64 { return r[len(r)-1].Offset }, "never written": behind,
	} {
		test, err := Parse(strings.Fields("--name=j --rw=randrw --bs=4k --size=1m --filename=f --verify=crc32c --norandommap --verify_backlog=64"), Source{})
		if err != nil {
			t.Fatal(err)
		}
		err = test.Run(t.Context(), &spoiling{&dialecttest.Local{Dir: t.TempDir()}, at}, io.Discard, io.Discard, RunOptions{})
		var bad *load.VerifyError
		if errors.As(err, &bad) != (name == "written") || bad == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
