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

// Options lists the options in the order of the documentation.
func Options() []Option { return options }

var options []Option

// The options refer to the parser, which looks them up: filling them in here breaks the circle.
func init() {
	options = []Option{
		{"-?", Refused, "prints nothing here: see this page", "?", refuse("the options are listed in docs/diskspd.md")},
		{"-a[g#,]#[,#,...], -ag", Partly, "threads get these processors in turn. Processor groups are Windows' own: only group 0 is taken", "a", (*parser).affinity},
		{"-b<size>", Yes, "size of an I/O and of the unit `b` [64K]", "b", (*parser).block},
		{"-B<base>[:<length>]", Yes, "range of the target that is used", "B", (*parser).bounds},
		{"-c<size>", Yes, "makes the files by writing all of them, if they aren't there. A file that is there has to be at least that long, and its first `<size>` bytes are used. Of several the last counts", "c", (*parser).create},
		{"-C<seconds>", Yes, "time that goes on after the measured one [0]", "C", seconds(func(s *Span) *uint32 { return &s.Cooldown }, "C")},
		{"-d<seconds>", Yes, "measured time [10]. 0 is refused: it would measure nothing", "d", seconds(func(s *Span) *uint32 { return &s.Duration }, "d")},
		{"-D[<milliseconds>]", Partly, "IOPS in intervals [1000], of at least 10 ms, and their standard deviation. In the XML's intervals only the mean latency is known; its least, greatest and deviation are NaN", "D", (*parser).buckets},
		{"-e...", Refused, "events of Windows (ETW)", "e", (*parser).etw},
		{"-f<size>", Yes, "the end of the range", "f", (*parser).maxOffset},
		{"-f<rst>", Partly, "hints to the system's cache: `s` sequential (it reads further ahead), `r` random (it does not). `t`, a temporary file, is refused", "f", (*parser).maxOffset},
		{"-F<count>", Partly, "threads that all targets share. Without `-O` each of them is one thread a target on the same processor, which does the same I/Os", "F", (*parser).totalThreads},
		{"-g<bytes per ms>, -g<count>i", Yes, "limits each thread on each target to a rate, without DiskSpd's whole milliseconds", "g", (*parser).throttle},
		{"-h", Yes, "the old word for `-Sh`", "h", (*parser).noCache},
		{"-i<count>", Yes, "I/Os of a burst. The pause after them begins when they are complete; DiskSpd's when they are started", "i", (*parser).burst},
		{"-I<1..3>", Partly, "only 3, normal: the load generator sets no priority", "I", (*parser).priority},
		{"-j<milliseconds>", Yes, "the pause after each burst", "j", (*parser).think},
		{"-l", Yes, "large pages for the buffers, which have to be reserved (`vm.nr_hugepages`); refused on Windows", "l", flagOf(func(t *Target) *bool { return &t.LargePages })},
		{"-L", Yes, "latencies. They are counted in a histogram whose buckets are within 0.78 % of every value in them; least, greatest and mean are exact", "L", spanFlag(func(s *Span) *bool { return &s.Latency })},
		{"-n", Yes, "threads are not bound to processors. Without it each is bound to one of those that the worker may use, in turn", "n", spanFlag(func(s *Span) *bool { return &s.NoAffinity })},
		{"-N<vni>", Partly, "with `-Sm`: `v` syncs each write (msync). `n` and `i`, for memory that keeps its data, are refused", "N", (*parser).flush},
		{"-o<count>", Yes, "I/Os that each thread keeps in flight on each target [2]", "o", count(func(t *Target) *uint32 { return &t.Outstanding })},
		{"-O<count>", Yes, "I/Os that each of the shared threads (`-F`) keeps in flight, each on any of the targets. These have to be alike, as those of a line are; of files of several sizes the first bytes are used, as many as the smallest has. Without `-D`, if there are several", "O", (*parser).threadRequests},
		{"-p", Yes, "the I/Os that a thread keeps in flight on a target start at one offset, and each walks it by itself; needs `-o` over 1", "p", flagOf(func(t *Target) *bool { return &t.Parallel })},
		{"-P<count>", Yes, "a dot after each that many I/Os [65536], of all threads together and on stderr, so that the report stays as it is", "P", (*parser).progress},
		{"-r[<align>]", Yes, "random offsets, multiples of `<align>` [the block]", "r", (*parser).random},
		{"-rd<pct|abs>...", Partly, "parts of the target with a share of the I/Os each. `abs` needs `-c`, `-f` or `-B` with a length, by which parts beyond the end are cut off", "rd", (*parser).distribution},
		{"-rs<percent>", Partly, "percentage of I/Os at random offsets. `-r` with an alignment other than the block is refused with it", "rs", (*parser).randomShare},
		{"-R[p]<text|xml>", Yes, "format of the report; with `p` the profile is checked and printed only", "R", (*parser).format},
		{"-s[i][<align>]", Yes, "stride of sequential I/O [the block]; `i`: the threads share one position", "s", (*parser).sequential},
		{"-S[bhmuw]", Yes, "caching: `u` direct I/O, `w` each write is on the medium (O_DSYNC), `h` both, `b` the cache of the system, which is the default; `m` a mapping of the file, one I/O at a time in each thread, on Linux only", "S", (*parser).caching},
		{"-Sr", Refused, "for remote file systems (SMB, NFS): caching on the server only. `-Su` is the nearest", "S", (*parser).caching},
		{"-t<count>", Yes, "threads of each target [1]", "t", count(func(t *Target) *uint32 { return &t.Threads })},
		{"-T<size>", Yes, "how far apart the threads start", "T", (*parser).stride},
		{"-v", Yes, "says so in the report", "v", (*parser).verbose},
		{"-vs", Refused, "statistics of waiting: DiskSpd's own loop", "v", (*parser).verbose},
		{"-w<percent>", Yes, "percentage of writes [0]", "w", (*parser).writeRatio},
		{"-W<seconds>", Yes, "time before the measured one [5]", "W", seconds(func(s *Span) *uint32 { return &s.Warmup }, "W")},
		{"-x", Yes, "how completions are awaited: that is the engine's matter here, and makes no difference", "x", spanFlag(func(s *Span) *bool { return &s.CompletionRoutines })},
		{"-X<file>", Yes, "an XML profile. Beside it only `-C -d -R -v -W -z` and the targets for its templates `*1`, `*2`, ...", "X", (*parser).xml},
		{"-y...", Refused, "events of Windows that start and stop several programs together", "y", refuse("named events are Windows' own; plimsoll starts the clients of a plan together by itself")},
		{"-z[<seed>]", Yes, "seed of all that is random [0]; without a number: the time", "z", (*parser).seed},
		{"-Z", Yes, "writes zeros", "Z", (*parser).content},
		{"-Zr", Yes, "writes random data, made anew for each write within its latency, as DiskSpd makes it; not beside `-Z<size>`", "Z", (*parser).content},
		{"-Z<size>", Yes, "writes random data; here no block comes twice, whatever the size", "Z", (*parser).content},
		{"-Z<size>,<file>", Yes, "writes a file's content: of its first `<size>` bytes, repeated, each block goes on where the one before it ended. At most 1 MiB of it is used, and the file is this machine's", "Z", (*parser).content},
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
