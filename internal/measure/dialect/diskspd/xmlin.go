package diskspd

import (
	"math"
	"slices"
)

// Bounds of a profile. The largest of VM Fleet's is some KB.
const (
	maxProfile  = 1 << 20
	maxElements = 20000
	maxDepth    = 16
	maxSpans    = 256
)

// fromXML reads the profile of -X, puts the line's few options over it, and its targets
// into the templates.
func (p *parser) fromXML() error {
	for _, o := range options {
		if _, used := p.values[o.prefix]; used && !slices.Contains([]string{"X", "C", "d", "R", "v", "W", "z"}, o.prefix) {
			return usage(p.where[o.prefix], "can't be combined with -X; only -C, -d, -R, -v, -W, -z and targets can")
		}
	}
	if p.opt.ReadFile == nil {
		return usage(p.where["X"], "files can't be read here")
	}
	data, err := p.opt.ReadFile(p.xmlPath, maxProfile)
	if err != nil {
		return usage(p.where["X"], "%v", err)
	}
	profile, err := readProfile(p.xmlPath, data)
	if err != nil {
		return err
	}
	line := p.profile
	p.profile = *profile
	p.profile.Only = line.Only
	if f := p.values["R"]; f != "" && f != "p" {
		p.profile.XML = line.XML
	}
	p.profile.Verbose = p.profile.Verbose || line.Verbose
	p.profile.VerboseStats = p.profile.VerboseStats || line.VerboseStats
	for i := range p.profile.Spans {
		s := &p.profile.Spans[i]
		for option, v := range map[string]struct{ to, from *uint32 }{
			"C": {&s.Cooldown, &p.span.Cooldown}, "d": {&s.Duration, &p.span.Duration},
			"W": {&s.Warmup, &p.span.Warmup}, "z": {&s.Seed, &p.span.Seed},
		} {
			if _, used := p.values[option]; used {
				*v.to = *v.from
			}
		}
	}
	p.where = map[string]string{"X": p.where["X"]}
	return p.substitute()
}

