package diskspd

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Support says how far an option is supported.
type Support string

// Degrees of support. Refused options are errors that say why.
const (
	Yes     Support = "yes"
	Partly  Support = "partly"
	Refused Support = "refused"
)

// An Option is one of DiskSpd's, for the documentation and for the parser: there is no
// other list of them.
type Option struct {
	// Form is how it is written, as in "-b<size>".
	Form    string
	Support Support
	// Text says what it does here, or why it is refused.
	Text string
	// prefix is what the argument begins with, after the dash.
	prefix string
	set    func(p *parser, value string) error
}

// sameAsDiskSpd is the text of an option that does what DiskSpd's documentation says.
const sameAsDiskSpd = "as in DiskSpd"

var options []Option

// The options refer to the parser, which looks them up: filling them in here breaks the circle.
func init() {
	options = []Option{
		{"-?", Refused, "prints nothing here: see this page", "?", refuse("the options are listed in docs/reference/diskspd.md")},
		{"-a[g#,]#[,#,...], -ag", Partly, "threads get these processors in turn. Processor groups exist only on Windows: only group 0 is accepted", "a", (*parser).affinity},
		{"-b<size>", Yes, sameAsDiskSpd, "b", (*parser).block},
		{"-B<base>[:<length>]", Yes, sameAsDiskSpd, "B", (*parser).bounds},
		{"-c<size>", Yes, "creates missing files and writes all of each. An existing file must be at least that long, and its first `<size>` bytes are used. If repeated, the last counts", "c", (*parser).create},
		{"-C<seconds>", Yes, sameAsDiskSpd, "C", seconds(func(s *Span) *uint32 { return &s.Cooldown }, "C")},
		{"-d<seconds>", Yes, "measured time [10]. 0 is refused, since it would measure nothing", "d", seconds(func(s *Span) *uint32 { return &s.Duration }, "d")},
		{"-D[<milliseconds>]", Partly, "IOPS in intervals [1000], of at least 10 ms, and their standard deviation. The XML's intervals have only the mean latency; minimum, maximum and deviation are NaN", "D", (*parser).buckets},
		{"-e...", Refused, "events of Windows (ETW)", "e", (*parser).etw},
		{"-f<size>", Yes, sameAsDiskSpd, "f", (*parser).maxOffset},
		{"-f<rst>", Partly, "hints to the system's cache: `s` sequential (more readahead), `r` random (no readahead). `t`, a temporary file, is refused", "f", (*parser).maxOffset},
		{"-F<count>", Partly, "threads that all targets share. Without `-O` each becomes one thread per target on the same processor, with the same I/Os", "F", (*parser).totalThreads},
		{"-g<bytes per ms>, -g<count>i", Yes, "limits each thread on each target to a rate, without DiskSpd's rounding to milliseconds", "g", (*parser).throttle},
		{"-h", Yes, sameAsDiskSpd, "h", (*parser).noCache},
		{"-i<count>", Yes, "I/Os per burst. The pause begins when they are complete; DiskSpd's begins when they are started", "i", (*parser).burst},
		{"-I<1..3>", Partly, "only 3, normal: the load generator sets no priority", "I", (*parser).priority},
		{"-j<milliseconds>", Yes, sameAsDiskSpd, "j", (*parser).think},
		{"-l", Yes, "large pages for the buffers; they must be reserved (`vm.nr_hugepages`); refused on Windows", "l", flagOf(func(t *Target) *bool { return &t.LargePages })},
		{"-L", Yes, "latencies, from a histogram whose buckets are within 0.78 % of every value in them; minimum, maximum and mean are exact", "L", spanFlag(func(s *Span) *bool { return &s.Latency })},
		{"-n", Yes, "doesn't bind threads to processors. Without it each thread is bound to one of the worker's processors, in turn", "n", spanFlag(func(s *Span) *bool { return &s.NoAffinity })},
		{"-N<vni>", Partly, "with `-Sm`: `v` syncs each write (msync). `n` and `i`, for memory that keeps its data, are refused", "N", (*parser).flush},
		{"-o<count>", Yes, sameAsDiskSpd, "o", count(func(t *Target) *uint32 { return &t.Outstanding })},
		{"-O<count>", Yes, "I/Os that each of the shared threads (`-F`) keeps in flight, each on any of the targets. The targets must have the same settings, as on a command line; files of different sizes are used up to the size of the smallest. With several targets, not with `-D`", "O", (*parser).threadRequests},
		{"-p", Yes, sameAsDiskSpd, "p", flagOf(func(t *Target) *bool { return &t.Parallel })},
		{"-P<count>", Yes, "prints a dot after every `<count>` I/Os [65536] of all threads together, on stderr, to keep the report unchanged", "P", (*parser).progress},
		{"-r[<align>]", Yes, sameAsDiskSpd, "r", (*parser).random},
		{"-rd<pct|abs>...", Partly, "parts of the target, each with a share of the I/Os. `abs` needs `-c`, `-f` or `-B` with a length, to cut off parts beyond the end", "rd", (*parser).distribution},
		{"-rs<percent>", Partly, "percentage of I/Os at random offsets. `-r` with an alignment other than the block is refused with it", "rs", (*parser).randomShare},
		{"-R[p]<text|xml>", Yes, sameAsDiskSpd, "R", (*parser).format},
		{"-s[i][<align>]", Yes, sameAsDiskSpd, "s", (*parser).sequential},
		{"-S[bhmuw]", Yes, "caching: `u` direct I/O, `w` each write reaches the medium (O_DSYNC), `h` both, `b` the system's cache (the default); `m` a mapping of the file, one I/O at a time per thread, on Linux only", "S", (*parser).caching},
		{"-Sr", Refused, "for remote file systems (SMB, NFS): caching on the server only. `-Su` is the nearest", "S", (*parser).caching},
		{"-t<count>", Yes, sameAsDiskSpd, "t", count(func(t *Target) *uint32 { return &t.Threads })},
		{"-T<size>", Yes, sameAsDiskSpd, "T", (*parser).stride},
		{"-v", Yes, sameAsDiskSpd, "v", (*parser).verbose},
		{"-vs", Refused, "wait statistics of DiskSpd's own loop", "v", (*parser).verbose},
		{"-w<percent>", Yes, sameAsDiskSpd, "w", (*parser).writeRatio},
		{"-W<seconds>", Yes, sameAsDiskSpd, "W", seconds(func(s *Span) *uint32 { return &s.Warmup }, "W")},
		{"-x", Yes, "how completions are awaited: the engine decides it here, so it makes no difference", "x", spanFlag(func(s *Span) *bool { return &s.CompletionRoutines })},
		{"-X<file>", Yes, "an XML profile. With it, only `-C -d -R -v -W -z` and the targets for its templates `*1`, `*2`, ...", "X", (*parser).xml},
		{"-y...", Refused, "Windows events that start and stop several programs together", "y", refuse("named events are Windows' own; plimsoll starts the clients of a plan together by itself")},
		{"-z[<seed>]", Yes, sameAsDiskSpd, "z", (*parser).seed},
		{"-Z", Yes, sameAsDiskSpd, "Z", (*parser).content},
		{"-Zr", Yes, sameAsDiskSpd, "Z", (*parser).content},
		{"-Z<size>", Yes, "writes random data; here no block repeats, whatever the size", "Z", (*parser).content},
		{"-Z<size>,<file>", Yes, "writes a file's content: its first `<size>` bytes, repeated; each block continues where the previous one ended. At most 1 MiB is used, and the file is on this machine", "Z", (*parser).content},
		{"-:<flags>", Refused, "DiskSpd's experiments", ":", (*parser).experiment},
	}
}

// find returns the option that begins an argument without its dash, and the value behind it.
func find(arg string) (*Option, string) {
	var best *Option
	for i := range options {
		o := &options[i]
		if strings.HasPrefix(arg, o.prefix) && (best == nil || len(o.prefix) > len(best.prefix)) {
			best = o
		}
	}
	if best == nil {
		return nil, ""
	}
	return best, arg[len(best.prefix):]
}

// unknown is the error about an option that there isn't.
func unknown(where, arg string) error {
	if r, size := utf8.DecodeRuneInString(arg); size > 0 {
		other := unicode.ToUpper(r)
		if other == r {
			other = unicode.ToLower(r)
		}
		if o, _ := find(string(other)); o != nil && other != r {
			return usage(where, "there is no option -%c; the nearest is -%c, written %s", r, other, o.Form)
		}
	}
	return usage(where, "no option of DiskSpd; they are one letter with its value glued to it, as in -b4K")
}
