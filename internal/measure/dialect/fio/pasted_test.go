package fio

import (
	"strings"
	"testing"
)

// TestPastedJobFile: the lines of a job file that was copied from a web page have typographic dashes, which are read as those of a command line are.
func TestPastedJobFile(t *testing.T) {
	file := "[a]\n\u2013-direct=1\n\u2014bs=8k\nrw=read\nsize=1m\n"
	test, err := Parse([]string{"a.fio"}, Source{ReadFile: func(string, int64) ([]byte, error) { return []byte(file), nil }})
	if err != nil {
		t.Fatal(err)
	}
	if j := test.stages[0][0].spec.Job; !j.Direct || j.BS != 8192 {
		t.Errorf("the job is %+v, want direct=1 and bs=8k", j)
	}
	if got := strings.Join(test.notes, "\n"); !strings.Contains(got, "a.fio:2: typographic dashes") || !strings.Contains(got, "plain ones: bs=8k") {
		t.Errorf("notes %q", got)
	}
}
