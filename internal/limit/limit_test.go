package limit

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// all bounds everything.
var all = Limits{
	Name: "all", ReadBPS: 10 << 20, WriteBPS: 1e7, ReadIOPS: 100, WriteIOPS: 200, Weight: 300, Latency: 5 * time.Millisecond,
	Memory: 1 << 30, CPUs: 1.5, CPUShares: 512,
}

func TestLimits(t *testing.T) {
	want := "read_bps=10MiB write_bps=10000000 read_iops=100 write_iops=200 weight=300 latency=5ms memory=1GiB cpus=1.5 cpu_shares=512"
	if got := all.String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if (Limits{Name: "x"}).String() != "" || !(Limits{Name: "x"}).IsZero() || all.IsZero() {
		t.Error("a name is a bound, or bounds are none")
	}
	if err := all.Check(); err != nil {
		t.Error(err)
	}
	if got := all.Keys(); !slices.Equal(got, Keys) {
		t.Errorf("Keys() = %v, want %v", got, Keys)
	}
	some := Limits{Memory: 1, Latency: 1, WriteBPS: 1, ReadBPS: 1}
	if got, want := some.Keys(Key.IO), []Key{ReadBPS, WriteBPS, Latency}; !slices.Equal(got, want) {
		t.Errorf("Keys(Key.IO) = %v, want %v", got, want)
	}
	if got := some.Keys(Key.IO, Key.IOPS); len(got) > 0 {
		t.Errorf("Keys(Key.IO, Key.IOPS) = %v, want none", got)
	}
	left := all
	for _, k := range Keys {
		if !left.Has(k) || left.Text(k) == None {
			t.Errorf("%s: not there", k)
		}
		if !left.Below(k, Limits{}) || left.Below(k, left) || (Limits{}).Below(k, left) {
			t.Errorf("%s: Below is wrong", k)
		}
		left = left.Without(k)
		if left.Has(k) || left.Text(k) != None {
			t.Errorf("%s: still there", k)
		}
		if got := (Limits{}).Without(k); got != (Limits{}) {
			t.Errorf("Without(%s) of nothing = %+v", k, got)
		}
	}
	if !(Limits{ReadBPS: 5}).Below(ReadBPS, Limits{ReadBPS: 6}) || (Limits{CPUs: 2}).Below(CPUs, Limits{CPUs: 1.5}) {
		t.Error("Below compares wrongly")
	}
	if !left.IsZero() {
		t.Errorf("left: %+v", left)
	}
	for l, io := range map[Limits]bool{{Memory: 1}: false, {CPUs: 1}: false, {CPUShares: 1}: false, {Weight: 1}: true, {Latency: 1}: true, {ReadBPS: 1}: true, {WriteIOPS: 1}: true} {
		if l.IO() != io {
			t.Errorf("IO() of %s = %v", l, !io)
		}
	}
}

