package diskspd

import (
	"fmt"
	"regexp"
	"strings"
)

// A checker looks for contradictions and for what isn't supported.
type checker struct {
	where    map[string]string // places of the line's options; none of an XML profile's
	xml      string            // the profile's name
	warnings []string
	span     int
	target   int
}

// bad is an error about an option of the target or span at work.
func (c *checker) bad(option, format string, args ...any) error {
	return usage(c.place(option), format, args...)
}

// place is where an option stands, or which part of the profile holds it.
func (c *checker) place(option string) string {
	if w := c.where[option]; w != "" {
		return w
	}
	if c.target > 0 {
		return fmt.Sprintf("time span %d, target %d, -%s", c.span, c.target, option)
	}
	if c.span > 0 {
		return fmt.Sprintf("time span %d, -%s", c.span, option)
	}
	return "-" + option
}

func (c *checker) warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// profile checks all of it.
func (c *checker) profile(p *Profile) error {
	if len(p.Spans) == 0 {
		return usage(c.xml, "the profile has no time span")
	}
	for i := range p.Spans {
		c.span, c.target = i+1, 0
		if err := c.timeSpan(&p.Spans[i]); err != nil {
			return err
		}
	}
	c.span, c.target = 0, 0
	if p.Only {
		return nil // A profile that can't be run here can be printed.
	}
	switch {
	case p.ETW:
		return c.bad("e", "isn't supported: events of Windows (ETW)")
	case p.VerboseStats:
		return c.bad("vs", "isn't supported: the load generator doesn't wait as DiskSpd does; use -v")
	case p.ExperimentFlags != 0:
		return c.bad(":", "isn't supported: DiskSpd's experiments")
	}
	for i := range p.Spans {
		c.span, c.target = i+1, 0
		if err := c.supported(p, &p.Spans[i]); err != nil {
			return err
		}
	}
	return nil
}

