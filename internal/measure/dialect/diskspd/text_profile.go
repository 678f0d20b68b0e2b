package diskspd

import (
	"fmt"
	"strings"
)

// ProfileText is the profile as DiskSpd's text report begins.
func ProfileText(p *Profile) string {
	var w printer
	w.profile(p)
	return w.String()
}

func (w *printer) profile(p *Profile) {
	w.f("\nCommand Line: %s\n\n", p.CommandLine)
	if p.ExperimentFlags != 0 {
		w.f("Experiment Flags: 0x%x (%d)\n\n", p.ExperimentFlags, p.ExperimentFlags)
	}
	w.f("Input parameters:\n\n")
	if p.Verbose {
		w.f("\tusing verbose mode\n")
	}
	for i := range p.Spans {
		w.f("\ttimespan: %3d\n\t-------------\n", i+1)
		w.input(&p.Spans[i])
		w.f("\n")
	}
}

// input is what a time span is asked to do.
func (w *printer) input(s *Span) {
	w.f("\tduration: %ds\n\twarm up time: %ds\n\tcool down time: %ds\n", s.Duration, s.Warmup, s.Cooldown)
	if s.NoAffinity {
		w.f("\taffinity disabled\n")
	}
	if s.Latency {
		w.f("\tmeasuring latency\n")
	}
	if s.IOPS {
		w.f("\tgathering IOPS at intervals of %dms\n", s.Bucket)
	}
	w.f("\trandom seed: %d\n", s.Seed)
	if s.Threads > 0 {
		w.f("\tthread pool with %d threads\n\tnumber of outstanding I/O operations per thread: %d\n", s.Threads, s.Requests)
	}
	if len(s.Affinity) > 0 {
		var all []string
		for _, a := range s.Affinity {
			all = append(all, fmt.Sprintf("%d/%d", a.Group, a.Number))
		}
		w.f("\tadvanced affinity round robin (group/core): %s\n", strings.Join(all, ", "))
	}
	if s.RandomWrites {
		w.f("\tgenerating random data for each write IO\n" +
			"\t  WARNING: this increases the CPU cost of issuing writes and should only\n" +
			"\t           be compared to other results using the -Zr flag\n")
	}
	for i := range s.Targets {
		w.target(s, &s.Targets[i])
	}
}

// target is what is to be done to one target.
func (w *printer) target(s *Span, t *Target) {
	if name, ok := strings.CutPrefix(t.Path, "*"); ok {
		w.f("\tpath: template target '%s'\n", name)
	} else {
		w.f("\tpath: '%s'\n", t.Path)
	}
	w.f("\t\tthink time: %dms\n\t\tburst size: %d\n", t.Think, t.Burst)
	w.caching(t)
	w.content(t)
	if t.Parallel {
		w.f("\t\tusing parallel async I/O\n")
	}
	switch t.WriteRatio {
	case 0:
		w.f("\t\tperforming read test\n")
	case 100:
		w.f("\t\tperforming write test\n")
	default:
		w.f("\t\tperforming mix test (read/write ratio: %d/%d)\n", 100-t.WriteRatio, t.WriteRatio)
	}
	w.f("\t\tblock size: %s\n", sizeText(uint64(t.Block), 0))
	w.places(t)
	if s.pooled() {
		w.f("\t\trelative IO weight in thread pool: %d\n", t.Weight)
	} else {
		w.f("\t\tnumber of outstanding I/O operations per thread: %d\n", t.Outstanding)
	}
	for _, o := range []struct {
		name string
		size uint64
	}{{"base file offset", t.Base}, {"max file size", t.Max}, {"thread stride size", t.ThreadStride}} {
		if o.size > 0 {
			w.f("\t\t%s: %s\n", o.name, sizeText(o.size, 0))
		}
	}
	for _, o := range []struct {
		name string
		on   bool
	}{
		{"FILE_FLAG_SEQUENTIAL_SCAN", t.SequentialScan}, {"FILE_FLAG_RANDOM_ACCESS", t.RandomAccess},
		{"FILE_ATTRIBUTE_TEMPORARY", t.Temporary},
	} {
		if o.on {
			w.f("\t\tusing %s hint\n", o.name)
		}
	}
	w.way(s, t)
}

