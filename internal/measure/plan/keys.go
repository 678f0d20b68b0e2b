package plan

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
	"plimsoll/load"
)

// Bounds that no sensible plan meets; they keep a slip of the pen from filling
// a disk or the memory.
const (
	maxBlocks  = 1000
	maxClients = 256
	maxTime    = 24 * time.Hour
)

// planSection is the table of a plan's own keys.
func planSection() Section[Plan] {
	return Section[Plan]{What: "a plan", Check: checkPlan, Fields: []Field[Plan]{
		full(Must(Key("name", "What the plan is called in tables and records.", name(), func(p *Plan) *string { return &p.Name }))),
		Key("description", "What question the plan answers.", Words("a text", 4096, true), func(p *Plan) *string { return &p.Description }),
		Must(Key("workloads", "What I/O is done, by name.", workloads(), workloadsOf)),
		Must(Key("engines", "What runs the worker: names of kinds, or maps with options.", List[EngineSpec]{What: "engines", Item: engineValue{}, Min: 1}, func(p *Plan) *[]EngineSpec { return &p.Engines })),
		Must(Key("places", "Where the data lives, by name.", places(), func(p *Plan) *[]place.Spec { return &p.Places })),
		Key("sources", "Names of the places that tree and command read their sources from. Default: the place that they write to.", List[string]{What: "names of places", Item: name(), One: true, Min: 1}, func(p *Plan) *[]string { return &p.Sources }),
		Key("limits", "Sets of limits for the containers, by name. Default: {none: {}}.", limits(), func(p *Plan) *[]limit.Limits { return &p.Limits }),
		Key("clients", "Numbers of workers that run at once. Default: [1].", List[int]{What: "numbers of clients", Item: Integer(1, maxClients), Min: 1, One: true}, func(p *Plan) *[]int { return &p.Clients }),
		Key("include", "Keeps only the cells that one of these matches.", List[Match]{What: "matches", Item: matchSection()}, func(p *Plan) *[]Match { return &p.Include }),
		Key("exclude", "Takes out the cells that one of these matches.", List[Match]{What: "matches", Item: matchSection()}, func(p *Plan) *[]Match { return &p.Exclude }),
		Key("baseline", "The cell that others of its workload are compared with. Default: the first cell of each workload.", Optional[Baseline]{Section: baselineSection()}, func(p *Plan) **Baseline { return &p.Baseline }),
		Key("blocks", "How often every cell is run. Default: 6.", Integer(1, maxBlocks), func(p *Plan) *int { return &p.Blocks }),
		Key("seed", "Makes the order of trials repeatable. Default: 0, which draws one for each run.", Seed(), func(p *Plan) *uint64 { return &p.Seed }),
		Key("timeout", "Bounds one trial, its layout of files included, to the end of its window; buffered writes may take as long as they get on. Default: 60s.", Duration(time.Second, maxTime), func(p *Plan) *time.Duration { return &p.Timeout }),
		Key("io_engine", "What submits the I/O of block jobs. Default: common, the strongest that works in all cells of a workload.", Choice(Common, Best, load.IOUring, load.LinuxAIO, load.PSync), func(p *Plan) *string { return &p.IOEngine }),
		Key("margin", "The zone of equivalence around a ratio of 1. Default: 0.05.", Decimal(0.001, 0.5), func(p *Plan) *float64 { return &p.Margin }),
		quickField(),
	}}
}

// full keeps a field out of the quick section.
func full[T any](f Field[T]) Field[T] { f.FullOnly = true; return f }

// quickField is the key quick. Parse takes its node out of the tree before the
// tree is decoded, merges it, and decodes the whole again.
func quickField() Field[Plan] {
	return full(Field[Plan]{
		Name:   "quick",
		Doc:    "What --quick changes: keys of the plan, merged over it. Default: {blocks: 3}.",
		Decode: func(*Decoder, *yaml.Node, string, *Plan) {},
		Encode: func(*Plan) *yaml.Node { return nil },
		Schema: func(bool) Object { return planSection().Schema(true) },
	})
}

// name is the name of something.
func name() Scalar[string] {
	s := Words("a name", 4096, false)
	parse := s.Parse
	s.Parse = func(n *yaml.Node) (string, error) {
		v, err := parse(n)
		if err == nil && !IsName(v) {
			err = textError(NameFault(v))
		}
		return v, err
	}
	s.JSON = func() Object { return Object{"type": "string", "pattern": NamePattern} }
	return s
}

