package orion

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/testkit/golden"
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
	var sheet golden.Sheet
	for _, line := range []string{
		"",
		"-run",
		"-run simpel",
		"-run simple -run oltp",
		"-rum simple",
		"-run simple -num_disk 4",
		"–run simple",
		"run simple",
		"-run simple -matrix point",
		"-run simple -num_small 4",
		"-run advanced -matrix point",
		"-run advanced -num_large 4",
		"-run advanced -write 101",
		"-run simple -size_small x",
		"-run simple -duration 0",
		"-run simple -storax asmlib",
		"-run simple -num_streamIO 8",
		"-run simple -stripe 64",
		"-run simple --lun-size 10M",
		"-run simple --lun-size=10kB",
		"-run simple -zzz",
		"-run simple -testname",
		"-run simple -help",
		"-run normal -num_disks 1000",
		"-run oltp -num_disks 1000",
		"-run advanced -type seq -matrix point -num_small 0 -num_large 2000",
		"-run advanced -matrix point -num_small 0 -num_large 0",
		"-run advanced -type seq -simulate raid0 -stripe 64",
		"-run advanced -matrix row -num_small 4 -num_large 3",
		"-run advanced -matrix col -num_small 99999999999999999999",
		"-run simple -cache_size -1",
		"-run advanced -write 50 -matrix basic -type rand -size_large 1024 -simulate raid0 -stripe 9 --x",
	} {
		_, err := Parse(strings.Fields(line), nil, luns(2))
		var usage *dialect.UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%s: %v, want a UsageError", line, err)
		}
		sheet.Add(line, err)
	}
	sheet.Check(t, "refused.txt")
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
	if small.RW != load.RandRW || *small.RWMixRead != 75 || small.FileService != load.Random {
		t.Errorf("small: pattern %s with %d %% reads, files %s, want randrw with 75 %%, random", small.RW, *small.RWMixRead, small.FileService)
	}
	if small.BS != 8192 || small.IODepth != 3 || !small.Direct {
		t.Errorf("small: blocks of %d, depth %d, direct %v, want 8192, 3, true", small.BS, small.IODepth, small.Direct)
	}
	if small.Runtime != 7*time.Second {
		t.Errorf("small: runtime %v, want 7s", small.Runtime)
	}
	if reads.RW != load.Read || reads.FileService != load.RoundRobin {
		t.Errorf("reads: pattern %s, files %s, want read, roundrobin", reads.RW, reads.FileService)
	}
	if reads.NumJobs != 3 || reads.IODepth != 2 || reads.BS != 1<<20 {
		t.Errorf("reads: %d jobs, depth %d, blocks of %d, want 3, 2, 1 MiB", reads.NumJobs, reads.IODepth, reads.BS)
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
			if seen[j.Job.RandSeed] {
				t.Errorf("%v: the seed %d of another point", p, j.Job.RandSeed)
			}
			if j.Job.Offset != 0 || j.Job.Size != 0 || j.Job.Distribution != "" {
				t.Errorf("%v: not the whole file at random: %+v", p, j.Job)
			}
			seen[j.Job.RandSeed] = true
		}
	}
}
