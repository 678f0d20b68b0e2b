package load

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Every I/O of the window is in the trace, once and in the order of time, as far as there is room.
func TestTraceHasEveryIO(t *testing.T) {
	path := written(t, 1<<20)
	for _, v := range []struct {
		engine             string
		depth, trace, want int
	}{{Null, 4, 1000, 256}, {Null, 1, 100, 100}, {PSync, 1, 1000, 256}} {
		res := start(t, Job{RW: RandRW, BS: 4096, Filename: path, Size: 1 << 20, IODepth: v.depth, IOEngine: v.engine, Trace: v.trace, RandSeed: 1})
		if len(res.Trace) != v.want || res.Ops() != 256 {
			t.Fatalf("%+v: %d of %d I/Os are traced", v, len(res.Trace), res.Ops())
		}
		seen, last := map[int64]bool{}, time.Duration(0)
		for _, o := range res.Trace {
			if o.Offset%4096 != 0 || o.Offset >= 1<<20 || o.Size != 4096 {
				t.Fatalf("%+v is no block of the region", o)
			}
			if seen[o.Offset] {
				t.Fatalf("%+v is there twice", o)
			}
			if o.Lat < 0 || o.End < last {
				t.Fatalf("%+v follows one that ended at %v", o, last)
			}
			seen[o.Offset], last = true, o.End
		}
		text, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		var back Result
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(res.Trace, back.Trace); d != "" {
			t.Error(d)
		}
	}
	for _, bad := range []string{`5`, `"*"`, `"gA=="`, `"AAAAgA=="`} {
		if err := new(Trace).UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	if err := (Job{RW: Read, Size: 4096, IOEngine: Null, Trace: MaxTrace + 1}).Validate(); err == nil {
		t.Error("a trace of more than fits a message is taken")
	}
}

// A message with the longest trace of I/Os that need many digits fits its line.
func TestTraceIsSmall(t *testing.T) {
	var all Trace
	for i := range MaxTrace {
		all = append(all, TracedIO{End: time.Duration(i) * time.Millisecond, Lat: 10 * time.Second, Offset: int64(i%2) << 44, Size: 1 << 20, Priority: NewPriority(Idle, 7)})
	}
	text, err := json.Marshal(all)
	if err != nil || len(text) > 12<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