// TestJSONKeys: the JSON keys are those of plans.
func TestJSONKeys(t *testing.T) {
	b, err := json.Marshal(all)
	want := `{"name":"all","read_bps":10485760,"write_bps":10000000,"read_iops":100,"write_iops":200,"weight":300,"latency":5000000,"memory":1073741824,"cpus":1.5,"cpu_shares":512}`
	if err != nil || string(b) != want {
		t.Errorf("JSON is %s, %v, want %s", b, err, want)
	}
	var keys map[string]any
	if err := json.Unmarshal(b, &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range Keys {
		if _, ok := keys[string(k)]; !ok {
			t.Errorf("JSON has no key %s", k)
		}
	}
}

func TestParseKey(t *testing.T) {
	for _, k := range Keys {
		for _, s := range []string{string(k), k.Flag()} {
			if got, err := ParseKey(s); got != k || err != nil {
				t.Errorf("ParseKey(%q) = %q, %v", s, got, err)
			}
		}
	}
	if ReadBPS.Flag() != "--read-bps" {
		t.Errorf("Flag() = %s", ReadBPS.Flag())
	}
}

func TestScales(t *testing.T) {
	type pair struct {
		v     int64
		exact bool
	}
	for _, tt := range []struct {
		w        int64
		bfq, cfq pair
	}{
		{1, pair{1, true}, pair{10, false}},
		{2, pair{2, true}, pair{10, true}},
		{100, pair{100, true}, pair{500, true}},
		{200, pair{200, true}, pair{1000, true}},
		{500, pair{500, true}, pair{1000, false}},
		{1000, pair{1000, true}, pair{1000, false}},
		{5000, pair{1000, false}, pair{1000, false}},
		{10000, pair{1000, false}, pair{1000, false}},
	} {
		if v, exact := BFQWeight(tt.w); (pair{v, exact}) != tt.bfq {
			t.Errorf("BFQWeight(%d) = %d, %v, want %v", tt.w, v, exact, tt.bfq)
		}
		v, exact := CFQWeight(tt.w)
		if (pair{v, exact}) != tt.cfq {
			t.Errorf("CFQWeight(%d) = %d, %v, want %v", tt.w, v, exact, tt.cfq)
		}
		if exact && FromCFQWeight(v) != tt.w {
			t.Errorf("FromCFQWeight(%d) = %d, want %d", v, FromCFQWeight(v), tt.w)
		}
	}
	for w := int64(MinWeight); w <= MaxWeight; w++ {
		// The kernel's promise of the round trip.
		if got, _ := CPUWeight(CPUSharesOf(w)); got != w {
			t.Fatalf("CPUWeight(CPUSharesOf(%d)) = %d", w, got)
		}
	}
	for _, tt := range []struct {
		shares int64
		want   pair
	}{
		{2, pair{1, false}}, {10, pair{1, true}}, {512, pair{50, true}}, {1024, pair{100, true}}, {2048, pair{200, true}},
		{102400, pair{10000, true}}, {262144, pair{10000, false}},
	} {
		if w, exact := CPUWeight(tt.shares); (pair{w, exact}) != tt.want {
			t.Errorf("CPUWeight(%d) = %d, %v, want %v", tt.shares, w, exact, tt.want)
		}
	}
}

func TestImplied(t *testing.T) {
	lines := func(l Limits, maxIO int64, sizes ...int64) []string {
		var out []string
		for _, i := range l.Implied(sizes, maxIO) {
			out = append(out, i.Direction+": "+i.String())
		}
		return out
	}
	for _, tt := range []struct {
		l     Limits
		maxIO int64
		sizes []int64
		want  []string
	}{
		{Limits{Memory: 1 << 30}, 1 << 20, []int64{4096}, nil},
		{Limits{ReadIOPS: 100}, 0, nil, nil},
		{Limits{WriteIOPS: 100}, 4 << 20, []int64{1 << 20, 4096, 0, -1}, []string{
			"write: write_iops lets 400 KiB/s through in I/Os of 4KiB", "write: write_iops lets 100 MiB/s through in I/Os of 1MiB",
			"write: write_iops lets up to 400 MiB/s through: the device takes I/Os of up to 4MiB",
		}},
		// An I/O of 4 MiB counts as four where the device takes 1 MiB.
		{Limits{ReadIOPS: 100}, 1 << 20, []int64{4 << 20}, []string{
			"read: read_iops lets up to 100 MiB/s through: the device takes I/Os of up to 1MiB", "read: read_iops lets 100 MiB/s through in I/Os of 4MiB",
		}},
		{Limits{ReadBPS: 10 << 20}, 1 << 20, []int64{4096, 4 << 20}, []string{
			"read: read_bps lets 2.56 k I/Os of 4KiB a second through", "read: read_bps lets 2.5 I/Os of 4MiB a second through",
		}},
		{Limits{ReadBPS: 10 << 20, ReadIOPS: 100, WriteBPS: 5}, 0, []int64{4096, 1 << 20}, []string{
			"read: read_iops lets 400 KiB/s through in I/Os of 4KiB", "read: read_bps lets 10 I/Os of 1MiB a second through",
			"write: write_bps lets 0.001 I/Os of 4KiB a second through", "write: write_bps lets 0 I/Os of 1MiB a second through",
		}},
	} {
		if diff := cmp.Diff(tt.want, lines(tt.l, tt.maxIO, tt.sizes...)); diff != "" {
			t.Errorf("%s: %s", tt.l, diff)
		}
	}
	got := (Limits{WriteIOPS: 100, WriteBPS: 1 << 40}).Implied(nil, 4096)
	want := []Implied{{Direction: "write", BlockSize: 4096, BPS: 409600, IOPS: 100, By: WriteIOPS, Largest: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