// timeSpan looks for DiskSpd's contradictions.
func (c *checker) timeSpan(s *Span) error {
	if s.NoAffinity && len(s.Affinity) > 0 {
		return c.bad("n", "contradicts -a")
	}
	if s.Requests > 0 && s.Threads == 0 {
		return c.bad("O", "needs -F: it is how many I/Os each of the shared threads keeps in flight")
	}
	if n := s.threadCount(); n > maxThreads {
		return c.bad("t", "%d threads in all; at most %d", n, maxThreads)
	}
	for i := range s.Targets {
		c.target = i + 1
		t := &s.Targets[i]
		for _, check := range []func(*Span, *Target) error{c.threads, c.pattern, c.ranges, c.data} {
			if err := check(s, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) threads(s *Span, t *Target) error {
	switch {
	case s.Threads > 0 && t.Threads > 1:
		return c.bad("F", "contradicts -t: threads are shared by all targets, or each target has its own")
	case (t.BytesPerMS > 0 || t.IOPS > 0) && s.CompletionRoutines:
		return c.bad("g", "contradicts -x")
	case t.Burst > 0 && t.Think == 0:
		return c.bad("i", "needs -j: the pause between bursts")
	case t.Think > 0 && t.Burst == 0:
		return c.bad("j", "needs -i: the I/Os of a burst")
	case s.pooled() && (t.BytesPerMS > 0 || t.IOPS > 0):
		return c.bad("g", "contradicts -O")
	case s.pooled() && t.Think > 0:
		return c.bad("j", "contradicts -O")
	case s.pooled() && t.Parallel:
		return c.bad("p", "contradicts -O")
	case s.pooled() && t.Weight == 0:
		return c.bad("O", "the target's Weight must be over 0")
	case !s.pooled() && len(t.ThreadTargets) > 0:
		return c.bad("O", "ThreadTargets need ThreadCount and RequestCount of the time span")
	}
	for _, tt := range t.ThreadTargets {
		if tt.Thread >= s.Threads {
			return c.bad("O", "ThreadTarget %d: the time span has %d threads", tt.Thread, s.Threads)
		}
	}
	return nil
}

func (c *checker) pattern(s *Span, t *Target) error {
	if t.Cache == NoOSCache && t.Block%512 != 0 {
		return c.bad("b", "without the system's cache (-Su, -Sh, -h) an I/O has whole sectors: use a multiple of 512")
	}
	several := s.threads(t) > 1
	if t.RandomRatio > 0 {
		switch {
		case t.ThreadStride > 0:
			return c.bad("T", "contradicts -r: random offsets have no start")
		case t.Interlocked:
			return c.bad("s", "-si contradicts -r")
		case t.Parallel:
			return c.bad("p", "contradicts -r")
		}
	} else {
		switch {
		case len(t.Ranges) > 0:
			return c.bad("rd", "needs -r or -rs: a sequential target is walked evenly")
		case t.Interlocked && t.ThreadStride > 0:
			return c.bad("T", "contradicts -si: the threads share one position")
		case t.Interlocked && t.Parallel:
			return c.bad("p", "contradicts -si")
		case t.Interlocked && !several:
			c.warn("WARNING: single-threaded test, -si ignored")
		case !t.Interlocked && several && t.ThreadStride == 0:
			c.warn("WARNING: target access pattern will not be sequential, consider -si")
		case !several && t.ThreadStride > 0:
			return c.bad("T", "has no meaning with one thread")
		}
		if t.Parallel && s.outstanding(t) == 1 {
			c.warn("WARNING: -p does not have effect unless outstanding I/O count (-o) is > 1")
		}
	}
	if t.Max > 0 && t.Max <= t.Base {
		return c.bad("f", "the range ends at %d, before it begins at %d (-B)", t.Max, t.Base)
	}
	if end := t.end(); end > 0 && end < t.Base+uint64(t.Block) {
		return c.bad("B", "between %d and the end of the range at %d is less than a block of %d", t.Base, end, t.Block)
	}
	return nil
}

// ranges checks the parts of a target with a share of the I/Os each.
func (c *checker) ranges(_ *Span, t *Target) error {
	io, size := uint64(0), uint64(0)
	for i, r := range t.Ranges {
		if t.Absolute && r.Size < uint64(t.Block) && (r.Size != 0 || i < len(t.Ranges)-1) {
			return c.bad("rd", "a part of %d bytes is less than one block of %d", r.Size, t.Block)
		}
		io, size = io+uint64(r.IO), size+r.Size
		switch {
		case io > 100:
			return c.bad("rd", "the shares of the I/Os add up to more than 100 %%")
		case !t.Absolute && size > 100:
			return c.bad("rd", "the parts of the target add up to more than 100 %%")
		case !t.Absolute && size == 100 && io < 100:
			return c.bad("rd", "the parts are all of the target, but hold only %d %% of the I/Os", io)
		case t.Absolute && size > 1<<62:
			return c.bad("rd", "the parts are larger than any file")
		}
	}
	if len(t.Ranges) > 0 && !t.Absolute && size != 100 {
		return c.bad("rd", "the parts of the target add up to %d %%, not to 100", size)
	}
	return nil
}

func (c *checker) data(s *Span, t *Target) error {
	switch {
	case t.RandomSize > 0 && t.RandomSize < uint64(t.Block):
		return c.bad("Z", "a buffer of %d bytes is less than one block of %d (-b)", t.RandomSize, t.Block)
	case t.Zero && (t.RandomSize > 0 || s.RandomWrites):
		return c.bad("Z", "zeros contradict random data")
	case t.RandomFile != "" && s.RandomWrites:
		return c.bad("Z", "the content of %s contradicts -Zr, random data that is new for each I/O", t.RandomFile)
	case t.MemoryMapped && s.CompletionRoutines:
		return c.bad("S", "-Sm contradicts -x")
	case t.MemoryMapped && t.Cache == NoOSCache:
		return c.bad("S", "-Sm contradicts direct I/O (-Su, -Sh)")
	case !t.MemoryMapped && t.FlushType != "":
		return c.bad("N", "needs -Sm")
	}
	return nil
}

// supported looks for what can be said but not done here.
func (c *checker) supported(p *Profile, s *Span) error {
	switch {
	case s.Duration == 0:
		return c.bad("d", "a test of 0 seconds would measure nothing")
	case s.pooled() && len(s.Targets) > 1 && !s.alike():
		return c.bad("O", "isn't supported with targets that differ in more than their paths: each I/O goes to any of them; leave -O out, and -o says how many I/Os are in flight on each")
	case s.pooled() && len(s.Targets) > 1 && s.IOPS:
		return c.bad("D", "the intervals of several targets that share I/Os (-O) aren't kept apart")
	case s.IOPS && s.Bucket < 10:
		return c.bad("D", "intervals of less than 10 ms aren't kept")
	case s.IOPS && uint64(s.Duration)*1000/uint64(s.Bucket)*uint64(s.threadCount()+1) > 1<<20:
		return c.bad("D", "intervals of %d ms for %d s and %d threads are too many to keep", s.Bucket, s.Duration, s.threadCount())
	}
	for _, a := range s.Affinity {
		if a.Group > 0 {
			return c.bad("a", "processor group %d isn't supported: groups are Windows' own; number processors as the system does", a.Group)
		}
	}
	for i := range s.Targets {
		c.target = i + 1
		if err := c.supportedTarget(&s.Targets[i]); err != nil {
			return err
		}
		if err := c.sameSize(p, &s.Targets[i]); err != nil {
			return err
		}
	}
	return nil
}

// windowsDisk and windowsVolume are Windows' names of devices, as in \\.\PhysicalDrive1 and \\.\C:, also as a shell leaves them that takes backslashes
// for its own.
var (
	windowsDisk   = regexp.MustCompile(`(?i)^\\{1,2}[.?]\\?PhysicalDrive\d+$`)
	windowsVolume = regexp.MustCompile(`(?i)^\\{1,2}[.?]\\?([a-z]:|Volume\{[0-9a-f-]+\})\\?$`)
)

func (c *checker) supportedTarget(t *Target) error {
	switch {
	case t.Path == "":
		return usage(c.place("path"), "the path is empty")
	case strings.ContainsRune(t.Path, 0):
		return usage(c.place("path"), "the path %q holds a NUL byte", t.Path)
	case t.template() > 0 || strings.HasPrefix(t.Path, "*"):
		return usage(c.place("X"), "the template target %s was not replaced: give its path on the command line", t.Path)
	case strings.HasPrefix(t.Path, "#") || windowsDisk.MatchString(t.Path):
		return usage(t.Path, "disks of Windows aren't supported; on Linux name the device, as in /dev/sdb")
	case len(t.Path) == 2 && t.Path[1] == ':' || windowsVolume.MatchString(t.Path):
		return usage(t.Path, "volumes of Windows aren't supported; name a file on it, or on Linux a device, as in /dev/sdb1")
	case t.SequentialScan && t.RandomAccess:
		return c.bad("f", "-fs contradicts -fr: the cache reads ahead, or it doesn't")
	case t.Temporary:
		return c.bad("f", "-ft isn't supported: only Windows has files that are not to be written to disk; use a tmpfs as --place")
	case t.FlushType != "" && t.FlushType != "ViewOfFile":
		return c.bad("N", "-Nn and -Ni aren't supported: they are for memory that keeps its data; the nearest is -Nv")
	case t.Cache == NoLocalCache:
		return c.bad("S", "-Sr isn't supported: it is for remote file systems (SMB, NFS), whose server then does all caching; the nearest is -Su")
	case t.Priority < 3:
		return c.bad("I", "isn't supported but for 3, normal: the load generator sets no priority")
	case len(t.ThreadTargets) > 0:
		return c.bad("O", "ThreadTargets aren't supported")
	case t.RandomRatio > 0 && t.RandomRatio < 100 && t.align() != uint64(t.Block):
		return c.bad("rs", "isn't supported with an alignment (%d) other than the block (%d): sequential I/Os would leave gaps", t.align(), t.Block)
	case t.Absolute && len(t.Ranges) > 0 && !t.Create && t.Max == 0:
		return c.bad("rd", "-rdabs needs to know the target's size: give -c<size> or -f<size>")
	}
	return nil
}

// sameSize refuses files that have several sizes in one profile: a file that is there isn't made anew.
func (c *checker) sameSize(p *Profile, t *Target) error {
	if !t.Create {
		return nil
	}
	for i := range p.Spans {
		for k := range p.Spans[i].Targets {
			if o := &p.Spans[i].Targets[k]; o.Path == t.Path && o.Create && o.FileSize != t.FileSize {
				return c.bad("c", "%s gets %d bytes here and %d in time span %d; one size only", t.Path, t.FileSize, o.FileSize, i+1)
			}
		}
	}
	return nil
}
