package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/load"
)

func TestValidate(t *testing.T) {
	job := load.Job{RW: load.RandRead, Size: 1 << 20}
	for _, row := range []struct {
		name string
		spec Spec
		want string
	}{
		{"unknown kind", Spec{Kind: "swim"}, "is not one of"},
		{"count below", Spec{Kind: Append, Count: -1}, "count"},
		{"count above", Spec{Kind: Tree, Count: MaxCount + 1}, "count"},
		{"bs below", Spec{Kind: WAL, BS: -1}, "bs"},
		{"bs above", Spec{Kind: WAL, BS: MaxBS + 1}, "bs"},
		{"runtime below", Spec{Kind: WAL, Runtime: -1}, "runtime"},
		{"block without pattern", Spec{Kind: Block}, "rw"},
		{"no kind is block", Spec{Job: load.Job{RW: "sideways"}}, "rw"},
		{"block", Spec{Kind: Block, Job: job}, ""},
		{"append", Spec{Kind: Append}, ""},
		{"bounds", Spec{Kind: Tree, Count: MaxCount, BS: MaxBS}, ""},
	} {
		err := row.spec.Validate()
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: Validate() = %v, want %q", row.name, err, row.want)
		}
	}
}

func TestWithDefaults(t *testing.T) {
	for _, row := range []struct{ in, want Spec }{
		{Spec{}, Spec{Kind: Block, Job: load.Job{BS: 4096, IODepth: 1, NumJobs: 1}}},
		{Spec{Kind: Block, Job: load.Job{BS: 512, IODepth: 2, NumJobs: 3}}, Spec{Kind: Block, Job: load.Job{BS: 512, IODepth: 2, NumJobs: 3}}},
		{Spec{Kind: Append}, Spec{Kind: Append, Count: 10_000, BS: 64}},
		{Spec{Kind: Append, Count: 1, BS: 2}, Spec{Kind: Append, Count: 1, BS: 2}},
		{Spec{Kind: WAL}, Spec{Kind: WAL, BS: 2300, Runtime: time.Second}},
		{Spec{Kind: Tree}, Spec{Kind: Tree, Count: 360, BS: 16 << 10}},
	} {
		if diff := cmp.Diff(row.want, row.in.WithDefaults()); diff != "" {
			t.Errorf("%+v.WithDefaults(): %s", row.in, diff)
		}
	}
}

func TestValue(t *testing.T) {
	iops, bandwidth := Metric{"IOPS", "1/s"}, Metric{"bandwidth", "B/s"}
	class := func(name string, ops, bytes int64) load.Class { return load.Class{Name: name, Ops: ops, Bytes: bytes} }
	for _, row := range []struct {
		name                string
		classes             []load.Class
		ops, read, written  int64
		perSecond, bytesSec float64
	}{
		{name: "nothing"},
		{"sync alone", []load.Class{class("sync", 9, 0)}, 0, 0, 0, 0, 0},
		{"read", []load.Class{class("read", 10, 4000)}, 10, 4000, 0, 5, 2000},
		{"mixed with syncs", []load.Class{class("read", 10, 4000), class("write", 4, 1000), class("sync", 2, 0)}, 14, 4000, 1000, 7, 2500},
		{"writes with syncs", []load.Class{class("write", 4, 1000), class("sync", 4, 0)}, 4, 0, 1000, 2, 500},
		{"append", []load.Class{class("append", 4, 256)}, 4, 0, 256, 2, 128},
		{"wal", []load.Class{class("commit", 4, 400), class("write", 4, 400), class("sync", 4, 0)}, 4, 0, 400, 2, 200},
		{"tree", []load.Class{class("file", 4, 0), class("stat", 4, 0), class("read", 4, 400), class("write", 4, 300)}, 4, 400, 300, 2, 0},
	} {
		r := Result{Elapsed: 2 * time.Second, Classes: row.classes}
		read, written := r.Bytes()
		if r.Ops() != row.ops || read != row.read || written != row.written {
			t.Errorf("%s: Ops, Bytes = %d, %d, %d, want %d, %d, %d", row.name, r.Ops(), read, written, row.ops, row.read, row.written)
		}
		if v, b := r.Value(iops), r.Value(bandwidth); v != row.perSecond || b != row.bytesSec {
			t.Errorf("%s: Value = %v/s, %v B/s, want %v, %v", row.name, v, b, row.perSecond, row.bytesSec)
		}
		r.Elapsed = 0
		if v := r.Value(iops); v != 0 {
			t.Errorf("%s: Value of an empty window = %v, want 0", row.name, v)
		}
	}
}

func TestMetric(t *testing.T) {
	for _, row := range []struct {
		spec Spec
		want string
	}{
		{Spec{}, "IOPS"},
		{Spec{Kind: Block, Job: load.Job{BS: 64<<10 - 1}}, "IOPS"},
		{Spec{Kind: Block, Job: load.Job{BS: 64 << 10}}, "bandwidth"},
		{Spec{Kind: Append}, "appends"},
		{Spec{Kind: WAL, BS: 1 << 20}, "commits"},
		{Spec{Kind: Tree}, "files"},
	} {
		if got := row.spec.Metric().Name; got != row.want {
			t.Errorf("%+v.Metric() = %s, want %s", row.spec, got, row.want)
		}
	}
}
