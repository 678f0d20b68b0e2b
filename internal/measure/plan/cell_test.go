package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/golden"
)

func parse(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// cellKeys lists the keys of the cells of p.
func cellKeys(p *Plan) string {
	var keys []string
	for _, c := range p.Cells() {
		keys = append(keys, p.Key(c))
	}
	return strings.Join(keys, " ")
}

func TestCells(t *testing.T) {
	const two = head + "workloads: {b: {kind: append}, a: {kind: wal}}\n"
	for _, tt := range []struct{ name, yaml, want string }{
		{"by nature, baseline by order", sound, "a/host/dir a/host/dir#control a/oci/layer a/oci/bind"},
		{"order of the file", two, "b/host/dir b/host/dir#control b/oci/layer b/oci/bind a/host/dir a/host/dir#control a/oci/layer a/oci/bind"},
		{"baseline", sound + "baseline: {engine: oci, place: layer}\n", "a/host/dir a/oci/layer a/oci/layer#control a/oci/bind"},
		{"exclude", two + "exclude: [{workload: b, engine: host}, {place: bind}]\n", "b/oci/layer b/oci/layer#control a/host/dir a/host/dir#control a/oci/layer"},
		{"include, then exclude", two + "include: [{workload: b}, {place: 'l*'}]\nexclude: [{place: [dir, bind]}]\n", "b/oci/layer b/oci/layer#control a/oci/layer a/oci/layer#control"},
		{
			"limits and clients", sound + "limits: {x2: {}, y: {cpus: 1}}\nclients: [1, 2]\nexclude: [{engine: host, clients: 2}, {place: bind}]\nbaseline: {engine: oci, place: layer, limits: y, clients: 2}\n",
			"a/host/dir/x2 a/host/dir/y a/oci/layer/x2 a/oci/layer/x2/x2 a/oci/layer/y a/oci/layer/y/x2 a/oci/layer/y/x2#control",
		},
		{"baseline not for all", two + "exclude: [{workload: b, engine: host}]\nbaseline: {engine: host, place: dir}\n", "b/oci/layer b/oci/bind a/host/dir a/host/dir#control a/oci/layer a/oci/bind"},
	} {
		if diff := cmp.Diff(tt.want, cellKeys(parse(t, tt.yaml))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestKeysDiffer checks that no two cells share a key, whatever their names.
func TestKeysDiffer(t *testing.T) {
	p := parse(t, strings.Replace(sound, "a: {", "x2: {", 1)+"limits: {x2: {}, none: {cpus: 1}, x3: {cpus: 2}}\nclients: [1, 2, 3]\n")
	seen := map[string]bool{}
	for _, c := range p.Cells() {
		if k := p.Key(c); seen[k] {
			t.Errorf("two cells are called %s", k)
		} else {
			seen[k] = true
		}
	}
	if len(seen) != 3*9+1 {
		t.Errorf("got %d cells, want 28", len(seen))
	}
}

func TestBaselineFor(t *testing.T) {
	p := parse(t, head+"workloads: {b: {kind: append}, a: {kind: wal}}\nexclude: [{workload: b, engine: host}]\nbaseline: {engine: host, place: dir}\n")
	base := record.Cell{Workload: "a", Engine: "host", Place: "dir", Limits: "none", Clients: 1}
	control := base
	control.Control = true
	for _, c := range []record.Cell{{Workload: "a", Engine: "oci", Place: "layer", Limits: "none", Clients: 1}, base, control} {
		if got, ok := p.BaselineFor(c); !ok || got != base {
			t.Errorf("BaselineFor(%v) = %v, %v, want %v", c, got, ok, base)
		}
	}
	for _, w := range []string{"b", "unknown"} {
		if got, ok := p.BaselineFor(record.Cell{Workload: w, Engine: "oci", Place: "layer"}); ok {
			t.Errorf("BaselineFor(%s) = %v, want none", w, got)
		}
	}
}

func TestFits(t *testing.T) {
	for _, k := range place.Kinds {
		host := k == place.Dir || k == place.Tmpfs
		if fits(Host, k) != host || fits(OCI, k) != (k != place.Dir) || fits(Docker, k) != (k != place.Dir) {
			t.Errorf("place %s: host %v, oci %v, docker %v", k, fits(Host, k), fits(OCI, k), fits(Docker, k))
		}
	}
}

func TestByName(t *testing.T) {
	p := parse(t, sound)
	if w, ok := p.Workload("a"); !ok || w.Name != "a" {
		t.Errorf("Workload(a) = %v, %v", w, ok)
	}
	if e, ok := p.Engine("oci"); !ok || e.Name != "oci" {
		t.Errorf("Engine(oci) = %v, %v", e, ok)
	}
	if s, ok := p.Place("bind"); !ok || s.Name != "bind" {
		t.Errorf("Place(bind) = %v, %v", s, ok)
	}
	if l, ok := p.Limit("none"); !ok || l.Name != "none" {
		t.Errorf("Limit(none) = %v, %v", l, ok)
	}
	if w, ok := p.Workload("x"); ok {
		t.Errorf("Workload(x) = %v, which isn't there", w)
	}
	if e, ok := p.Engine("x"); ok {
		t.Errorf("Engine(x) = %v, which isn't there", e)
	}
	if s, ok := p.Place("x"); ok {
		t.Errorf("Place(x) = %v, which isn't there", s)
	}
	if l, ok := p.Limit("x"); ok {
		t.Errorf("Limit(x) = %v, which isn't there", l)
	}
}

func TestEstimate(t *testing.T) {
	const job = head + "blocks: 2\ninclude: [{engine: host}]\nworkloads: {a: {rw: read, size: 500MB, runtime: 1s, ramp_time: 500ms%s}}\n"
	for _, tt := range []struct {
		name, yaml string
		low, high  time.Duration
	}{
		// A cell and its control, two blocks, 1.5 s each and 1 s of layout.
		{"by time", strings.Replace(job, "%s", "", 1), 10 * time.Second, 10500 * time.Millisecond},
		{"the count comes first", strings.Replace(job, "%s", ", number_ios: 1", 1), 6 * time.Second, 6500 * time.Millisecond},
		{"by count", strings.Replace(job, "runtime: 1s, ramp_time: 500ms%s", "bs: 1MiB, number_ios: 4", 1), 4 * time.Second, 4500 * time.Millisecond},
		// A single pass is as long as its bytes take: 1 s for 500 MB, and 1 s of layout.
		{"one pass of large I/Os", strings.Replace(job, "runtime: 1s, ramp_time: 500ms%s", "bs: 1MiB", 1), 8 * time.Second, 8500 * time.Millisecond},
		// 122,070 I/Os at 10,000 a second take 12.2 s, at depth 32 a thirty-second of it, and then the bytes count.
		{"one pass of small I/Os", strings.Replace(job, "runtime: 1s, ramp_time: 500ms%s", "bs: 4KiB", 1), 52 * time.Second, 54 * time.Second},
		{"one pass of small I/Os, deep", strings.Replace(job, "runtime: 1s, ramp_time: 500ms%s", "bs: 4KiB, iodepth: 32", 1), 8 * time.Second, 8500 * time.Millisecond},
		{"three passes", strings.Replace(job, "runtime: 1s, ramp_time: 500ms%s", "bs: 1MiB, loops: 3", 1), 16 * time.Second, 16500 * time.Millisecond},
		// Ten rounds, or the longest time.
		{"steady", strings.Replace(job, "runtime: 1s, ramp_time: 500ms%s", "runtime: 50s, steady_state: {round: 2s}", 1), 84 * time.Second, 85 * time.Second},
		{"steady at the latest", strings.Replace(job, "runtime: 1s, ramp_time: 500ms%s", "runtime: 12s, steady_state: {round: 2s}", 1), 52 * time.Second, 53 * time.Second},
		// 500 I/Os, and 49 pauses of 100 ms.
		{"pauses", strings.Replace(job, "runtime: 1s, ramp_time: 500ms%s", "bs: 1MB, thinktime: 100ms, thinktime_blocks: 10", 1), 23 * time.Second, 25 * time.Second},
		{"a rate in bytes", strings.Replace(job, "runtime: 1s, ramp_time: 500ms%s", "bs: 1MB, rate: 100MB", 1), 24 * time.Second, 25 * time.Second},
		// Buffered data is written back outside of the window: 1 s for all of the file, or a part of it.
		{"buffered writes", strings.Replace(strings.Replace(job, "%s", "", 1), "rw: read", "rw: write", 1), 14 * time.Second, 14500 * time.Millisecond},
		{"of two clients", strings.Replace(strings.Replace(job, "%s", "", 1), "rw: read", "rw: write", 1) + "clients: 2\n", 22 * time.Second, 22500 * time.Millisecond},
		{"a few buffered writes", strings.Replace(strings.Replace(job, "%s", ", rate_iops: 100", 1), "rw: read", "rw: write", 1), 10 * time.Second, 10500 * time.Millisecond},
		{"direct writes", strings.Replace(strings.Replace(job, "%s", ", direct: true", 1), "rw: read", "rw: write", 1), 10 * time.Second, 10500 * time.Millisecond},
		{"synced writes", strings.Replace(strings.Replace(job, "%s", ", fdatasync: 1", 1), "rw: read", "rw: write", 1), 10 * time.Second, 10500 * time.Millisecond},
		// Three machines and a control, in two blocks: one of them boots.
		{"virtual machines", "name: m\nblocks: 2\nworkloads: {a: {kind: append, count: 1}}\nplaces: {bind: {}}\nengines: [vm, {name: nfs, kind: vm, share: nfs}, {name: fs, kind: vm, share: virtiofs}]\n", 33 * time.Second, 36 * time.Second},
		{"huge", head + "blocks: 1000\ntimeout: 24h\nclients: 256\nworkloads: {a: {rw: read, size: 1024TiB, bs: 1}}\n", 1 << 62, 1<<63 - 1},
	} {
		if got := parse(t, tt.yaml).Estimate(); got < tt.low || got > tt.high {
			t.Errorf("%s: Estimate = %v, want %v to %v", tt.name, got, tt.low, tt.high)
		}
	}
}

// TestSources: sources cross what reads them with the places, each where its engine has it.
func TestSources(t *testing.T) {
	const both = head + "workloads: {tree: {kind: tree}, log: {kind: wal}}\n"
	for _, tt := range []struct{ name, yaml, want string }{
		{"none", both, "tree/host/dir tree/host/dir#control tree/oci/layer tree/oci/bind log/host/dir log/host/dir#control log/oci/layer log/oci/bind"},
		{
			"crossed", both + "sources: [dir, layer, bind]\n",
			"tree/host/dir:dir tree/host/dir:dir#control tree/oci/layer:layer tree/oci/layer:bind tree/oci/bind:layer tree/oci/bind:bind log/host/dir log/host/dir#control log/oci/layer log/oci/bind",
		},
		{
			"taken out", both + "sources: [layer, bind]\nexclude: [{source: layer, place: bind}, {workload: log}]\nbaseline: {engine: oci, place: bind}\n",
			"tree/oci/layer:layer tree/oci/bind:layer tree/oci/bind:bind tree/oci/bind:bind#control",
		},
		{"baseline of another source", both + "sources: [bind]\nbaseline: {engine: oci, place: layer}\nexclude: [{workload: log}]\n", "tree/oci/bind:layer tree/oci/bind:layer#control tree/oci/bind:bind"},
		{"baseline by name", both + "sources: [layer, bind]\nbaseline: {engine: oci, place: layer, source: bind}\nexclude: [{workload: log}, {place: bind}]\n", "tree/oci/layer:layer tree/oci/bind:layer tree/oci/bind:layer#control"},
	} {
		p := parse(t, tt.yaml)
		if diff := cmp.Diff(tt.want, cellKeys(p)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		again := parse(t, string(p.Marshal()))
		if cellKeys(again) != cellKeys(p) {
			t.Errorf("%s: written and read again: %s", tt.name, cellKeys(again))
		}
	}
	p := parse(t, both+"sources: [layer, bind]\n")
	if err := p.Only("source=bind"); err != nil || cellKeys(p) != "tree/oci/bind:layer tree/oci/bind:layer#control tree/oci/bind:bind" {
		t.Errorf("--only source=bind: %s, %v", cellKeys(p), err)
	}
	p = parse(t, both+"sources: [layer, bind]\n")
	if err := p.Only("source=nowhere"); err == nil || !strings.Contains(err.Error(), "no source of the plan is called") {
		t.Errorf("--only source=nowhere: %v", err)
	}
}

// TestSourceFaults: plans with invalid sources or impossible commands are refused.
func TestSourceFaults(t *testing.T) {
	var sheet golden.Sheet
	for _, yaml := range []string{
		sound + "sources: [dir]\n",
		head + "workloads: {a: {kind: tree}}\nsources: [dri]\n",
		head + "workloads: {a: {kind: tree}}\nsources: [dir, dir]\n",
		head + "workloads: {a: {kind: tree, reads: hot}}\n",
		head + "workloads: {a: {kind: append, reads: cold}}\n",
		head + "workloads: {a: {kind: command}}\n",
		head + "workloads: {a: {kind: command, argv: []}}\n",
		head + "workloads: {a: {kind: command, argv: [x], site: {files: 5}}}\n",
		head + "workloads: {a: {kind: command, argv: [x], env: {\"A=B\": c}}}\n",
		head + "workloads: {a: {kind: command, argv: [x]}, b: {kind: command, argv: [x], dir: \"{destination}\", output: 8KiB}}\n",
		head + "workloads: {a: {kind: command, argv: [x], site: {}}, b: {kind: command, argv: [x], site: {posts: 308}}}\n",
		head + "workloads: {a: {rw: read, size: 1MiB, fresh: true}}\n",
		head + "workloads: {a: {rw: write, size: 1MiB, fresh: true, runtime: 1s}}\n",
	} {
		_, err := Parse("f", []byte(yaml))
		sheet.Add(yaml, err)
	}
	sheet.Check(t, "refused-sources.txt")
}
