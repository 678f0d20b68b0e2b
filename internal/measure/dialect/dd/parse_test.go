package dd

import (
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/testkit/fuzztest"
	"plimsoll/internal/testkit/golden"
)

func TestParseRefuses(t *testing.T) {
	var sheet golden.Sheet
	for _, line := range []string{
		"if=/dev/zero of=f bs=4Q count=1",
		"if=/dev/zero of=f bs=1M",
		"if=a of=b bs=1M",
		"if=/dev/zero of=f cuont=1",
		"if=/dev/zero of=f count=1 oflag=dircet",
		"if=/dev/zero of=f count=1 conv=ucase",
		"if=/dev/zero of=f count=1 if=x",
		"if=/dev/zero of=/dev/null count=1",
		"of=f count=1",
		"if=f of=/dev/null iflag=append",
		"if=f of=/dev/null conv=fsync",
		"if=/dev/zero of=f count=1 conv=nocreat,excl",
		"if=/dev/zero of=f count=99999999999999G",
		"if=f of=/dev/null bs=1M skip=17592186044416",
		"if=f of=/dev/null bs=1G skip=8589934591",
		"if=/dev/zero of=f bs=1M count=1 conv=notrunc seek=17592186044416",
		"if=f of=/dev/null skip=1 iseek=2",
		"if=/dev/zero of=f count=1 oseek=1 seek=2",
		"if=f of=/dev/null bs=4k ibs=garbage",
		"if=f of=/dev/null count=",
		"if=f of=/dev/null iseek=",
		"if=f of=/dev/null obs=",
		"if=/dev/zero of=f bs=2G count=1",
		"if=/dev/zero of=f bs=4K count=5000B",
		"if=/dev/zero of=f ibs=4K obs=8K count=1",
		"if=/dev/zero of=f ibs=1M count=1",
		"if=/dev/zero of=f bs=1000 count=1 oflag=direct",
		"if=f of=/dev/null iflag=direct bs=700",
		"if=/dev/zero of=f obs=1M count=1",
		"count",
		"if=/dev/zero of=f count=1 status=verbose",
	} {
		_, err := Parse(strings.Fields(line), nil)
		sheet.Add(line, err)
	}
	sheet.Check(t, "refused.txt")
}

func FuzzParse(f *testing.F) {
	f.Add("if=/dev/zero of=f bs=1M count=10 oflag=direct conv=fsync,notrunc seek=2")
	f.Add("if=f of=/dev/null bs=2x512 count=4kB iflag=count_bytes status=none")
	f.Fuzz(tryLine)
}

// TestHostileLines: what is much too long is answered too, in bounds.
func TestHostileLines(t *testing.T) {
	for _, hostile := range []string{"bs=" + strings.Repeat("2x", 1<<16), "conv=" + strings.Repeat("fsync,", 1<<16), "count=" + strings.Repeat("9", 1<<16), strings.Repeat("oflag=dsync ", 1<<14)} {
		tryLine(t, "if=/dev/zero of=f "+hostile)
	}
}

// tryLine parses a line within bounds, and lowers what it asks for.
func tryLine(t *testing.T, line string) {
	fuzztest.Bounded(t, line, func() {
		test, err := Parse(strings.Fields(line), nil)
		if err != nil {
			dialecttest.Usage(t, err)
			return
		}
		j := test.job(&dialecttest.Local{Dir: "/d"})
		if err := j.Job.Validate(); err != nil && !strings.Contains(err.Error(), "direct I/O") && !strings.Contains(err.Error(), "beyond any file") {
			t.Errorf("%q makes a job that is refused: %v", line, err)
		}
	})
}
