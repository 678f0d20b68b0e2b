package orion

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/hist"
	"plimsoll/internal/dialect"
	"plimsoll/internal/dialect/dialecttest"
	"plimsoll/load"
)

// luns is a reader of one list with n files, which belongs to each name.
func luns(n int) dialect.FileReader {
	return func(string, int64) ([]byte, error) {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "/data/lun%d\r\n", i+1)
		}
		return []byte(b.String() + "\n"), nil
	}
}

func parse(t *testing.T, files int, line string) *Test {
	t.Helper()
	test, err := Parse(strings.Fields(line), nil, luns(files))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return test
}

func TestParseRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"":                            "give -run simple",
		"-run":                        "-run: needs a value",
		"-run simpel":                 "did you mean simple?",
		"-run simple -run oltp":       "argument 3, -run oltp: was given before: argument 1, -run simple",
		"-rum simple":                 "did you mean -run?",
		"-run simple -num_disk 4":     "argument 3, -num_disk: is unknown; did you mean -num_disks?",
		"–run simple":                 "type the hyphen: -run",
		"run simple":                  "begin with a hyphen",
		"-run simple -matrix point":   "only -run advanced",
		"-run simple -num_small 4":    "only -run advanced",
		"-run advanced -matrix point": "needs -num_small",
		"-run advanced -num_large 4":  "not with basic",
		"-run advanced -write 101":    "from 0 to 100",
		"-run simple -size_small x":   "whole number",
		"-run simple -duration 0":     "from 1 to",
		"-run simple -storax asmlib":  "need Oracle's libraries",
		"-run simple -num_streamIO 8": "add -type seq",
		"-run simple -stripe 64":      "add -simulate raid0",
		"-run simple --lun-size 10M":  "10M",
		"-run simple --lun-size=10kB": "whole MiB",
		"-run simple -zzz":            "the options are -run",
		"-run simple -testname":       "needs a value",
		"-run simple -help":           "use --help",
		"-run normal -num_disks 1000": "data points",
		"-run oltp -num_disks 1000":   "I/Os in flight",
		"-run advanced -type seq -matrix point -num_small 0 -num_large 2000":                              "sequential streams",
		"-run advanced -matrix point -num_small 0 -num_large 0":                                           "no load",
		"-run advanced -type seq -simulate raid0 -stripe 64":                                              "-size_large",
		"-run advanced -matrix row -num_small 4 -num_large 3":                                             "point, col or max",
		"-run advanced -matrix col -num_small 99999999999999999999":                                       "whole number",
		"-run simple -cache_size -1":                                                                      "from 0 to",
		"-run advanced -write 50 -matrix basic -type rand -size_large 1024 -simulate raid0 -stripe 9 --x": "--x: is unknown",
	} {
		_, err := Parse(strings.Fields(line), nil, luns(2))
		var usage *dialect.UsageError
		if err == nil || !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func TestParseReadsTheList(t *testing.T) {
	list := func(text string, err error) dialect.FileReader {
		return func(name string, _ int64) ([]byte, error) {
			if name != "a/t.lun" {
				t.Errorf("read %s", name)
			}
			return []byte(text), err
		}
	}
	for _, c := range []struct {
		text, line string
		err        error
		want       []string
		fails      string
	}{
		{text: " /x y \r\n\n/z", want: []string{"/x y", "/z"}},
		{err: fs.ErrNotExist, fails: "a/t.lun: does not exist; it has to list the files"},
		{err: fs.ErrNotExist, line: " --lun-size 64MiB", want: []string{"a/t.dat"}},
		{err: fs.ErrPermission, line: " --lun-size 64MiB", fails: "permission"},
		{text: "\n \n", fails: "names no file"},
		{text: "/a\n/b\n/a\n", fails: "names /a twice"},
		{text: "/a\x00", fails: "NUL"},
		{text: strings.Repeat("x", 2<<20), fails: "longer than"},
		{text: "/a", line: " --destructive-not", fails: "is unknown"},
	} {
		test, err := Parse(strings.Fields("-run simple -testname a/t"+c.line), nil, list(c.text, c.err))
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%.20q: %v, want %q", c.text, err, c.fails)
			}
			continue
		}
		if err != nil || !slices.Equal(test.LUNs, c.want) {
			t.Errorf("%.20q: %v, %v", c.text, test, err)
		}
	}
}

func TestDestructiveNamesFilesOfTheList(t *testing.T) {
	args := strings.Fields("-run oltp -write 20")
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{nil, ""},
		{[]string{"/data/lun1", "/data/lun2"}, ""},
		{[]string{"/data/lun1"}, "add --destructive /data/lun2"},
		{[]string{"/data/lun3"}, "is none of the files"},
	} {
		_, err := Parse(args, c.paths, luns(2))
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.paths, err, c.want)
		}
	}
}

