package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestMarshalRoundTrip checks on random plans that Parse reads what Marshal
// writes, and that the schema accepts it.
func TestMarshalRoundTrip(t *testing.T) {
	schema := compileSchema(t)
	for seed := range uint64(300) {
		want := randomPlan(rand.New(rand.NewPCG(seed, 1)))
		text := want.Marshal()
		got, err := Parse("marshal", text)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %s\n%s", seed, diff, text)
		}
		if err := validate(t, schema, text); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
	}
}

// randomPlan makes a sound plan with every kind of everything.
func randomPlan(r *rand.Rand) *Plan {
	maybe := func() bool { return r.IntN(2) == 0 }
	// Texts that YAML could take for something else, or break.
	texts := []string{"plain", "true", "~", "1e3", "0x10", "a: b", "#x", " lead", "trail ", "- x", "'", "\"", "é\u2028\ufeff", "*a", "&a", "<<", "a\\b", "%", "@"}
	textOf := func() string { return texts[r.IntN(len(texts))] }
	p := &Plan{
		Name: "n" + fmt.Sprint(r.IntN(100)), Blocks: 1 + r.IntN(20), Seed: r.Uint64() >> r.IntN(64), Timeout: 100*time.Hour/5 + time.Duration(r.IntN(1e9)),
		IOEngine: []string{Common, Best, load.IOUring, load.LinuxAIO, load.PSync}[r.IntN(5)], Margin: 0.001 + r.Float64()*0.499,
		Engines: []EngineSpec{{Name: "host", Engine: Host}, {Name: "null", Engine: OCI, Image: textOf()}, {Name: "docker", Engine: Docker, Seccomp: textOf(), Runtime: textOf()}},
		Clients: []int{1 + r.IntN(100), 101 + r.IntN(100)}[:1+r.IntN(2)],
		Places: []place.Spec{
			{Name: "dir", Kind: place.Dir}, {Name: "true", Kind: place.Bind, Path: "/a b/" + fmt.Sprint(r.IntN(9))}, {Name: "layer", Kind: place.Layer},
			{Name: "volume", Kind: place.Volume, Driver: textOf(), DriverOpts: map[string]string{textOf(): textOf(), "o": ""}}, {Name: "7", Kind: place.Tmpfs, Size: 1<<20 + r.Int64N(1<<40)},
		},
		Limits:  []limit.Limits{{Name: "none"}, {Name: "x", ReadBPS: 2 + r.Int64N(1<<40), WriteIOPS: 2 + r.Int64N(1<<30), CPUs: 0.01 + r.Float64()*8, Memory: 6<<20 + r.Int64N(1<<30)}}[:1+r.IntN(2)],
		Exclude: []Match{{Place: []string{"true", "7"}}, {Engine: []string{"null"}, Clients: nil}}[:r.IntN(3)],
	}
	if len(p.Exclude) == 0 {
		p.Exclude = nil
	}
	if maybe() {
		p.Description = textOf() + "\n\t" + textOf() + "\n"
	}
	if maybe() {
		p.Baseline = &Baseline{Engine: "docker", Place: "layer"}
	}
	for i := range 1 + r.IntN(4) {
		j := load.Job{RW: load.RandRW, BS: int64(512 * (1 + r.IntN(64))), IODepth: r.IntN(64), Size: 1<<30 + r.Int64N(1<<30), Direct: maybe(), Runtime: time.Duration(1e6 + r.IntN(1e9)), RandSeed: r.Uint64(), EndFsync: maybe()}
		if maybe() {
			mix := r.IntN(100) // With 100 there is nothing that end_fsync could sync.
			j.RWMixRead = &mix
		}
		p.Workloads = append(p.Workloads, workload.Spec{Name: fmt.Sprint("w", i), Kind: workload.Block, Job: j})
	}
	for i, k := range []workload.Kind{workload.Append, workload.WAL, workload.Tree} {
		w := workload.Spec{Name: fmt.Sprint(i), Kind: k, BS: 1 + r.Int64N(1000), Runtime: time.Duration(1e6 + r.IntN(1e9))}
		if k != workload.WAL {
			w.Count = r.IntN(1000)
		}
		p.Workloads = append(p.Workloads, w)
	}
	return p
}
