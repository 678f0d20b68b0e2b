package orion

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/testkit/fuzztest"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"-run simple -testname mytest -hugenotneeded", "-run advanced -testname mytest -num_disks 40 -simulate raid0 -write 0 -type seq -matrix basic -cache_size 67108864 -verbose",
		"-run advanced -matrix point -num_small 3 -num_large 4 -duration 10 --lun-size=1GiB", "-run oltp -write 20", "-run dss -num_disks 100",
	} {
		f.Add(s, "/data/a\n/data/b\n")
	}
	f.Fuzz(tryLine)
}

// TestHostileLines: what is much too long is answered too, in bounds.
func TestHostileLines(t *testing.T) {
	tryLine(t, "-run simple", strings.Repeat("/data/a\n", 1<<16))
	tryLine(t, "-run simple", distinct(1<<16))
	tryLine(t, "-run simple -duration 2592000", distinct(1000))
	tryLine(t, "-run normal -num_disks 1000", distinct(1000))
	tryLine(t, "-run simple "+strings.Repeat("-verbose ", 1<<16), "/a")
}

// distinct is a list of n files.
func distinct(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

// tryLine parses a line within bounds, and lowers and prints what it asks for.
func tryLine(t *testing.T, line, list string) {
	fuzztest.Bounded(t, []string{line, list}, func() { parseAndLower(t, line, list) })
}

func parseAndLower(t *testing.T, line, list string) {
	test, err := Parse(strings.Fields(line), nil, func(string, int64) ([]byte, error) { return []byte(list), nil })
	if err != nil {
		dialecttest.Usage(t, err)
		return
	}
	s := &dialecttest.Local{Dir: "/d"}
	p := test.matrix.points
	for _, p := range []Load{p[0], p[len(p)-1]} {
		for _, j := range append(test.jobs(s, p), test.cache(s, p)...) {
			if err := j.Job.Validate(); err != nil && !strings.Contains(err.Error(), "buffers would take") {
				t.Errorf("%q makes a job that is refused: %v", line, err)
			}
		}
	}
	if p := test.contents(nil, make([]int64, len(test.LUNs))); len(p) != len(fileKinds) {
		t.Errorf("%q: %d files", line, len(p))
	}
}