// TestMatrixIsOrions has the counts and times that published runs announced: simple with 1, 2 and 6
// disks, normal with 1, oltp with 1 and 3. Those of dss are assumed: no such run was found.
func TestMatrixIsOrions(t *testing.T) {
	for _, c := range []struct {
		line                   string
		files, points, minutes int
	}{
		{"-run simple", 1, 8, 9},
		{"-run simple", 2, 15, 16},
		{"-run simple -num_disks 1", 2, 8, 9},
		{"-run simple", 6, 43, 44},
		{"-run normal", 1, 18, 19},
		{"-run oltp", 1, 21, 22},
		{"-run oltp", 3, 23, 24},
		{"-run dss", 1, 16, 17},
		{"-run dss", 3, 18, 19},
		{"-run advanced -duration 30", 1, 8, 5},
		{"-run advanced -matrix point -num_small 3 -num_large 4", 1, 1, 2},
		{"-run advanced -matrix row -num_large 0 -num_disks 5", 1, 26, 27},
		{"-run advanced -matrix col -num_small 500", 1, 3, 4},
		{"-run advanced -matrix max -num_small 2 -num_large 1", 3, 6, 7},
	} {
		test := parse(t, c.files, c.line)
		if test.matrix.total != c.points || test.minutes() != c.minutes {
			t.Errorf("%s with %d files: %d points, %d minutes, want %d, %d", c.line, c.files, test.matrix.total, test.minutes(), c.points, c.minutes)
		}
		if slices.Contains(test.matrix.points, Load{}) {
			t.Errorf("%s measures no load", c.line)
		}
	}
	if p := parse(t, 4, "-run oltp").matrix.points; !slices.Contains(p, Load{4, 0}) || !slices.Contains(p, Load{68, 0}) || p[len(p)-1] != (Load{80, 0}) {
		t.Errorf("oltp with 4 disks: %v", p)
	}
	want := []Load{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {0, 1}, {0, 2}}
	if diff := cmp.Diff(want, parse(t, 1, "-run simple").matrix.points); diff != "" {
		t.Error(diff)
	}
}

// filled returns a point with n small reads of us microseconds and n large ones.
func filled(p Load, iops int64, us float64, mbps float64) measured {
	m := measured{Load: p, small: newSide(), large: newSide(), engine: "io_uring"}
	m.small.elapsed, m.large.elapsed = time.Second, 10*time.Second
	if p.Small > 0 {
		m.small.ops, m.small.bytes = iops, iops*8192
		m.small.read.RecordN(int64(us*1000), uint64(iops))
		m.small.both.Merge(m.small.read)
	}
	if p.Large > 0 {
		m.large.ops, m.large.bytes = int64(mbps*10), int64(mbps*10*(1<<20))
		m.large.read.RecordN(3e6, uint64(m.large.ops))
		m.large.both.Merge(m.large.read)
	}
	return m
}

// TestTablesAreOrions rebuilds the three tables of a published run of 11.1 (mytest_20190329_1057, with 128,
// 128 and 100 bytes), but for the latencies, which are microseconds since 11.2.
func TestTablesAreOrions(t *testing.T) {
	test := parse(t, 1, "-run simple -testname mytest -num_disks 1")
	var all []measured
	for i, n := range []int64{2302, 4398, 5450, 6006, 6210} {
		all = append(all, filled(Load{i + 1, 0}, n, []float64{0.43, 0.45, 0.55, 0.67, 0.80}[i], 0))
	}
	all = append(all, filled(Load{0, 1}, 0, 0, 271.58), filled(Load{0, 2}, 0, 0, 374.26))
	got := test.contents(all, []int64{1})
	for kind, want := range map[string]string{
		iopsFile: "Large/Small,      1,      2,      3,      4,      5\n          0,   2302,   4398,   5450,   6006,   6210\n          1\n          2\n",
		latFile:  "Large/Small,      1,      2,      3,      4,      5\n          0,   0.43,   0.45,   0.55,   0.67,   0.80\n          1\n          2\n",
		mbpsFile: "Large/Small,      0,      1,      2,      3,      4,      5\n          1, 271.58\n          2, 374.26\n",
	} {
		if diff := cmp.Diff(want, got[kind]); diff != "" {
			t.Errorf("%s:\n%s", kind, diff)
		}
	}
	if len(got[iopsFile]) != 128 || len(got[latFile]) != 128 || len(got[mbpsFile]) != 100 {
		t.Errorf("%d, %d, %d bytes", len(got[iopsFile]), len(got[latFile]), len(got[mbpsFile]))
	}
}

