package fio

import (
	"bytes"
	"context"
	"testing"

	"plimsoll/internal/dialect/dialecttest"
)

// run runs a line in dir and returns its output.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	test, err := Parse(args, Source{})
	if err != nil {
		t.Fatal(err)
	}
	var out, notes bytes.Buffer
	if err := test.Run(context.Background(), &dialecttest.Local{Dir: dir}, &out, &notes, RunOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Log(notes.String())
	return out.String()
}

func TestX(t *testing.T) {
	t.Log(run(t, t.TempDir(), "--name=a", "--rw=randrw", "--bs=4k", "--size=4m", "--ioengine=libaio", "--iodepth=4", "--fsync=32", "--output-format=normal,json"))
}