// substitute puts the line's targets for the profile's templates.
func (p *parser) substitute() error {
	used := make([]bool, len(p.paths))
	for i := range p.profile.Spans {
		for k := range p.profile.Spans[i].Targets {
			t := &p.profile.Spans[i].Targets[k]
			n := t.template()
			if n == 0 || n > len(p.paths) {
				continue // One that is missing is an error only if the profile is to run.
			}
			t.Path, used[n-1] = p.paths[n-1], true
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return usage(p.paths[i], "the profile has no template *%d for this target", i+1)
	}
	return nil
}

func (x *xmlReader) profile(e *element, p *Profile) {
	x.each(e, map[string]func(*element){
		"Progress":        x.u32(&p.Progress, 0, math.MaxUint32),
		"ExperimentFlags": x.u32(&p.ExperimentFlags, 0, math.MaxUint32),
		"ResultFormat":    func(e *element) { p.XML = x.word(e, "text", "xml") == "xml" },
		"Verbose":         x.flag(&p.Verbose),
		"VerboseStats":    x.flag(&p.VerboseStats),
		"PrecreateFiles": func(e *element) {
			p.Precreate = x.word(e, "UseMaxSize", "CreateOnlyFilesWithConstantSizes", "CreateOnlyFilesWithConstantOrZeroSizes")
		},
		"ETW": func(*element) { p.ETW = true },
		"TimeSpans": func(e *element) {
			x.list(e, "TimeSpan", maxSpans, func(e *element) {
				s := newSpan()
				x.timeSpan(e, &s)
				p.Spans = append(p.Spans, s)
			})
		},
	})
}

func (x *xmlReader) timeSpan(e *element, s *Span) {
	const year = 365 * 24 * 3600
	var groups bool
	x.each(e, map[string]func(*element){
		"CompletionRoutines":  x.flag(&s.CompletionRoutines),
		"MeasureLatency":      x.flag(&s.Latency),
		"CalculateIopsStdDev": x.flag(&s.IOPS),
		"DisableAffinity":     x.flag(&s.NoAffinity),
		"GroupAffinity":       x.flag(&groups),
		"Duration":            x.u32(&s.Duration, 0, year),
		"Warmup":              x.u32(&s.Warmup, 0, year),
		"Cooldown":            x.u32(&s.Cooldown, 0, year),
		"ThreadCount":         x.u32(&s.Threads, 0, maxThreads),
		"RequestCount":        x.u32(&s.Requests, 0, maxOutstanding),
		"IoBucketDuration":    x.u32(&s.Bucket, 1, 24*3600*1000),
		"RandSeed":            x.u32(&s.Seed, 0, math.MaxUint32),
		"RandomWriteData":     x.flag(&s.RandomWrites),
		"Affinity":            func(e *element) { x.affinity(e, s) },
		"Targets": func(e *element) {
			x.list(e, "Target", maxTargets, func(e *element) {
				t := newTarget("")
				x.target(e, &t)
				t.tail()
				s.Targets = append(s.Targets, t)
			})
		},
	})
	if len(s.Targets) == 0 {
		x.fail(e, "has no targets")
	}
}

func (x *xmlReader) affinity(e *element, s *Span) {
	for _, c := range e.children {
		switch c.name {
		case "AffinityAssignment":
			s.Affinity = append(s.Affinity, Processor{0, uint32(x.number(c, 0, 255))})
		case "AffinityGroupAssignment":
			group := &element{name: c.name, line: c.line, text: c.attrs["Group"]}
			number := &element{name: c.name, line: c.line, text: c.attrs["Processor"]}
			s.Affinity = append(s.Affinity, Processor{uint32(x.number(group, 0, 65535)), uint32(x.number(number, 0, 255))})
		default:
			x.fail(c, "is unknown in <Affinity>")
		}
	}
	if len(s.Affinity) > 1024 {
		x.fail(e, "more than 1024 processors")
	}
}

func (x *xmlReader) target(e *element, t *Target) {
	var stride, random uint64
	var noAll, noOS, noLocal, mapped bool
	isRandom, ratio := false, uint32(0)
	x.each(e, map[string]func(*element){
		"Path":                  func(e *element) { t.Path = e.text },
		"BlockSize":             x.u32(&t.Block, 1, 1<<30),
		"StrideSize":            x.u64(&stride),
		"InterlockedSequential": x.flag(&t.Interlocked),
		"BaseFileOffset":        x.u64(&t.Base),
		"SequentialScan":        x.flag(&t.SequentialScan),
		"RandomAccess":          x.flag(&t.RandomAccess),
		"TemporaryFile":         x.flag(&t.Temporary),
		"UseLargePages":         x.flag(&t.LargePages),
		"RequestCount":          x.u32(&t.Outstanding, 1, maxOutstanding),
		"Random":                func(e *element) { isRandom, random = true, x.number(e, 0, 1<<30) },
		"RandomRatio":           func(e *element) { ratio = uint32(x.number(e, 1, 99)) },
		"Distribution":          func(e *element) { x.distribution(e, t) },
		"DisableAllCache":       x.flag(&noAll),
		"DisableOSCache":        x.flag(&noOS),
		"DisableLocalCache":     x.flag(&noLocal),
		"WriteThrough":          x.flag(&t.WriteThrough),
		"MemoryMappedIo":        x.flag(&mapped),
		"FlushType": func(e *element) {
			t.FlushType = x.word(e, "ViewOfFile", "NonVolatileMemory", "NonVolatileMemoryNoDrain")
		},
		"WriteBufferContent": func(e *element) { x.content(e, t) },
		"ParallelAsyncIO":    x.flag(&t.Parallel),
		"BurstSize":          func(e *element) { t.UseBurst, t.Burst = true, uint32(x.number(e, 0, 1<<30)) },
		"ThinkTime":          func(e *element) { t.UseThink, t.Think = true, uint32(x.number(e, 0, 24*3600*1000)) },
		"Throughput":         func(e *element) { x.throughput(e, t) },
		"ThreadsPerFile":     x.u32(&t.Threads, 1, maxThreads),
		"FileSize":           func(e *element) { t.Create, t.FileSize = true, x.number(e, 1, math.MaxInt64) },
		"MaxFileSize":        x.u64(&t.Max),
		"WriteRatio":         x.u32(&t.WriteRatio, 0, 100),
		"ThreadStride":       x.u64(&t.ThreadStride),
		"IOPriority":         x.u32(&t.Priority, 0, 3),
		"Weight":             x.u32(&t.Weight, 0, math.MaxUint32),
		"ThreadTargets":      func(e *element) { x.threadTargets(e, t) },
	})
	if t.Priority == 0 {
		t.Priority = 3
	}
	t.MemoryMapped = mapped
	switch {
	case noLocal && (noOS || noAll):
		x.fail(e, "DisableLocalCache contradicts the other ways of caching")
	case noAll:
		t.Cache, t.WriteThrough = NoOSCache, true
	case noOS:
		t.Cache = NoOSCache
	case noLocal:
		t.Cache = NoLocalCache
	}
	// A stride is ignored beside <Random>, as DiskSpd does, which writes no both.
	switch {
	case ratio > 0 && !isRandom:
		x.fail(e, "RandomRatio needs <Random>")
	case isRandom:
		t.RandomRatio, t.Align = 100, random
		if ratio > 0 {
			t.RandomRatio = ratio
		}
	default:
		t.Align = stride
	}
	if t.Align > 1<<40 {
		x.fail(e, "a stride of more than 1T")
	}
}

func (x *xmlReader) throughput(e *element, t *Target) {
	n := uint32(x.number(e, 0, 1e9))
	switch unit := e.attrs["unit"]; unit {
	case "", "BPMS":
		t.BytesPerMS = n
	case "IOPS":
		t.IOPS = n
	default:
		x.fail(e, "the unit %q is neither BPMS nor IOPS", unit)
	}
}

func (x *xmlReader) content(e *element, t *Target) {
	pattern := ""
	x.each(e, map[string]func(*element){
		"Pattern": func(e *element) { pattern = x.word(e, "sequential", "zero", "random") },
		"RandomDataSource": func(e *element) {
			x.each(e, map[string]func(*element){
				"SizeInBytes": x.u64(&t.RandomSize),
				"FilePath":    func(e *element) { t.RandomFile = e.text },
			})
		},
	})
	switch {
	case pattern == "":
		x.fail(e, "has no <Pattern>")
	case pattern == "random" && t.RandomSize == 0:
		x.fail(e, "random data needs <RandomDataSource> with <SizeInBytes>")
	case pattern != "random" && t.RandomSize > 0:
		x.fail(e, "the pattern %s contradicts <RandomDataSource>", pattern)
	}
	t.Zero = pattern == "zero"
}

func (x *xmlReader) distribution(e *element, t *Target) {
	if len(e.children) != 1 || e.children[0].name != "Percent" && e.children[0].name != "Absolute" {
		x.fail(e, "has to hold one of <Percent> and <Absolute>")
		return
	}
	t.Absolute = e.children[0].name == "Absolute"
	x.list(e.children[0], "Range", maxRanges, func(e *element) {
		share := &element{name: e.name, line: e.line, text: e.attrs["IO"]}
		r := Range{IO: uint32(x.number(share, 0, 100))}
		if t.Absolute {
			r.Size = x.number(e, 0, 1<<50)
		} else {
			r.Size = x.number(e, 1, 100)
		}
		t.Ranges = append(t.Ranges, r)
	})
	if len(t.Ranges) == 0 {
		x.fail(e, "has no <Range>")
	}
}

func (x *xmlReader) threadTargets(e *element, t *Target) {
	x.list(e, "ThreadTarget", maxThreads, func(e *element) {
		var tt ThreadTarget
		x.each(e, map[string]func(*element){
			"Thread": x.u32(&tt.Thread, 0, maxThreads), "Weight": x.u32(&tt.Weight, 0, math.MaxUint32),
		})
		t.ThreadTargets = append(t.ThreadTargets, tt)
	})
}
