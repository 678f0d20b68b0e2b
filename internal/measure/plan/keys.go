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
func planSection() section[Plan] {
	return section[Plan]{what: "a plan", check: checkPlan, fields: []field[Plan]{
		full(must(key("name", "What the plan is called in tables and records.", name(), func(p *Plan) *string { return &p.Name }))),
		key("description", "What question the plan answers.", words("a text", 4096, true), func(p *Plan) *string { return &p.Description }),
		must(key("workloads", "What I/O is done, by name.", workloads(), workloadsOf)),
		must(key("engines", "What runs the worker: names of kinds, or maps with options.", list[EngineSpec]{what: "engines", item: engineValue{}, min: 1}, func(p *Plan) *[]EngineSpec { return &p.Engines })),
		must(key("places", "Where the data lives, by name.", places(), func(p *Plan) *[]place.Spec { return &p.Places })),
		key("sources", "Names of the places that tree and command read their sources from. Default: the place that they write to.", list[string]{what: "names of places", item: name(), one: true, min: 1}, func(p *Plan) *[]string { return &p.Sources }),
		key("limits", "Sets of limits for the containers, by name. Default: {none: {}}.", limits(), func(p *Plan) *[]limit.Limits { return &p.Limits }),
		key("clients", "Numbers of workers that run at once. Default: [1].", list[int]{what: "numbers of clients", item: integer(1, maxClients), min: 1, one: true}, func(p *Plan) *[]int { return &p.Clients }),
		key("include", "Keeps only the cells that one of these matches.", list[Match]{what: "matches", item: matchSection()}, func(p *Plan) *[]Match { return &p.Include }),
		key("exclude", "Takes out the cells that one of these matches.", list[Match]{what: "matches", item: matchSection()}, func(p *Plan) *[]Match { return &p.Exclude }),
		key("baseline", "The cell that others of its workload are compared with. Default: the first cell of each workload.", optional[Baseline]{baselineSection()}, func(p *Plan) **Baseline { return &p.Baseline }),
		key("blocks", "How often every cell is run. Default: 6.", integer(1, maxBlocks), func(p *Plan) *int { return &p.Blocks }),
		key("seed", "Makes the order of trials repeatable. Default: 0, which draws one for each run.", seed(), func(p *Plan) *uint64 { return &p.Seed }),
		key("timeout", "Bounds one trial, its layout of files included, to the end of its window; buffered writes may take as long as they get on. Default: 60s.", duration(time.Second, maxTime), func(p *Plan) *time.Duration { return &p.Timeout }),
		key("io_engine", "What submits the I/O of block jobs. Default: common, the strongest that works in all cells of a workload.", choice(Common, Best, load.IOUring, load.LinuxAIO, load.PSync), func(p *Plan) *string { return &p.IOEngine }),
		key("margin", "The zone of equivalence around a ratio of 1. Default: 0.05.", decimal(0.001, 0.5), func(p *Plan) *float64 { return &p.Margin }),
		quickField(),
	}}
}

// full keeps a field out of the quick section.
func full[T any](f field[T]) field[T] { f.fullOnly = true; return f }

// quickField is the key quick. Parse takes its node out of the tree before the
// tree is decoded, merges it, and decodes the whole again.
func quickField() field[Plan] {
	return full(field[Plan]{
		name:   "quick",
		doc:    "What --quick changes: keys of the plan, merged over it. Default: {blocks: 3}.",
		decode: func(*decoder, *yaml.Node, string, *Plan) {},
		encode: func(*Plan) *yaml.Node { return nil },
		schema: func(bool) object { return planSection().schema(true) },
	})
}

// name is the name of something.
func name() scalar[string] {
	s := words("a name", 4096, false)
	parse := s.parse
	s.parse = func(n *yaml.Node) (string, error) {
		v, err := parse(n)
		if err == nil && !isName(v) {
			err = textError(nameFault(v))
		}
		return v, err
	}
	s.json = func() object { return object{"type": "string", "pattern": namePattern} }
	return s
}

// A textError is an error that is its text.
type textError string

func (e textError) Error() string { return string(e) }

