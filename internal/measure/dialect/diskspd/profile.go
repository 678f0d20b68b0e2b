package diskspd

import "strings"

// A Profile is what a command line or an XML profile says.
type Profile struct {
	CommandLine string
	// Only prints the profile and runs nothing (-Rp).
	Only bool
	// XML is the format of the output (-Rxml).
	XML bool
	// Verbose is -v, VerboseStats -vs.
	Verbose, VerboseStats bool
	// Progress is after how many I/Os a dot is printed; 0: never (-P).
	Progress uint32
	// ExperimentFlags are -:.
	ExperimentFlags uint32
	// Precreate is the XML profile's PrecreateFiles, empty without.
	Precreate string
	// ETW is set if events of Windows are asked for (-e).
	ETW   bool
	Spans []Span
}

// A Span is a time span: what runs together.
type Span struct {
	// Duration, Warmup and Cooldown are seconds (-d, -W, -C).
	Duration, Warmup, Cooldown uint32
	// Threads is the number of threads that all targets share (-F), Requests how many I/Os
	// each of them keeps in flight over all targets (-O). 0: they are the targets' own.
	Threads, Requests uint32
	// Bucket is the interval of the IOPS series in milliseconds, which IOPS asks for (-D).
	Bucket uint32
	IOPS   bool
	// Latency asks for latencies (-L).
	Latency bool
	// Seed is -z.
	Seed uint32
	// RandomWrites makes what is written anew for each I/O (-Zr).
	RandomWrites bool
	// CompletionRoutines is -x, NoAffinity -n.
	CompletionRoutines bool
	NoAffinity         bool
	// Affinity holds the processors that threads get in turn (-a). Empty: all, unless NoAffinity.
	Affinity []Processor
	Targets  []Target
}

// A Processor is a number in a group of Windows.
type Processor struct{ Group, Number uint32 }

// Cache is how a target is cached (-S).
type Cache int

// Ways of caching. NoLocal is DiskSpd's remote-only caching (-Sr).
const (
	Cached Cache = iota
	NoOSCache
	NoLocalCache
)

// A Target is a file or a disk and what is done to it.
type Target struct {
	// Path is as given; *1 is a template for the first target of the line.
	Path string
	// Block is the size of an I/O, Align the stride or the alignment of offsets; 0: Block.
	Block uint32
	Align uint64
	// RandomRatio is the percentage of I/Os at random offsets (-r, -rs).
	RandomRatio uint32
	// Interlocked lets the threads share one position (-si).
	Interlocked bool
	// Base and Max bound the range in bytes (-B, -f); Max 0: the end.
	Base, Max uint64
	// ThreadStride is how far apart threads start (-T).
	ThreadStride uint64
	// Create makes the file of FileSize bytes (-c).
	Create   bool
	FileSize uint64
	// Outstanding is how many I/Os a thread keeps in flight (-o), Threads how many threads there are (-t).
	Outstanding, Threads uint32
	WriteRatio           uint32
	Cache                Cache
	WriteThrough         bool
	MemoryMapped         bool
	// FlushType is -N in the XML's words, empty without.
	FlushType string
	// Zero writes zeros (-Z). RandomSize is the size of a buffer of random data to write from
	// (-Z<size>), RandomFile the file that fills it.
	Zero       bool
	RandomSize uint64
	RandomFile string
	// RandomData is what was read of that file: RandomSize bytes, or all if it is smaller.
	RandomData []byte
	// Hints of opening (-f<rst>), and large pages for buffers (-l).
	SequentialScan, RandomAccess, Temporary bool
	LargePages                              bool
	// Parallel starts the I/Os of a thread at one offset (-p).
	Parallel bool
	// Burst is how many I/Os there are before a pause of Think milliseconds (-i, -j).
	UseBurst, UseThink bool
	Burst, Think       uint32
	// BytesPerMS and IOPS throttle each thread (-g).
	BytesPerMS, IOPS uint32
	// Priority is 1, 2 or 3: very low, low, normal (-I).
	Priority uint32
	// Weight is the target's share of the I/Os of shared threads.
	Weight        uint32
	ThreadTargets []ThreadTarget
	// Ranges are the parts of the target with a share of the I/Os each (-rd); Absolute: in bytes, not in percent.
	Ranges   []Range
	Absolute bool
}

// A ThreadTarget binds a target to one of the shared threads.
type ThreadTarget struct{ Thread, Weight uint32 }

// A Range takes IO percent of the I/Os. Size is percent of the target or bytes; 0 is the rest.
type Range struct {
	IO   uint32
	Size uint64
}

// newProfile, newSpan and newTarget hold DiskSpd's defaults.
func newProfile() Profile { return Profile{} }

func newSpan() Span { return Span{Duration: 10, Warmup: 5, Bucket: 1000} }

func newTarget(path string) Target {
	return Target{Path: path, Block: 64 << 10, Outstanding: 2, Threads: 1, Priority: 3, Weight: 1}
}

// align is the stride or the alignment in force.
func (t *Target) align() uint64 {
	if t.Align > 0 {
		return t.Align
	}
	return uint64(t.Block)
}

// template is the number of a template target, 0 for any other.
func (t *Target) template() int {
	n, ok := strings.CutPrefix(t.Path, "*")
	if !ok {
		return 0
	}
	k, err := parseUint(n, 16)
	if err != nil {
		return 0
	}
	return int(k)
}

// threads is how many threads work on a target of the span.
func (s *Span) threads(t *Target) int {
	if s.Threads > 0 {
		return int(s.Threads)
	}
	return int(t.Threads)
}

// pooled reports whether the span's threads share their I/Os over all targets (-F and -O).
func (s *Span) pooled() bool { return s.Threads > 0 && s.Requests > 0 }

// outstanding is how many I/Os each thread keeps in flight on a target.
func (s *Span) outstanding(t *Target) int {
	if s.pooled() {
		return int(s.Requests)
	}
	return int(t.Outstanding)
}

// threadCount is what the report says: the shared threads, or those of all targets.
func (s *Span) threadCount() int {
	if s.Threads > 0 {
		return int(s.Threads)
	}
	n := 0
	for i := range s.Targets {
		n += int(s.Targets[i].Threads)
	}
	return n
}

// tail adds the rest of the target to ranges that don't take all I/Os.
func (t *Target) tail() {
	io, size := uint32(0), uint64(0)
	for _, r := range t.Ranges {
		io, size = io+r.IO, size+r.Size
	}
	if len(t.Ranges) == 0 || io >= 100 {
		return
	}
	last := Range{IO: 100 - io}
	if !t.Absolute && size < 100 {
		last.Size = 100 - size
	}
	t.Ranges = append(t.Ranges, last)
}