func (w *printer) caching(t *Target) {
	switch t.Cache {
	case Cached:
		w.f("\t\tusing software cache\n")
	case NoLocalCache:
		w.f("\t\tlocal software cache disabled, remote cache enabled\n")
	case NoOSCache:
		w.f("\t\tsoftware cache disabled\n")
	}
	switch {
	case !t.WriteThrough:
		w.f("\t\tusing hardware write cache, writethrough off\n")
	case t.Cache == NoOSCache:
		w.f("\t\thardware write cache disabled, writethrough on\n")
	default:
		w.f("\t\thardware and software write caches disabled, writethrough on\n")
	}
	if t.MemoryMapped {
		w.f("\t\tmemory mapped I/O enabled%s\n", map[string]string{
			"ViewOfFile":               ", flush mode: FlushViewOfFile",
			"NonVolatileMemory":        ", flush mode: FlushNonVolatileMemory",
			"NonVolatileMemoryNoDrain": ", flush mode: FlushNonVolatileMemory with no drain",
		}[t.FlushType])
	}
}

func (w *printer) content(t *Target) {
	if t.Zero {
		w.f("\t\tzeroing write buffers\n")
	}
	if t.RandomSize == 0 {
		return
	}
	w.f("\t\twrite buffer size: %s\n", sizeText(t.RandomSize, 0))
	if t.RandomFile != "" {
		w.f("\t\twrite buffer source: '%s'\n", t.RandomFile)
	} else {
		w.f("\t\twrite buffer source: random fill\n")
	}
}

func (w *printer) places(t *Target) {
	switch {
	case t.RandomRatio == 100:
		w.f("\t\tusing random I/O (alignment: ")
	case t.RandomRatio > 0:
		w.f("\t\tusing mixed random/sequential I/O (%d%% random) (alignment/stride: ", t.RandomRatio)
	case t.Interlocked:
		w.f("\t\tusing interlocked sequential I/O (stride: ")
	default:
		w.f("\t\tusing sequential I/O (stride: ")
	}
	w.f("%s)\n", sizeText(t.align(), 0))
}

// way is how the I/Os are made.
func (w *printer) way(s *Span, t *Target) {
	if s.Threads == 0 {
		w.f("\t\tthreads per file: %d\n", t.Threads)
		switch {
		case t.Outstanding <= 1:
		case s.CompletionRoutines:
			w.f("\t\tusing completion routines (ReadFileEx/WriteFileEx)\n")
		default:
			w.f("\t\tusing I/O Completion Ports\n")
		}
	}
	w.f("\t\tIO priority: %s\n", [...]string{"unknown", "very low", "low", "normal"}[t.Priority])
	switch {
	case t.IOPS > 0:
		w.f("\t\tthroughput rate-limited to %d IOPS\n", t.IOPS)
	case t.BytesPerMS > 0:
		w.f("\t\tthroughput rate-limited to %d B/ms\n", t.BytesPerMS)
	}
	if len(t.Ranges) == 0 {
		return
	}
	w.f("\t\tIO Distribution:\n")
	at := uint64(0)
	for _, r := range t.Ranges {
		if t.Absolute {
			end := uint64(0)
			if r.Size > 0 {
				end = at + r.Size
			}
			w.f("\t\t   %3d%% of IO => [%s", r.IO, between(at, end))
		} else {
			w.f("\t\t   %3d%% of IO => [%2d%% - %3d%%) of target\n", r.IO, at, at+r.Size)
		}
		at += r.Size
	}
}

// between is a range of bytes and the end of its line; an end of 0 is that of the target.
func between(first, end uint64) string {
	s := "     0   "
	if first > 0 {
		s = sizeText(first, 6)
	}
	if end == 0 {
		return s + " -       end)\n"
	}
	return s + " - " + sizeText(end, 6) + ")\n"
}