// A textError is an error that is its text.
type textError string

func (e textError) Error() string { return string(e) }

func limits() Named[limit.Limits] {
	return Named[limit.Limits]{
		Entry: Variants[limit.Limits]{What: "limits", Kinds: []Variant[limit.Limits]{{Section: limitFields()}}},
		Name:  func(l *limit.Limits) *string { return &l.Name },
	}
}

// limitFields are the keys of one set of limits.
func limitFields() Section[limit.Limits] {
	type L = limit.Limits
	return Section[L]{What: "a set of limits", Check: checkLimits, Fields: []Field[L]{
		whole(limit.ReadBPS, "Bytes per second read.", Rate(limit.MinRate, limit.MaxBPS), anyTag, func(l *L) *int64 { return &l.ReadBPS }),
		whole(limit.WriteBPS, "Bytes per second written.", Rate(limit.MinRate, limit.MaxBPS), anyTag, func(l *L) *int64 { return &l.WriteBPS }),
		whole(limit.ReadIOPS, "Reads per second.", Integer(limit.MinRate, limit.MaxIOPS), "int", func(l *L) *int64 { return &l.ReadIOPS }),
		whole(limit.WriteIOPS, "Writes per second.", Integer(limit.MinRate, limit.MaxIOPS), "int", func(l *L) *int64 { return &l.WriteIOPS }),
		whole(limit.Weight, "Relative weight on a busy device; 100 is normal.", Integer[int64](limit.MinWeight, limit.MaxWeight), "int", func(l *L) *int64 { return &l.Weight }),
		whole(limit.Latency, "Mean time of an I/O above which neighbours with higher targets are slowed down.", Duration(limit.MinLatency, limit.MaxLatency), anyTag, func(l *L) *time.Duration { return &l.Latency }),
		whole(limit.Memory, "Memory, page cache included.", Size(limit.MinMemory, limit.MaxMemory), anyTag, func(l *L) *int64 { return &l.Memory }),
		whole(limit.CPUs, "CPUs, such as 1.5.", Decimal(limit.MinCPUs, limit.MaxCPUs), "int float", func(l *L) *float64 { return &l.CPUs }),
		whole(limit.CPUShares, "Relative weight on busy CPUs; 1024 is normal.", Integer[int64](limit.MinCPUShares, limit.MaxCPUShares), "int", func(l *L) *int64 { return &l.CPUShares }),
		whole(limit.SystemIOPS, "I/Os per second of a Windows container on its system drive, reads and writes together.", Integer[int64](1, limit.MaxIOPS), "int", func(l *L) *int64 { return &l.SystemIOPS }),
		whole(limit.SystemBPS, "Bytes per second of a Windows container on its system drive, reads and writes together.", Rate(1, limit.MaxBPS), anyTag, func(l *L) *int64 { return &l.SystemBPS }),
		Key(deviceWide, "Limits the rates at the device too, for all clients of a cell together, with the kernel's writeback for them. Default: false.", Boolean(), func(l *L) *bool { return &l.DeviceWide }),
	}}
}

// deviceWide is the key of limit.Limits.DeviceWide.
const deviceWide = "device_wide"

// anyTag are YAML's types of a value with a unit.
const anyTag = "int str float"

// whole makes the field of one limit.
func whole[V any](k limit.Key, doc string, form Scalar[V], tags string, at func(*limit.Limits) *V) Field[limit.Limits] {
	return Key(string(k), doc, limited(k, form, tags, func(l limit.Limits) V { return *at(&l) }), at)
}

// checkLimits finds what the bounds of single keys don't say.
func checkLimits(d *Decoder, path string, l *limit.Limits) {
	if err := l.Check(); err != nil {
		d.Fail(path, "%v", err)
	}
}

func baselineSection() Section[Baseline] {
	return Section[Baseline]{What: "a baseline", Fields: []Field[Baseline]{
		Must(Key("engine", "Name of an engine of the plan.", name(), func(b *Baseline) *string { return &b.Engine })),
		Must(Key("place", "Name of a place of the plan.", name(), func(b *Baseline) *string { return &b.Place })),
		Key("source", "Name of a source of the plan. Default: the place, if it is one, else the first that the engine has.", name(), func(b *Baseline) *string { return &b.Source }),
		Key("limits", "Name of a set of limits of the plan. Default: the first.", name(), func(b *Baseline) *string { return &b.Limits }),
		Key("clients", "Number of clients. Default: the plan's first.", Integer(1, maxClients), func(b *Baseline) *int { return &b.Clients }),
	}}
}