func limits() named[limit.Limits] {
	return named[limit.Limits]{
		entry: variants[limit.Limits]{what: "limits", kinds: []variant[limit.Limits]{{section: limitFields()}}},
		name:  func(l *limit.Limits) *string { return &l.Name },
	}
}

// limitFields are the keys of one set of limits.
func limitFields() section[limit.Limits] {
	type L = limit.Limits
	return section[L]{what: "a set of limits", check: checkLimits, fields: []field[L]{
		whole(limit.ReadBPS, "Bytes per second read.", rate(limit.MinRate, limit.MaxBPS), anyTag, func(l *L) *int64 { return &l.ReadBPS }),
		whole(limit.WriteBPS, "Bytes per second written.", rate(limit.MinRate, limit.MaxBPS), anyTag, func(l *L) *int64 { return &l.WriteBPS }),
		whole(limit.ReadIOPS, "Reads per second.", integer(limit.MinRate, limit.MaxIOPS), "int", func(l *L) *int64 { return &l.ReadIOPS }),
		whole(limit.WriteIOPS, "Writes per second.", integer(limit.MinRate, limit.MaxIOPS), "int", func(l *L) *int64 { return &l.WriteIOPS }),
		whole(limit.Weight, "Relative weight on a busy device; 100 is normal.", integer[int64](limit.MinWeight, limit.MaxWeight), "int", func(l *L) *int64 { return &l.Weight }),
		whole(limit.Latency, "Mean time of an I/O above which neighbours with higher targets are slowed down.", duration(limit.MinLatency, limit.MaxLatency), anyTag, func(l *L) *time.Duration { return &l.Latency }),
		whole(limit.Memory, "Memory, page cache included.", amount(limit.MinMemory, limit.MaxMemory), anyTag, func(l *L) *int64 { return &l.Memory }),
		whole(limit.CPUs, "CPUs, such as 1.5.", decimal(limit.MinCPUs, limit.MaxCPUs), "int float", func(l *L) *float64 { return &l.CPUs }),
		whole(limit.CPUShares, "Relative weight on busy CPUs; 1024 is normal.", integer[int64](limit.MinCPUShares, limit.MaxCPUShares), "int", func(l *L) *int64 { return &l.CPUShares }),
		whole(limit.SystemIOPS, "I/Os per second of a Windows container on its system drive, reads and writes together.", integer[int64](1, limit.MaxIOPS), "int", func(l *L) *int64 { return &l.SystemIOPS }),
		whole(limit.SystemBPS, "Bytes per second of a Windows container on its system drive, reads and writes together.", rate(1, limit.MaxBPS), anyTag, func(l *L) *int64 { return &l.SystemBPS }),
		key(deviceWide, "Limits the rates at the device too, for all clients of a cell together, with the kernel's writeback for them. Default: false.", boolean(), func(l *L) *bool { return &l.DeviceWide }),
	}}
}

// deviceWide is the key of limit.Limits.DeviceWide.
const deviceWide = "device_wide"

// anyTag are YAML's types of a value with a unit.
const anyTag = "int str float"

// whole makes the field of one limit.
func whole[V any](k limit.Key, doc string, form scalar[V], tags string, at func(*limit.Limits) *V) field[limit.Limits] {
	return key(string(k), doc, limited(k, form, tags, func(l limit.Limits) V { return *at(&l) }), at)
}

// checkLimits finds what the bounds of single keys don't say.
func checkLimits(d *decoder, path string, l *limit.Limits) {
	if err := l.Check(); err != nil {
		d.fail(path, "%v", err)
	}
}

func baselineSection() section[Baseline] {
	return section[Baseline]{what: "a baseline", fields: []field[Baseline]{
		must(key("engine", "Name of an engine of the plan.", name(), func(b *Baseline) *string { return &b.Engine })),
		must(key("place", "Name of a place of the plan.", name(), func(b *Baseline) *string { return &b.Place })),
		key("source", "Name of a source of the plan. Default: the place, if it is one, else the first that the engine has.", name(), func(b *Baseline) *string { return &b.Source }),
		key("limits", "Name of a set of limits of the plan. Default: the first.", name(), func(b *Baseline) *string { return &b.Limits }),
		key("clients", "Number of clients. Default: the plan's first.", integer(1, maxClients), func(b *Baseline) *int { return &b.Clients }),
	}}
}

