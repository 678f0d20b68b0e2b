package orion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/texttest"
)

// run runs a line in a folder of its own and returns what it printed and what its files hold, by kind.
func run(t *testing.T, ctx context.Context, list string, destructive []string, line string) (string, map[string]string, *dialecttest.Local, error) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	if list != "" {
		if err := os.WriteFile("t.lun", []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	test, err := Parse(strings.Fields(line+" -testname t"), destructive, dialecttest.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	s := &dialecttest.Local{Dir: dir}
	var out, errs bytes.Buffer
	err = test.Run(ctx, s, &out, &errs)
	files := map[string]string{}
	for _, kind := range fileKinds {
		found, _ := filepath.Glob("t_????????_????_" + kind)
		for _, f := range found {
			text, rerr := os.ReadFile(f)
			if rerr != nil {
				t.Fatal(rerr)
			}
			files[kind] = string(text)
		}
	}
	return out.String(), files, s, err
}

// number is any figure, in a pattern.
const number = `[0-9]+(\.[0-9]+)?`

// TestRunMeasuresBothClassesAtOnce runs a real point of small random I/Os beside large streams,
// on two files.
func TestRunMeasuresBothClassesAtOnce(t *testing.T) {
	out, files, s, err := run(t, context.Background(), "a\nb\n", nil,
		"-run advanced -matrix max -num_small 1 -num_large 1 -type seq -cache_size 4 -duration 1 --lun-size 16MiB -verbose -num_disks 1")
	if err != nil {
		t.Fatal(err)
	}
	latency := `Small Read Latency: avg=N us, min=N us, max=N us, std dev=N us @ Small=1 and Large=[01]\n`
	want := `^ORION: ORacle IO Numbers -- Version 12\.2\.0\.1\.0\nt_\d{8}_\d{4}\nCalibration will take approximately 2 minutes\.\nUsing a large value for -cache_size may take longer\.\n\n` +
		`(Point [123] of 3: Small=[01] Large=[01] IOPS=N Latency=N us MBPS=N\n){3}` +
		`Maximum Large MBPS=N @ Small=[01] and Large=1\n\nMaximum Small IOPS=N @ Small=1 and Large=[01]\n` + latency + `\nMinimum Small Latency=N usecs @ Small=1 and Large=[01]\n` + latency +
		`Small Read / Write Latency Histogram @ Small=1 and Large=[01]\n        Latency:  .*\n( .*us:.*%\).*%\)\n)+$`
	if !matches(want, out) {
		t.Errorf("it prints\n%s", out)
	}
	if len(files) != len(fileKinds) {
		t.Errorf("files: %v", files)
	}
	if !strings.Contains(files[summaryFile], "Name: a\tSize: 16777216\nName: b\tSize: 16777216\n2 files found.\n") {
		t.Errorf("summary:\n%s", files[summaryFile])
	}
	// 3 points; before the two with streams the cache is filled.
	if len(s.Stages) != 5 {
		t.Fatalf("%d stages", len(s.Stages))
	}
	both := s.Stages[4]
	if len(both) != 2 || both[0].Name != smallJob || both[1].Name != largeJob {
		t.Errorf("last stage: %+v", both)
	}
	for _, j := range s.Results[4].Stage {
		if j.Ops() == 0 {
			t.Errorf("%s did nothing", j.Name)
		}
	}
	if n := strings.Count(files[histFile], "Histogram @"); n != 4 {
		t.Errorf("%d histograms:\n%s", n, files[histFile])
	}
	if n := strings.Count(files[traceFile], "\n"); n != 5 {
		t.Errorf("trace:\n%s", files[traceFile])
	}
}

// matches compares a text with a pattern in which N behind = stands for a figure.
func matches(pattern, text string) bool {
	return regexp.MustCompile(strings.ReplaceAll(pattern, "=N", "="+number)).MatchString(text)
}

func TestRunWrites(t *testing.T) {
	out, _, _, err := run(t, context.Background(), "", nil, "-run advanced -matrix point -num_small 2 -num_large 0 -write 50 -duration 1 --lun-size 8MiB")
	if err != nil || !strings.Contains(out, "\nSmall Write Latency: avg=") || !strings.Contains(out, "\nSmall Read Latency: avg=") {
		t.Errorf("%s, %v", out, err)
	}
	if st, err := os.Stat("t.dat"); err != nil || st.Size() != 8<<20 {
		t.Errorf("%v, %v", st, err)
	}
}

// TestRunFillsEmptyFiles: an empty file is like one that doesn't exist, and its size is that which it gets.
func TestRunFillsEmptyFiles(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, files, _, err := run(t, context.Background(), empty+"\n", nil, "-run advanced -matrix point -num_small 1 -num_large 0 -duration 1 --lun-size 8MiB")
	if err != nil || !strings.Contains(files[summaryFile], "Name: "+empty+"\tSize: 8388608\n") {
		t.Errorf("%s, %v", files[summaryFile], err)
	}
}

func TestRunSparesData(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.WriteFile(data, bytes.Repeat([]byte("precious"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	const line = "-run advanced -matrix point -num_small 1 -num_large 0 -write 100 -duration 1"
	out, files, _, err := run(t, context.Background(), data+"\n", nil, line)
	var over *workload.OverwriteError
	if !errors.As(err, &over) || !strings.Contains(err.Error(), "--destructive "+data) {
		t.Errorf("%s, %v", out, err)
	}
	if len(files) != 0 {
		t.Errorf("it leaves %v", files)
	}
	if _, _, _, err := run(t, context.Background(), data+"\n", []string{data}, line); err != nil {
		t.Error(err)
	}
}

func TestRunNeedsTheFiles(t *testing.T) {
	_, files, s, err := run(t, context.Background(), "missing\n", nil, "-run simple")
	if err == nil {
		t.Fatal("it runs without the file")
	}
	texttest.Has(t, err.Error(), []string{"missing does not exist", "--lun-size"})
	if len(s.Stages) != 0 || len(files) != 0 {
		t.Errorf("%d stages ran, and left %v", len(s.Stages), files)
	}
}

// TestRunMakesNoDevices: a misspelt device must not become a file in memory.
func TestRunMakesNoDevices(t *testing.T) {
	const name = "/dev/plimsoll-no-such-device"
	_, _, s, err := run(t, context.Background(), name+"\n", nil, "-run simple --lun-size 1MiB")
	if err == nil || !strings.Contains(err.Error(), "there is no device "+name) || len(s.Stages) != 0 {
		t.Error(err)
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("it was made")
		os.Remove(name)
	}
}

// TestRunKeepsWhatWasMeasured stops a run after its first points.
func TestRunKeepsWhatWasMeasured(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	test, err := Parse(strings.Fields("-run simple -duration 1 --lun-size 8MiB -testname t"), nil, dialecttest.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &stopping{Local: dialecttest.Local{Dir: dir}, after: 2, stop: cancel}
	var out, errs bytes.Buffer
	if err := test.Run(ctx, s, &out, &errs); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	found, _ := filepath.Glob("t_*_iops.csv")
	if len(found) != 1 {
		t.Fatal(found)
	}
	text, err := os.ReadFile(found[0])
	if err != nil || strings.Count(string(text), ",") != 7 {
		t.Errorf("%s, %v", text, err)
	}
	if strings.Contains(out.String(), "Large MBPS") || !strings.Contains(out.String(), "Maximum Small IOPS") {
		t.Error(out.String())
	}
}

// TestRunsOfOneMinuteKeepTheirFiles: names have the minute only, but no run overwrites another's results.
func TestRunsOfOneMinuteKeepTheirFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	test := parse(t, 1, "-run simple")
	now := time.Date(2026, 11, 21, 7, 50, 9, 0, time.UTC)
	for i, want := range []string{"20261121_0750", "20261121_075009", ""} {
		stamp, files, err := test.create(now)
		if want == "" {
			if !errors.Is(err, os.ErrExist) {
				t.Errorf("a third run: %v", err)
			}
			continue
		}
		if err != nil || stamp != want {
			t.Fatalf("run %d: %s, %v", i, stamp, err)
		}
		if err := fill(files, map[string]string{summaryFile: want}); err != nil {
			t.Fatal(err)
		}
	}
	for _, stamp := range []string{"20261121_0750", "20261121_075009"} {
		if text, err := os.ReadFile("orion_" + stamp + "_summary.txt"); err != nil || string(text) != stamp {
			t.Errorf("%s: %q, %v", stamp, text, err)
		}
	}
	if all, _ := filepath.Glob("*"); len(all) != 2*len(fileKinds) {
		t.Error(all)
	}
}

// TestAssumedLoadsAreSaid: only of dss nothing is known.
func TestAssumedLoadsAreSaid(t *testing.T) {
	for line, want := range map[string]string{"-run oltp": "", "-run simple": "", "-run advanced -matrix col -num_small 0": "", "-run dss": "1 to 30 large I/Os by ones to 2, then in steps of 2"} {
		var b bytes.Buffer
		parse(t, 2, line).warn(&b, []int64{1 << 20, 1 << 20})
		if got := b.String(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestFilesOfSeveralSizes(t *testing.T) {
	test := parse(t, 2, "-run simple")
	var b bytes.Buffer
	test.warn(&b, []int64{1 << 20, 2 << 20})
	test.warn(&b, []int64{-1, 2 << 20})
	if got, want := b.String(), fmt.Sprintf("plimsoll: the files in orion.lun have several sizes; of each the first %d bytes are used\n", 1<<20); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