func matchSection() Section[Match] {
	names := List[string]{What: "names", Item: Words("a name", MaxName, false), One: true, Min: 1}
	return Section[Match]{What: "a match", Fields: []Field[Match]{
		Key("workload", "Names of workloads; * and ? stand for any letters.", names, func(m *Match) *[]string { return &m.Workload }),
		Key("engine", "Names of engines.", names, func(m *Match) *[]string { return &m.Engine }),
		Key("source", "Names of sources. A workload without sources has none.", names, func(m *Match) *[]string { return &m.Source }),
		Key("place", "Names of places.", names, func(m *Match) *[]string { return &m.Place }),
		Key("limits", "Names of sets of limits.", names, func(m *Match) *[]string { return &m.Limits }),
		Key("clients", "Numbers of clients.", List[int]{What: "numbers of clients", Item: Integer(1, maxClients), One: true, Min: 1}, func(m *Match) *[]int { return &m.Clients }),
	}}
}

// engineValue is one item of the list of engines.
type engineValue struct{}

func engineVariants() Variants[EngineSpec] {
	type E = EngineSpec
	called := Must(Key("name", "What the engine is called in the plan.", name(), func(e *E) *string { return &e.Name }))
	image := Key("image", "An image of the engine's own, in which the worker is mounted; nothing is pulled. Default: one made of the worker alone.", Words("the name of an image", 512, false), func(e *E) *string { return &e.Image })
	seccomp := Key("seccomp", "Path of a seccomp profile in Docker's format, or unconfined. Default: the engine's.", Words("a path", 4096, false), func(e *E) *string { return &e.Seccomp })
	runtime := Key("runtime", "Name of the OCI runtime. Default: the first that works, or the daemon's.", Words("the name of a runtime", 255, false), func(e *E) *string { return &e.Runtime })
	isolation := Key("isolation", "How a daemon of Windows containers keeps one apart: process, or hyperv for a virtual machine. Default: the daemon's.", Choice(Process, HyperV), func(e *E) *string { return &e.Isolation })
	return Variants[E]{
		What: "engine",
		Kind: func(e *E) *string { return &e.Engine },
		Kinds: []Variant[E]{
			{Kind: Host, Section: Section[E]{What: "the host engine", Fields: []Field[E]{called}}},
			{Kind: OCI, Section: Section[E]{What: "an oci engine", Fields: []Field[E]{called, image, seccomp, runtime}}},
			{Kind: Docker, Section: Section[E]{What: "a docker engine", Fields: []Field[E]{called, image, seccomp, runtime, isolation}}},
			{Kind: VM, Section: Section[E]{What: "a vm engine", Check: checkMachine, Fields: append([]Field[E]{called}, machineFields()...)}},
		},
		Implied: func(name string) string {
			if slices.Contains([]string{Host, OCI, Docker, VM}, name) {
				return name
			}
			return ""
		},
	}
}

func (engineValue) Decode(d *Decoder, n *yaml.Node, path string, dst *EngineSpec) {
	v := engineVariants()
	if n.Kind == yaml.ScalarNode {
		kind, err := Choice(v.KindNames()...).Parse(n)
		if err != nil {
			d.FailAt(n, path, "%v; an engine of another name is a map: {name: ..., kind: ...}", err)
			return
		}
		*dst = EngineSpec{Name: kind, Engine: kind}
		return
	}
	called := ""
	if c := Child(n, "name"); c != nil {
		called = c.Value
	}
	v.Decode(d, n, path, called, dst)
}

func (engineValue) Encode(src *EngineSpec) *yaml.Node {
	if *src == (EngineSpec{Name: src.Engine, Engine: src.Engine}) {
		return Text(src.Name)
	}
	return engineVariants().Encode(src.Name, src)
}

func (engineValue) Schema(partial bool) Object {
	v := engineVariants()
	kinds := make([]any, len(v.Kinds))
	for i, k := range v.KindNames() {
		kinds[i] = k
	}
	// Engines are a list, so the quick section replaces them as a whole.
	any := []any{Object{"enum": kinds}, v.Schema("", false)}
	for _, k := range v.Kinds {
		s := v.WithKind(k, k.Kind).Schema(false)
		s["properties"].(Object)["name"] = Object{"const": k.Kind}
		any = append(any, s)
	}
	return Object{"anyOf": any}
}