// TestTablesAreCSV reads a full matrix with a program's eyes.
func TestTablesAreCSV(t *testing.T) {
	test := parse(t, 1, "-run normal")
	var all []measured
	for _, p := range test.matrix.points {
		all = append(all, filled(p, int64(1000*p.Small), 100, float64(10*p.Large+p.Small)))
	}
	rows := cells(t, test.contents(all, []int64{1})[mbpsFile])
	want := [][]string{{"Large/Small", "0", "1", "2", "3", "4", "5"}, {"1", "10.00", "11.00", "12.00", "13.00", "14.00", "15.00"}, {"2", "20.00", "21.00", "22.00", "23.00", "24.00", "25.00"}}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
}

// TestReadAsAzuresParser reads the tables of a simple run as the log reader of Microsoft's azure-linux-automation does (class
// OrionLogsReader): the first line names the columns, the key column is Large/Small, and what a row hasn't wasn't measured.
func TestReadAsAzuresParser(t *testing.T) {
	test := parse(t, 1, "-run simple")
	var all []measured
	for _, p := range test.matrix.points {
		all = append(all, filled(p, int64(1000*p.Small), 100, float64(10*p.Large)))
	}
	files := test.contents(all, []int64{1})
	got := map[string]string{}
	for _, kind := range []string{iopsFile, latFile, mbpsFile} {
		rows := cells(t, files[kind])
		for _, row := range rows[1:] {
			for i, v := range row[1:] {
				if rows[0][0] != "Large/Small" || v == "" {
					t.Errorf("%s: %q", kind, row)
				}
				got[kind+" "+row[0]+"/"+rows[0][i+1]] = v
			}
		}
	}
	want := map[string]string{"mbps.csv 1/0": "10.00", "mbps.csv 2/0": "20.00"}
	for i := 1; i <= 5; i++ {
		want[fmt.Sprintf("iops.csv 0/%d", i)], want[fmt.Sprintf("lat.csv 0/%d", i)] = fmt.Sprint(1000*i), "100.00"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// cells reads a table whose rows may be short.
func cells(t *testing.T, text string) [][]string {
	t.Helper()
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace, r.FieldsPerRecord = true, -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestHistogramIsOrions rebuilds the table of a published run of 19.3.
func TestHistogramIsOrions(t *testing.T) {
	m := measured{Load: Load{2, 0}, small: newSide()}
	for us, n := range map[int64]uint64{40: 1, 100: 1112243, 200: 102320, 300: 5434, 600: 405, 1500: 259, 2133: 2} {
		m.small.read.RecordN(us*1000, n)
	}
	const want = `Small Read / Write Latency Histogram @ Small=2 and Large=0
        Latency:                         # of IOs (read)          # of IOs (write)
        0 - 32         us:               0 (  0.00%)              0 (  0.00%)
       32 - 64         us:               1 (  0.00%)              0 (  0.00%)
       64 - 128        us:         1112243 ( 91.12%)              0 (  0.00%)
      128 - 256        us:          102320 ( 99.50%)              0 (  0.00%)
      256 - 512        us:            5434 ( 99.95%)              0 (  0.00%)
      512 - 1024       us:             405 ( 99.98%)              0 (  0.00%)
     1024 - 2048       us:             259 (100.00%)              0 (  0.00%)
     2048 - 4096       us:               2 (100.00%)              0 (  0.00%)
     4096 - 268435456  us:               0 (100.00%)              0 (  0.00%)
`
	if diff := cmp.Diff(want, histogram("Small", m.Load, m.small)); diff != "" {
		t.Error(diff)
	}
}

func TestHistogramKeepsTheEnds(t *testing.T) {
	s := newSide()
	if got := histogram("Small", Load{1, 0}, s); strings.Count(got, "\n") != 3 || !strings.Contains(got, "        0 - 268435456  us:") {
		t.Errorf("of nothing: %s", got)
	}
	s.read.Record(0)
	s.write.Record(int64(400 * time.Second))
	got := histogram("Small", Load{1, 0}, s)
	if !strings.Contains(got, "        0 - 32         us:               1 (100.00%)              0 (  0.00%)\n") ||
		!strings.HasSuffix(got, "\n") {
		t.Error(got)
	}
	reads, writes := bucketed(s.read), bucketed(s.write)
	if reads[0] != 1 || slices.Max(writes[:]) != 1 {
		t.Errorf("%v %v", reads, writes)
	}
}

func TestMaximaAreOrions(t *testing.T) {
	all := []measured{filled(Load{1, 0}, 2302, 430, 0), filled(Load{5, 0}, 12679, 392.499, 0), filled(Load{0, 2}, 0, 0, 867.73), filled(Load{0, 1}, 0, 0, 800)}
	all[1].small.read = new(hist.Histogram)
	all[1].small.read.Record(198667)
	all[1].small.read.Record(586331)
	all[1].small.both = all[1].small.read
	got := maxima(all)
	want := "Maximum Large MBPS=867.73 @ Small=0 and Large=2\n\n" +
		"Maximum Small IOPS=12679 @ Small=5 and Large=0\n" +
		"Small Read Latency: avg=392.499 us, min=198.667 us, max=586.331 us, std dev=193.024 us @ Small=5 and Large=0\n\n" +
		"Minimum Small Latency=392.499 usecs @ Small=5 and Large=0\n" +
		"Small Read Latency: avg=392.499 us, min=198.667 us, max=586.331 us, std dev=193.024 us @ Small=5 and Large=0\n" +
		"Small Read / Write Latency Histogram @ Small=5 and Large=0\n"
	if !strings.HasPrefix(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

// TestSummaryIsOrions has the head of a published summary of 11.1, with the two lines that are known of 12:
// 11.1 has "Duration for each Data Point" and "1 FILEs found."
func TestSummaryIsOrions(t *testing.T) {
	test := parse(t, 1, "-run simple")
	got := test.summary(nil, []int64{21474836480})
	want := "ORION VERSION " + version + `

Commandline:
-run simple

This maps to this test:
Test: orion
Small IO size: 8 KB
Large IO size: 1024 KB
IO Types: Small Random IOs, Large Random IOs
Simulated Array Type: CONCAT
Write: 0%
Cache Size: Not Entered
Duration for each data point: 60 seconds
Small Columns:,      0
Large Columns:,      0,      1,      2
Total Data Points: 8

Name: /data/lun1	Size: 21474836480
1 files found.

`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestJobs lowers two classes of load at once, streams that write beside streams that
// read, and the cache's filling.
func TestJobs(t *testing.T) {
	s := &dialecttest.Local{Dir: "/d"}
	test := parse(t, 2, "-run advanced -matrix point -num_small 3 -num_large 4 -type seq -write 25 -num_streamIO 2 -simulate raid0 -cache_size 10 -duration 7")
	jobs := test.jobs(s, test.matrix.points[0])
	if len(jobs) != 3 {
		t.Fatalf("%d jobs", len(jobs))
	}
	small, reads, writes := jobs[0].Job, jobs[1].Job, jobs[2].Job
	if small.RW != load.RandRW || *small.RWMixRead != 75 || small.BS != 8192 || small.IODepth != 3 || small.FileService != load.Random || !small.Direct || small.Runtime != 7*time.Second {
		t.Errorf("small: %+v", small)
	}
	if reads.RW != load.Read || reads.NumJobs != 3 || reads.IODepth != 2 || reads.BS != 1<<20 || reads.FileService != load.RoundRobin {
		t.Errorf("reads: %+v", reads)
	}
	if writes.RW != load.Write || writes.NumJobs != 1 {
		t.Errorf("writes: %+v", writes)
	}
	c := test.cache(s, test.matrix.points[0])
	if len(c) != 1 || c[0].Job.IOSize != 10<<20 || c[0].Job.RW != load.RandWrite {
		t.Errorf("cache: %+v", c)
	}
	if c := parse(t, 1, "-run dss -type seq").cache(s, Load{0, 1}); c[0].Job.Runtime != 2*time.Minute || c[0].Job.IOSize != 0 {
		t.Errorf("default cache: %+v", c)
	}
	for _, line := range []string{"-run dss", "-run dss -type seq -cache_size 0"} {
		if c := parse(t, 1, line).cache(s, Load{0, 1}); c != nil {
			t.Errorf("%s: %+v", line, c)
		}
	}
}

// TestPointsReadOtherBlocks: Orion was seen to read the same blocks over and over. Here each point has
// random places of its own, over the whole of each file.
func TestPointsReadOtherBlocks(t *testing.T) {
	test := parse(t, 1, "-run normal")
	seen := map[uint64]bool{}
	for _, p := range test.matrix.points {
		for _, j := range test.jobs(&dialecttest.Local{Dir: "/d"}, p) {
			if seen[j.Job.RandSeed] || j.Job.Offset != 0 || j.Job.Size != 0 || j.Job.Distribution != "" {
				t.Errorf("%v: %+v", p, j.Job)
			}
			seen[j.Job.RandSeed] = true
		}
	}
}