func matchSection() section[Match] {
	names := list[string]{what: "names", item: words("a name", maxName, false), one: true, min: 1}
	return section[Match]{what: "a match", fields: []field[Match]{
		key("workload", "Names of workloads; * and ? stand for any letters.", names, func(m *Match) *[]string { return &m.Workload }),
		key("engine", "Names of engines.", names, func(m *Match) *[]string { return &m.Engine }),
		key("source", "Names of sources. A workload without sources has none.", names, func(m *Match) *[]string { return &m.Source }),
		key("place", "Names of places.", names, func(m *Match) *[]string { return &m.Place }),
		key("limits", "Names of sets of limits.", names, func(m *Match) *[]string { return &m.Limits }),
		key("clients", "Numbers of clients.", list[int]{what: "numbers of clients", item: integer(1, maxClients), one: true, min: 1}, func(m *Match) *[]int { return &m.Clients }),
	}}
}

// engineValue is one item of the list of engines.
type engineValue struct{}

func engineVariants() variants[EngineSpec] {
	type E = EngineSpec
	called := must(key("name", "What the engine is called in the plan.", name(), func(e *E) *string { return &e.Name }))
	image := key("image", "An image of the engine's own, in which the worker is mounted; nothing is pulled. Default: one made of the worker alone.", words("the name of an image", 512, false), func(e *E) *string { return &e.Image })
	seccomp := key("seccomp", "Path of a seccomp profile in Docker's format, or unconfined. Default: the engine's.", words("a path", 4096, false), func(e *E) *string { return &e.Seccomp })
	runtime := key("runtime", "Name of the OCI runtime. Default: the first that works, or the daemon's.", words("the name of a runtime", 255, false), func(e *E) *string { return &e.Runtime })
	isolation := key("isolation", "How a daemon of Windows containers keeps one apart: process, or hyperv for a virtual machine. Default: the daemon's.", choice(Process, HyperV), func(e *E) *string { return &e.Isolation })
	return variants[E]{
		what: "engine",
		kind: func(e *E) *string { return &e.Engine },
		kinds: []variant[E]{
			{Host, section[E]{what: "the host engine", fields: []field[E]{called}}},
			{OCI, section[E]{what: "an oci engine", fields: []field[E]{called, image, seccomp, runtime}}},
			{Docker, section[E]{what: "a docker engine", fields: []field[E]{called, image, seccomp, runtime, isolation}}},
			{VM, section[E]{what: "a vm engine", check: checkMachine, fields: append([]field[E]{called}, machineFields()...)}},
		},
		implied: func(name string) string {
			if slices.Contains([]string{Host, OCI, Docker, VM}, name) {
				return name
			}
			return ""
		},
	}
}

func (engineValue) decode(d *decoder, n *yaml.Node, path string, dst *EngineSpec) {
	v := engineVariants()
	if n.Kind == yaml.ScalarNode {
		kind, err := choice(v.kindNames()...).parse(n)
		if err != nil {
			d.failAt(n, path, "%v; an engine of another name is a map: {name: ..., kind: ...}", err)
			return
		}
		*dst = EngineSpec{Name: kind, Engine: kind}
		return
	}
	called := ""
	if c := child(n, "name"); c != nil {
		called = c.Value
	}
	v.decode(d, n, path, called, dst)
}

func (engineValue) encode(src *EngineSpec) *yaml.Node {
	if *src == (EngineSpec{Name: src.Engine, Engine: src.Engine}) {
		return text(src.Name)
	}
	return engineVariants().encode(src.Name, src)
}

func (engineValue) schema(partial bool) object {
	v := engineVariants()
	kinds := make([]any, len(v.kinds))
	for i, k := range v.kindNames() {
		kinds[i] = k
	}
	// Engines are a list, so the quick section replaces them as a whole.
	any := []any{object{"enum": kinds}, v.schema("", false)}
	for _, k := range v.kinds {
		s := v.withKind(k, k.kind).schema(false)
		s["properties"].(object)["name"] = object{"const": k.kind}
		any = append(any, s)
	}
	return object{"anyOf": any}
}
