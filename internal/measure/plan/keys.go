package plan

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
	"plimsoll/load"
)

// Bounds that no sensible plan reaches. They keep a typing error from filling a disk or the memory.
const (
	// MaxBlocks is the most blocks of a run.
	MaxBlocks  = 1000
	maxClients = 256
	maxTime    = 24 * time.Hour
)

// planSection is the table of a plan's own keys.
func planSection() strict.Section[Plan] {
	return strict.Section[Plan]{What: "a plan", Check: checkPlan, Fields: []strict.Field[Plan]{
		full(strict.Must(strict.Key("name", "The plan's name in tables and records.", strict.Name(), func(p *Plan) *string { return &p.Name }))),
		strict.Key("description", "The question that the plan answers.", strict.Words("a text", 4096, true), func(p *Plan) *string { return &p.Description }),
		strict.Must(strict.Key("workloads", "What I/O is done, by name.", workloads(), workloadsOf)),
		strict.Must(strict.Key("engines", "What runs the worker: names of kinds, or maps with options.", strict.List[EngineSpec]{What: "engines", Item: engineValue{}, Min: 1}, func(p *Plan) *[]EngineSpec { return &p.Engines })),
		strict.Must(strict.Key("places", "Where the data lives, by name.", places(), func(p *Plan) *[]place.Spec { return &p.Places })),
		strict.Key("sources", "Names of the places that tree and command read their sources from. Default: the place that they write to.", strict.List[string]{What: "names of places", Item: strict.Name(), One: true, Min: 1}, func(p *Plan) *[]string { return &p.Sources }),
		strict.Key("limits", "Sets of limits for the containers, by name. Default: {none: {}}.", limits(), func(p *Plan) *[]limit.Limits { return &p.Limits }),
		strict.Key("clients", "Numbers of workers that run at the same time. Default: [1].", strict.List[int]{What: "numbers of clients", Item: strict.Integer(1, maxClients), Min: 1, One: true}, func(p *Plan) *[]int { return &p.Clients }),
		strict.Key("include", "Keeps only the cells that match one of these.", strict.List[Match]{What: "matches", Item: matchSection()}, func(p *Plan) *[]Match { return &p.Include }),
		strict.Key("exclude", "Takes out the cells that match one of these.", strict.List[Match]{What: "matches", Item: matchSection()}, func(p *Plan) *[]Match { return &p.Exclude }),
		strict.Key("baseline", "The cell that the others of its workload are compared with. Default: the first cell of each workload.", strict.Optional[Baseline]{Section: baselineSection()}, func(p *Plan) **Baseline { return &p.Baseline }),
		strict.Key("blocks", "How often every cell is run. Default: 6.", strict.Integer(1, MaxBlocks), func(p *Plan) *int { return &p.Blocks }),
		strict.Key("seed", "Makes the order of trials repeatable. Default: 0, a random seed for each run.", strict.Seed(), func(p *Plan) *uint64 { return &p.Seed }),
		strict.Key("timeout", "The longest time of a trial from its layout to the end of its window; its buffered writes may take longer as long as they make progress. Default: 60s.", strict.Duration(time.Second, maxTime), func(p *Plan) *time.Duration { return &p.Timeout }),
		strict.Key("io_engine", "What submits the I/O of block jobs. Default: common, the strongest that works in all cells of a workload.", strict.Choice(Common, Best, load.IOUring, load.LinuxAIO, load.PSync), func(p *Plan) *string { return &p.IOEngine }),
		strict.Key("margin", "The zone of equivalence around a ratio of 1. Default: 0.05.", strict.Decimal(0.001, 0.5), func(p *Plan) *float64 { return &p.Margin }),
		quickField(),
	}}
}

// full marks a key that the quick section can't have.
func full[T any](f strict.Field[T]) strict.Field[T] { f.FullOnly = true; return f }

// quickField is the key quick. Parse takes its node out of the tree before it decodes the tree, merges it, and decodes the
// whole again.
func quickField() strict.Field[Plan] {
	return full(strict.Field[Plan]{
		Name:   "quick",
		Doc:    "The plan's keys that --quick changes, merged over the plan. Default: {blocks: 3}.",
		Decode: func(*strict.Decoder, *yaml.Node, string, *Plan) {},
		Encode: func(*Plan) *yaml.Node { return nil },
		Schema: func(bool) strict.Object { return planSection().Schema(true) },
	})
}

func limits() strict.Named[limit.Limits] {
	return strict.Named[limit.Limits]{
		Entry: strict.Variants[limit.Limits]{What: "limits", Kinds: []strict.Variant[limit.Limits]{{Section: limitFields()}}},
		Name:  func(l *limit.Limits) *string { return &l.Name },
	}
}

