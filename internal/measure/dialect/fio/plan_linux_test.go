package fio

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// notPlanned are the examples of fio's that are taken as a line and not as a plan, each for the reason that is named.
var notPlanned = map[string]string{
	"enospc-pressure.fio": "continue_on_error",
	"butterfly.fio":       "flow", "flow.fio": "flow", "numa.fio": "numa_cpu_nodes", "steadystate.fio": "steadystate", "surface-scan.fio": "fill_device",
	"basic-verify.fio": "give a size", "jesd219.fio": "give a size", "ssd-steadystate.fio": "give a size", "cmdprio-bssplit.fio": "give a size", "cmdprio-percentage.fio": "give a size",
	"dedupe-global.fio": "working_set", "latency-profile.fio": "latency_target", "disk-zone-profile.fio": "zonemode",
}

// fileOf has no files of this machine but one.
func fileOf(name string) (int64, error) {
	if name == "there" {
		return 100 << 20, nil
	}
	return 0, &os.PathError{Op: "give a size: stat", Path: name, Err: os.ErrNotExist}
}

// TestPlansDoWhatLinesDo compares each thread of each workload with the clone that it stands for, over fio's examples and more.
func TestPlansDoWhatLinesDo(t *testing.T) {
	dir := t.TempDir()
	lines, plans := 0, 0
	for path, text := range fiosExamples(t) {
		name := filepath.Base(path)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		test, err := Parse([]string{name}, fileSource(dir))
		if err != nil {
			continue // TestFiosExamples knows which.
		}
		lines++
		err = compareWays(t, name, test)
		switch why := notPlanned[name]; {
		case err == nil && why == "":
			plans++
		case err == nil:
			t.Errorf("%s is taken now: take it off the list", name)
		case why == "" || !strings.Contains(err.Error(), why):
			t.Errorf("%s: %v, want %q", name, err, why)
		}
	}
	if plans < 20 || plans != lines-len(notPlanned) {
		t.Errorf("%d of %d examples are plans, and %d are listed as none", plans, lines, len(notPlanned))
	}
	for _, line := range []string{
		"--rw=write --size=8m --numjobs=4", "--rw=randread --size=8m --numjobs=4 --filename=x", "--rw=randrw --size=8m --numjobs=4 --filename=x --norandommap",
		"--rw=randread --size=8m --numjobs=3 --time_based --runtime=9 --filename=x --offset_increment=1m", "--rw=read --size=8m --offset=4m --numjobs=2 --offset_increment=2m",
		"--rw=read --size=8m --runtime=9", "--rw=randwrite --size=8m --runtime=9 --norandommap", "--rw=randwrite --size=8m --loops=3 --runtime=9", "--rw=randwrite --size=8m --loops=3",
		"--rw=randwrite --size=8m --number_ios=20 --loops=3", "--rw=read --size=8m --number_ios=5000", "--rw=randread --size=8m --bssplit=4k/50:8k/50", "--rw=randread --size=8m --random_distribution=zipf:1.1",
		"--rw=randread --size=8m --blockalign=64k", "--rw=randread --size=8m --io_size=32m", "--rw=randread --size=8m --io_size=50%", "--rw=read:8k --size=8m", "--rw=randread:8 --size=8m",
		"--rw=read --filename=there", "--rw=randread --filename=there --size=25%", "--rw=randread --filename=there --offset=50% --time_based --runtime=3",
		"--rw=read --filename=there --offset_increment=25% --numjobs=4 --size=10%", "--rw=randwrite --filename=there --norandommap", "--rw=write --size=8m --verify=crc32c",
		"--rw=write --size=8m --startdelay=3 --direct=1 --fsync=4 --end_fsync=1", "--rw=randrw --size=8m --fsync=4 --rwmixread=30", "--rw=read --bs=64k --size=1000k --rate=1m --thinktime=5",
		"--rw=write --size=8m --zero_buffers --unlink=1", "--rw=randwrite --percentage_random=40 --size=8m", "--rw=write --size=8m --exitall",
		"--rw=randrw --size=8m --rate=1m,2m --time_based --runtime=9", "--rw=rw --size=8m --rate_iops=,50 --rwmixread=30", "--rw=randrw --size=8m --rate_iops=100,50 --rate_process=poisson",
		"--rw=rw --size=8m --rate=1m --thinktime=5 --rate_ignore_thinktime=1", "--rw=read --size=8m --nrfiles=4", "--rw=randread --size=8m --nrfiles=4 --file_service_type=random --numjobs=2",
		"--rw=randwrite --size=8m --filename=x:y --numjobs=3 --time_based --runtime=2", "--rw=write --size=8m --nrfiles=2 --io_size=3m", "--rw=read --size=8m --ioengine=mmap", "--rw=randrw --size=8m --ioengine=null --iodepth=4 --numjobs=2",
		"--rw=read --size=8m --rate=1m --rate_min=100k", "--rw=read --size=8m --ioengine=sync --name=b --rw=read --size=8m --ioengine=libaio --iodepth=4 --direct=1",
	} {
		test, err := Parse(append([]string{"--name=a"}, strings.Fields(line)...), Source{})
		if err == nil {
			err = compareWays(t, line, test)
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// compareWays compares what a plan has of a test with its clones.
func compareWays(t *testing.T, name string, test *Test) error {
	t.Helper()
	p, err := test.Plan(fileOf)
	if err != nil {
		return err
	}
	notes := strings.Join(p.Notes, "\n")
	for i := range p.Workloads {
		p.Workloads[i].Job.IOEngine = cmp.Or(p.Workloads[i].Job.IOEngine, p.IOEngine)
	}
	for _, stage := range test.stages {
		for _, head := range heads(stage) {
			w, err := head.workload(test, stage, fileOf)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(p.Workloads, func(o workload.Spec) bool { return same(o, w) }) {
				t.Errorf("%s: %s is not a workload of the plan", name, head.job.name)
			}
			for _, c := range head.job.clones(stage) {
				want, err := c.regionIn(test, fileOf)
				if err != nil {
					return err
				}
				for _, d := range unlike(w.Job, max(w.Files, 1), c, want, len(c.files) > 0 && head.job.ownFiles(stage), notes) {
					t.Errorf("%s: clone %d of %s: %s", name, c.number, c.job.name, d)
				}
			}
		}
	}
	return nil
}

// unlike lists what a thread of a plan's job does in another way than the clone, whose job is want, and what no note says.
func unlike(l load.Job, files int, c *clone, want load.Job, own bool, notes string) (all []string) {
	told := map[string]string{"StartDelay": "startdelay", "SyncReads": "after reads", "DropCache": "drops no cached pages", "Hint": "no hints", "Refill": "makes its data before"}
	got, x := reflect.ValueOf(l), reflect.ValueOf(want)
	for i := range x.NumField() {
		field, a, b := x.Type().Field(i).Name, got.Field(i), x.Field(i)
		ok := reflect.DeepEqual(a.Interface(), b.Interface())
		switch field {
		case "Filename", "SampleEvery", "RandSeed", "WholeRegion", "OffsetIncrement":
			ok = true // The plan's and the worker's own; the regions are in Offset.
		case "Files":
			ok = files == max(len(want.Files), 1)
		case "KeepWritten":
			ok = !want.KeepWritten || l.Verify // It reads all back.
		case "NumJobs":
			ok = l.NumJobs == c.job.numjobs
		case "Offset":
			at := l.Offset + int64(c.number)*l.OffsetIncrement
			separate := l.OffsetIncrement >= l.Size
			same := at == want.Offset && (!own || l.NumJobs == 1 || separate)
			sharing := own && strings.Contains(notes, "share files in a plan") && at >= want.Offset && separate
			sliced := l.NumJobs > 1 && l.OffsetIncrement == 0 && !l.WholeRegion
			sequential := l.RW == load.Read || l.RW == load.Write || l.RW == load.RW
			ok = same || sharing
			if sliced && (l.Runtime == 0 || sequential) {
				ok = false // Each job has only a slice of the region.
			}
		case "FileService":
			ok = ok || len(want.Files) == 0 || b.String() == load.RoundRobin && a.String() == ""
		case "BS":
			ok = ok || len(want.ReadSplit)+len(want.WriteSplit) > 0 && l.BS == 0
		case "Runtime":
			ok = ok || want.Runtime == unlimited && l.Runtime == 0
		case "RandomMap":
			ok = ok || l.Runtime == 0 && !l.NoRandomMap && want.RandomMap
		case "NoRandomMap":
			plain := len(l.ReadSplit)+len(l.WriteSplit) == 0 && l.Distribution == "" && (l.BlockAlign == 0 || l.BlockAlign == l.BS)
			mapped := l.RandomMap || l.Runtime == 0 && !l.NoRandomMap && plain // A plan's pass of plain blocks keeps a map.
			ok = !c.job.random() || mapped == want.RandomMap
		case "IOSize":
			if !ok {
				counted := want.NumberIOs > 0 && l.IOSize == want.IOSize*max(want.Loops, 1)
				onePass := l.Runtime == 0 && l.NumberIOs == 0 && l.IOSize == 0
				ok = counted || onePass && want.IOSize/want.BS == want.Size/want.BS*int64(files)
			}
		case "Loops":
			counted := want.NumberIOs > 0 && l.Loops == 0 && l.IOSize == want.IOSize*want.Loops
			ok = ok || max(l.Loops, 1) == max(want.Loops, 1) || counted
		case "BlockAlign":
			ok = ok || want.BlockAlign == want.BS
		default:
			if why := told[field]; why != "" && strings.Contains(notes, why) {
				ok = true
			}
		}
		if !ok {
			all = append(all, fmt.Sprintf("%s is %v in the plan, %v on the line", field, a.Interface(), b.Interface()))
		}
	}
	return all
}
