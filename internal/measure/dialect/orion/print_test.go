package orion

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/hist"
)

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