// limitFields are the keys of one set of limits.
func limitFields() strict.Section[limit.Limits] {
	type L = limit.Limits
	return strict.Section[L]{What: "a set of limits", Check: checkLimits, Fields: []strict.Field[L]{
		whole(limit.ReadBPS, "Bytes per second read.", strict.Rate(limit.MinRate, limit.MaxBPS), anyTag, func(l *L) *int64 { return &l.ReadBPS }),
		whole(limit.WriteBPS, "Bytes per second written.", strict.Rate(limit.MinRate, limit.MaxBPS), anyTag, func(l *L) *int64 { return &l.WriteBPS }),
		whole(limit.ReadIOPS, "Reads per second.", strict.Integer(limit.MinRate, limit.MaxIOPS), "int", func(l *L) *int64 { return &l.ReadIOPS }),
		whole(limit.WriteIOPS, "Writes per second.", strict.Integer(limit.MinRate, limit.MaxIOPS), "int", func(l *L) *int64 { return &l.WriteIOPS }),
		whole(limit.Weight, "Relative weight on a busy device; 100 is normal.", strict.Integer[int64](limit.MinWeight, limit.MaxWeight), "int", func(l *L) *int64 { return &l.Weight }),
		whole(limit.Latency, "The mean time of an I/O above which neighbours with higher values are slowed down.", strict.Duration(limit.MinLatency, limit.MaxLatency), anyTag, func(l *L) *time.Duration { return &l.Latency }),
		whole(limit.Memory, "Memory, page cache included.", strict.Size(limit.MinMemory, limit.MaxMemory), anyTag, func(l *L) *int64 { return &l.Memory }),
		whole(limit.CPUs, "CPUs, such as 1.5.", strict.Decimal(limit.MinCPUs, limit.MaxCPUs), "int float", func(l *L) *float64 { return &l.CPUs }),
		whole(limit.CPUShares, "Relative weight on busy CPUs; 1024 is normal.", strict.Integer[int64](limit.MinCPUShares, limit.MaxCPUShares), "int", func(l *L) *int64 { return &l.CPUShares }),
		whole(limit.SystemIOPS, "I/Os per second of a Windows container on its system drive, reads and writes together.", strict.Integer[int64](1, limit.MaxIOPS), "int", func(l *L) *int64 { return &l.SystemIOPS }),
		whole(limit.SystemBPS, "Bytes per second of a Windows container on its system drive, reads and writes together.", strict.Rate(1, limit.MaxBPS), anyTag, func(l *L) *int64 { return &l.SystemBPS }),
		strict.Key(deviceWide, "Also limits the rates at the device, for all clients of a cell together and the kernel's writeback for them. Default: false.", strict.Boolean(), func(l *L) *bool { return &l.DeviceWide }),
	}}
}

// deviceWide is the key of limit.Limits.DeviceWide.
const deviceWide = "device_wide"

// anyTag are the YAML types of a value with a unit.
const anyTag = "int str float"

// whole makes the field of one limit.
func whole[V any](k limit.Key, doc string, form strict.Scalar[V], tags string, at func(*limit.Limits) *V) strict.Field[limit.Limits] {
	return strict.Key(string(k), doc, limited(k, form, tags, func(l limit.Limits) V { return *at(&l) }), at)
}

// checkLimits checks what the bounds of single keys don't cover.
func checkLimits(d *strict.Decoder, path string, l *limit.Limits) {
	if err := l.Check(); err != nil {
		d.Fail(path, "%v", err)
	}
}

func baselineSection() strict.Section[Baseline] {
	return strict.Section[Baseline]{What: "a baseline", Fields: []strict.Field[Baseline]{
		strict.Must(strict.Key("engine", "Name of an engine of the plan.", strict.Name(), func(b *Baseline) *string { return &b.Engine })),
		strict.Must(strict.Key("place", "Name of a place of the plan.", strict.Name(), func(b *Baseline) *string { return &b.Place })),
		strict.Key("source", "Name of a source of the plan. Default: the place, if it is a source, else the first source that the engine has.", strict.Name(), func(b *Baseline) *string { return &b.Source }),
		strict.Key("limits", "Name of a set of limits of the plan. Default: the first.", strict.Name(), func(b *Baseline) *string { return &b.Limits }),
		strict.Key("clients", "Number of clients. Default: the plan's first.", strict.Integer(1, maxClients), func(b *Baseline) *int { return &b.Clients }),
	}}
}

