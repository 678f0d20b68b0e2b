package fio

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/fuzztest"
	"plimsoll/load"
)

// memory is a Source of files in memory.
func memory(files map[string]string, env map[string]string) Source {
	return Source{
		ReadFile: func(name string, limit int64) ([]byte, error) {
			text, ok := files[name]
			if !ok {
				return nil, os.ErrNotExist
			}
			return []byte(text[:min(int64(len(text)), limit+1)]), nil
		},
		Env: func(name string) string { return env[name] },
	}
}

func TestParseJobFile(t *testing.T) {
	test, err := Parse([]string{"--output-format=normal,json+", "x.fio"}, memory(map[string]string{
		"x.fio": `; a comment
# and another
[global]
ioengine = libaio
bs=8k,16k   ; reads, writes
size=${SIZE}
group_reporting
include common.inc

[first job]
rw=randrw:4
rate_iops=300,100
numjobs=2
offset_increment=1m
[second]
stonewall
ioengine=psync
iodepth=16
rw=write
thinktime=5
runtime=90
startdelay=1500ms
`,
		"common.inc": "direct=1\niodepth=32\n",
	}, map[string]string{"SIZE": "64m"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(test.stages) != 2 || len(test.stages[0]) != 2 || len(test.stages[1]) != 1 {
		t.Fatalf("stages %v, want one of 2 jobs and one of 1", test.stages)
	}
	if got := strings.Join(test.Formats, " "); got != "normal json+" {
		t.Fatalf("formats %s", got)
	}
	a, b := test.stages[0][1], test.stages[1][0]
	j := a.spec.Job
	if j.RW != load.RandRW || j.RWNumber != 4 || j.RWMixRead != nil {
		t.Errorf("first: pattern %s:%d, mix %v, want randrw:4 without a mix", j.RW, j.RWNumber, j.RWMixRead)
	}
	if j.RateIOPS != 300 || j.WriteRateIOPS != 100 {
		t.Errorf("first: %d reads and %d writes a second, want 300 and 100", j.RateIOPS, j.WriteRateIOPS)
	}
	if j.Filename != "first job.1.0" || j.Offset != 1<<20 || a.spec.Size != 65<<20 {
		t.Errorf("first: file %q of %d bytes from %d on, want \"first job.1.0\", 65 MiB from 1 MiB on", j.Filename, a.spec.Size, j.Offset)
	}
	if j.IOEngine != load.LinuxAIO || j.IODepth != 32 || !j.Direct {
		t.Errorf("first: engine %s, depth %d, direct %v, want libaio, 32, true", j.IOEngine, j.IODepth, j.Direct)
	}
	if len(j.ReadSplit) != 1 || j.WriteSplit[0].Size != 16<<10 {
		t.Errorf("first: block sizes %v and %v, want one for reads and 16 KiB for writes", j.ReadSplit, j.WriteSplit)
	}
	j = b.spec.Job
	if b.group != 1 {
		t.Errorf("second: group %d, want 1", b.group)
	}
	if j.IOEngine != load.PSync || j.IODepth != 1 {
		t.Errorf("second: engine %s, depth %d, want psync, 1", j.IOEngine, j.IODepth)
	}
	if j.BS != 16<<10 || j.IOSize != 64<<20 {
		t.Errorf("second: %d bytes in blocks of %d, want 64 MiB of 16 KiB", j.IOSize, j.BS)
	}
	if j.ThinkTime != 5*time.Microsecond || j.Runtime != 90*time.Second || j.StartDelay != 1500*time.Millisecond {
		t.Errorf("second: thinktime %v, runtime %v, startdelay %v, want 5µs, 1m30s, 1.5s", j.ThinkTime, j.Runtime, j.StartDelay)
	}
	if len(test.notes) != 1 || !strings.Contains(test.notes[0], "iodepth is 1") {
		t.Errorf("notes = %q", test.notes)
	}
	if got := fmt.Sprint(test.globals); got != "[{ioengine libaio} {bs 8k,16k} {size 64m} {direct 1} {iodepth 32}]" {
		t.Errorf("globals = %s", got)
	}
}

// A least rate applies to the directions of the job, and the hint follows its pattern.
func TestLeastRatesAndHints(t *testing.T) {
	for args, want := range map[string]struct {
		least  *workload.LeastRate
		ignore bool
		hint   string
	}{
		"--rw=read":                                                   {hint: load.Sequential},
		"--rw=randwrite --fadvise_hint=0":                             {},
		"--rw=randread --direct=1":                                    {},
		"--rw=read --fadvise_hint=random":                             {hint: load.Random},
		"--rw=randrw --rate_min=1m,64k":                               {least: &workload.LeastRate{Read: 1 << 20, Write: 64 << 10, Bytes: true, Cycle: time.Second}, hint: load.Random},
		"--rw=write --rate_iops_min=50,20 --ratecycle=2000":           {least: &workload.LeastRate{Write: 20, Cycle: 2 * time.Second}, hint: load.Sequential},
		"--rw=write --rate_min=1m,":                                   {hint: load.Sequential},
		"--rw=read --thinktime=5 --rate_ignore_thinktime=1":           {hint: load.Sequential},
		"--rw=read --thinktime=5 --rate=1m --rate_ignore_thinktime=1": {ignore: true, hint: load.Sequential},
	} {
		test, err := Parse(append(strings.Fields(args), "--name=a", "--size=1m"), Source{})
		if err == nil {
			// Options before the first --name are those of all jobs.
			c := test.stages[0][0]
			if got := c.spec; !reflect.DeepEqual(got.Least, want.least) || got.Job.RateIgnoreThinkTime != want.ignore || got.Job.Hint != want.hint {
				t.Errorf("%s: %+v, ignore %v, hint %q; want %+v", args, got.Least, got.Job.RateIgnoreThinkTime, got.Job.Hint, want)
			}
			continue
		}
		t.Errorf("%s: %v", args, err)
	}
}

// An option that is set twice counts as in fio, and a note reports it. Two options with the same meaning get no note, nor does a section that
// differs from [global].
func TestWhatIsGivenTwiceIsSaid(t *testing.T) {
	test, err := Parse([]string{"x.fio"}, memory(map[string]string{
		"x.fio": "[global]\ndirect=1\nbuffered=0\nrwmixread=70\nrwmixwrite=30\nsize=1m\nbs=4k\nblocksize=8k\n[a]\nbuffered=1\nbs=4k\nbs=4k\n" +
			"[b]\nbs=2k\nbssplit=4k/50:8k/50\n[c]\nbs=2k\nbssplit=,4k/50:8k/50\n",
	}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%q", test.notes); got != `["global: blocksize=8k takes the place of bs=4k, as in fio" "b: bs=2k has no effect beside bssplit, as in fio"]` {
		t.Error(got)
	}
	if j := test.stages[0][0].spec.Job; j.Direct || j.BS != 4096 {
		t.Errorf("%+v", j)
	}
}

// In a file name= may stand in [global], where it names no job, as fio's own examples have it; a section's is what the job is
// called in the output, while its files keep the name of the section. Options that fio takes without a value are taken so.
func TestNamesAndBareOptionsInFiles(t *testing.T) {
	test, err := Parse([]string{"--section=b", "x.fio"}, memory(map[string]string{
		"x.fio": "[global]\nname=all\nrw=write\nrefill_buffers\nsize=1m\n[a]\n[b]\nname=another\nexitall_on_error\n",
	}, nil))
	if err != nil {
		t.Fatal(err)
	}
	c := test.stages[0][0]
	if len(test.jobs) != 1 || c.job.name != "another" || c.spec.Job.Filename != "b.0.0" {
		t.Errorf("the job %s writes %s, want another and b.0.0", c.job.name, c.spec.Job.Filename)
	}
	if got := fmt.Sprint(test.globals, c.job.own); got != "[{name all} {rw write} {size 1m}] [{name another}]" {
		t.Errorf("options %s", got)
	}
	test, err = Parse(strings.Fields("--name=a --rw=write --refill_buffers --exitall_on_error --size=1m"), Source{})
	if err != nil || len(test.jobs) != 1 {
		t.Errorf("on a line: %v, %v", test, err)
	}
	for line, want := range map[string]string{"log_max_value=1 --write_bw_log=x --log_avg_msec=100": "log_max_value with logs is not supported", "lockfile=exclusive --filename=x --numjobs=2": "which several jobs or clones use"} {
		if _, err := Parse(strings.Fields("--name=a --size=1m --"+line), Source{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// TestRefill: which lines make the data of each write anew is what fio 3.33 does: what says so itself wins, but dedupe_percentage turns it on
// where it stands last, and of patterns and zeros nothing is made.
func TestRefill(t *testing.T) {
	for line, want := range map[string]string{
		"": "", "--refill_buffers": load.RefillBefore, "--refill_buffers=0": "", "--verify=crc32c": load.RefillBefore,
		"--buffer_compress_percentage=50": load.RefillBefore, "--buffer_compress_percentage=50 --refill_buffers=0": "", "--buffer_compress_percentage=100": "",
		"--dedupe_percentage=50": load.RefillBefore, "--dedupe_percentage=50 --refill_buffers=0": "", "--refill_buffers=0 --dedupe_percentage=50": load.RefillBefore,
		"--zero_buffers --refill_buffers": "", "--refill_buffers --buffer_pattern=0x12": "", "--rw=read --refill_buffers": "",
		"--verify=pattern --verify_pattern=0x12 --refill_buffers": "",
	} {
		test, err := Parse(strings.Fields("--name=a --rw=write --size=1m "+line), Source{})
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := test.stages[0][0].spec.Job.Refill; got != want {
			t.Errorf("%s: refill %q, want %q", line, got, want)
		}
	}
}

// TestShareOfAnySize: a percentage of a region that ends just below the greatest number is no small one.
func TestShareOfAnySize(t *testing.T) {
	for _, c := range []struct {
		size, share string
		want        int64
	}{
		{"9223372036854775807", "100%", math.MaxInt64}, {"9223372036854775807", "50%", math.MaxInt64 / 2},
		{"1m", "50%", 1 << 19}, {"1m", "100%", 1 << 20},
	} {
		test, err := Parse([]string{"--name=x", "--ioengine=null", "--size=" + c.size, "--io_size=" + c.share, "--rw=read", "--bs=4k", "--runtime=1"}, Source{})
		if err != nil {
			t.Fatal(err)
		}
		if got := test.stages[0][0].spec.Job.IOSize; got != c.want {
			t.Errorf("io_size=%s of %s is %d bytes, want %d", c.share, c.size, got, c.want)
		}
	}
}

func TestParseLineAsGetoptDoes(t *testing.T) {
	test, err := Parse([]string{"--bs", "8k", "-rw=randread", "--name", "a", "--size", "1m", "--time_based", "--runtime", "1:30", "--name=b", "--size=2m", "--section=b", "--eta=never"}, Source{})
	if err != nil {
		t.Fatal(err)
	}
	if len(test.jobs) != 1 {
		t.Fatalf("%d jobs, want 1", len(test.jobs))
	}
	if j := test.jobs[0]; j.name != "b" || j.bs.read != 8192 || j.rw != load.RandRead {
		t.Errorf("job %s, bs %d, rw %s; want b, 8192 and randread", j.name, j.bs.read, j.rw)
	}
}

func TestRandomMapIsFios(t *testing.T) {
	for arg, want := range map[string]bool{"--rw=randread": true, "--norandommap": false, "--random_distribution=zipf:1.1": false, "--bssplit=4k/50:8k/50": false, "--percentage_random=50": true, "--rw=randread:8": true, "--ba=16k": false, "--ba=4k": true, "--bs=64k": true, "--rw=read": false} {
		test, err := Parse([]string{"--name=a", "--size=1m", "--rw=randread", arg}, Source{})
		if err != nil {
			t.Fatal(err)
		}
		if got := test.stages[0][0].spec.Job.RandomMap; got != want {
			t.Errorf("%s: RandomMap = %v, want %v", arg, got, want)
		}
		// A job without a runtime is one pass of load's, which always has a map.
		if j := test.stages[0][0].spec.Job; !want && j.RW != load.Read && (j.Runtime == 0 || j.IOSize != 1<<20) {
			t.Errorf("%s: runtime %v, io_size %d: it would be a pass with a map", arg, j.Runtime, j.IOSize)
		}
	}
}

func TestBufferedJobsStartWithoutTheirCache(t *testing.T) {
	for arg, want := range map[string]bool{"--direct=0": true, "--direct=1": false, "--buffered=1": true, "--invalidate=0": false} {
		test, err := Parse([]string{"--name=a", "--size=1m", "--rw=read", arg}, Source{})
		if err != nil {
			t.Fatal(err)
		}
		if got := test.stages[0][0].spec.Invalidate; got != want {
			t.Errorf("%s: Invalidate = %v, want %v", arg, got, want)
		}
	}
}

func TestSizesAndTimesAreFios(t *testing.T) {
	for in, want := range map[string]int64{"4k": 4096, "4K": 4096, "4kb": 4096, "4ki": 4096, "4kib": 4000, "1m": 1 << 20, "1.5g": 3 << 29, "0x200": 512, "7": 7, "2T": 2 << 40} {
		if got, err := parseSize(in, 1024); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	if got, err := parseSize("4kib", 1000); err != nil || got != 4096 {
		t.Errorf("parseSize(4kib) with kb_base=1000 = %d, %v", got, err)
	}
	for in, want := range map[string]time.Duration{"5": 5 * time.Second, "5us": 5 * time.Microsecond, "2m": 2 * time.Minute, "1:02:03": 3723 * time.Second, "1d": 24 * time.Hour, "1500ms": 1500 * time.Millisecond} {
		if got, err := parseTime(in, time.Second); err != nil || got != want {
			t.Errorf("parseTime(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	if got, err := parseTime("5", time.Microsecond); err != nil || got != 5*time.Microsecond {
		t.Errorf("parseTime(5) of thinktime = %v, %v", got, err)
	}
	for in, want := range patterns {
		if got, err := parsePattern(in); err != nil || string(got) != want {
			t.Errorf("parsePattern(%q) = % x, %v, want % x", in, got, err, want)
		}
	}
	for _, in := range []string{`"ab"-0xff`, `0x`, `0xzz`, `x`, `"ab`, `-`, `1-`, `4294967296`, `12 13`} {
		if got, err := parsePattern(in); err == nil {
			t.Errorf("parsePattern(%q) = % x", in, got)
		}
	}
}

// kubestr's default job (the shape of it) is what Go tools around fio run.
func TestParseWhatToolsRun(t *testing.T) {
	dir := filepath.Join("testdata", "jobs")
	all, err := os.ReadDir(dir)
	if err != nil || len(all) < 3 {
		t.Fatalf("%d jobs, %v", len(all), err)
	}
	for _, f := range all {
		test, err := Parse([]string{f.Name()}, fileSourceFor(dir))
		if err != nil {
			t.Errorf("%s: %v", f.Name(), err)
			continue
		}
		for _, s := range test.stages {
			for _, c := range s {
				if _, err := json.Marshal(c.spec); err != nil {
					t.Errorf("%s: %v", f.Name(), err)
				}
			}
		}
	}
}

func fileSourceFor(dir string) Source {
	return Source{
		ReadFile: func(name string, _ int64) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) },
		Env:      func(string) string { return "64m" },
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"--name=a --rw=randrw --bssplit=4k/10:8k/90,16k --size=1g --rate_iops=5,6",
		"x.fio\n[global]\nbs=4k\n[a]\nrw=read:8k\nsize=10%\nfilename=a:b\\:c\ninclude x.fio",
		"x.fio\n[a]\nsize=${A}\nsteadystate=bw_slope:1%\nss_dur=5\nbuffer_pattern=\"a\"-0xff-3",
		"--name=a --size=9223372036854775807 --offset_increment=9223372036854775807 --numjobs=1024 --nrfiles=16",
		"--name=a --filesize=1p --nrfiles=4096 --io_size=99% --loops=2147483647 --number_ios=9223372036854775",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		line, file, _ := strings.Cut(in, "\n")
		fuzztest.Bounded(t, in, func() {
			test, err := Parse(strings.Fields(line), memory(map[string]string{"x.fio": file}, map[string]string{"A": "1m"}))
			if err != nil {
				dialecttest.Usage(t, err)
				return
			}
			for _, s := range test.stages {
				for _, c := range s {
					if err := c.spec.Job.Validate(); err != nil {
						t.Errorf("Parse let through what load refuses: %v", err)
					}
				}
			}
		})
	})
}

// patterns are values of buffer_pattern and their bytes.
var patterns = map[string]string{
	`"ab"-120xdeadface`:  "ab\xf4\xff\xff\xff\xde\xad\xfa\xce",
	`0xdeadface"abcd"-1`: "\xde\xad\xfa\xceabcd\xff\xff\xff\xff",
	`0xff0x14`:           "\xff\x14",
	`0xabc`:              "\x0a\xbc",
	`258`:                "\x02\x01",
	`0"x"`:               "\x00x",
}

// A section's closing bracket may be missing: fio takes the last letter off in any case.
func TestSectionWithoutItsBracket(t *testing.T) {
	test, err := Parse([]string{"x.fio"}, memory(map[string]string{"x.fio": "[global]\nrw=read\nsize=1m\n[bs=64K\nbs=64K\n"}, nil))
	if err != nil || test.jobs[0].name != "bs=64" || !strings.Contains(strings.Join(test.notes, "\n"), "call it bs=64") {
		t.Errorf("%v, %+v", err, test)
	}
	if _, err := Parse([]string{"x.fio"}, memory(map[string]string{"x.fio": "[\nrw=read\n"}, nil)); err == nil {
		t.Error("a section without a name is taken")
	}
}