func matchSection() strict.Section[Match] {
	names := strict.List[string]{What: "names", Item: strict.Words("a name", strict.MaxName, false), One: true, Min: 1}
	return strict.Section[Match]{What: "a match", Fields: []strict.Field[Match]{
		strict.Key("workload", "Names of workloads; * and ? stand for any letters.", names, func(m *Match) *[]string { return &m.Workload }),
		strict.Key("engine", "Names of engines.", names, func(m *Match) *[]string { return &m.Engine }),
		strict.Key("source", "Names of sources. Cells of a workload without sources don't match.", names, func(m *Match) *[]string { return &m.Source }),
		strict.Key("place", "Names of places.", names, func(m *Match) *[]string { return &m.Place }),
		strict.Key("limits", "Names of sets of limits.", names, func(m *Match) *[]string { return &m.Limits }),
		strict.Key("clients", "Numbers of clients.", strict.List[int]{What: "numbers of clients", Item: strict.Integer(1, maxClients), One: true, Min: 1}, func(m *Match) *[]int { return &m.Clients }),
	}}
}

// engineValue is one item of the list of engines.
type engineValue struct{}

func engineVariants() strict.Variants[EngineSpec] {
	type E = EngineSpec
	called := strict.Must(strict.Key("name", "The engine's name in the plan.", strict.Name(), func(e *E) *string { return &e.Name }))
	image := strict.Key("image", "An existing image of the engine, in which the worker is mounted; nothing is pulled. Default: an image of the worker alone.", strict.Words("the name of an image", 512, false), func(e *E) *string { return &e.Image })
	seccomp := strict.Key("seccomp", "Path of a seccomp profile in Docker's format, or unconfined. Default: the engine's.", strict.Words("a path", 4096, false), func(e *E) *string { return &e.Seccomp })
	runtime := strict.Key("runtime", "Name of the OCI runtime. Default: the first that works, or the daemon's.", strict.Words("the name of a runtime", 255, false), func(e *E) *string { return &e.Runtime })
	isolation := strict.Key("isolation", "How a daemon of Windows containers isolates one: process, or hyperv for a virtual machine. Default: the daemon's.", strict.Choice(Process, HyperV), func(e *E) *string { return &e.Isolation })
	return strict.Variants[E]{
		What: "engine",
		Kind: func(e *E) *string { return &e.Engine },
		Kinds: []strict.Variant[E]{
			{Kind: Host, Section: strict.Section[E]{What: "the host engine", Fields: []strict.Field[E]{called}}},
			{Kind: OCI, Section: strict.Section[E]{What: "an oci engine", Fields: []strict.Field[E]{called, image, seccomp, runtime}}},
			{Kind: Docker, Section: strict.Section[E]{What: "a docker engine", Fields: []strict.Field[E]{called, image, seccomp, runtime, isolation}}},
			{Kind: VM, Section: strict.Section[E]{What: "a vm engine", Check: checkMachine, Fields: append([]strict.Field[E]{called}, machineFields()...)}},
		},
		Implied: func(name string) string {
			if slices.Contains([]string{Host, OCI, Docker, VM}, name) {
				return name
			}
			return ""
		},
	}
}

func (engineValue) Decode(d *strict.Decoder, n *yaml.Node, path string, dst *EngineSpec) {
	v := engineVariants()
	if n.Kind == yaml.ScalarNode {
		kind, err := strict.Choice(v.KindNames()...).Parse(n)
		if err != nil {
			d.FailAt(n, path, "%v; write an engine with a name of its own as a map: {name: ..., kind: ...}", err)
			return
		}
		*dst = EngineSpec{Name: kind, Engine: kind}
		return
	}
	called := ""
	if c := strict.Child(n, "name"); c != nil {
		called = c.Value
	}
	v.Decode(d, n, path, called, dst)
}

func (engineValue) Encode(src *EngineSpec) *yaml.Node {
	if *src == (EngineSpec{Name: src.Engine, Engine: src.Engine}) {
		return strict.Text(src.Name)
	}
	return engineVariants().Encode(src.Name, src)
}

func (engineValue) Schema(partial bool) strict.Object {
	v := engineVariants()
	kinds := make([]any, len(v.Kinds))
	for i, k := range v.KindNames() {
		kinds[i] = k
	}
	// Engines are a list, so the quick section replaces them as a whole.
	any := []any{strict.Object{"enum": kinds}, v.Schema("", false)}
	for _, k := range v.Kinds {
		s := v.WithKind(k, k.Kind).Schema(false)
		s["properties"].(strict.Object)["name"] = strict.Object{"const": k.Kind}
		any = append(any, s)
	}
	return strict.Object{"anyOf": any}
}
