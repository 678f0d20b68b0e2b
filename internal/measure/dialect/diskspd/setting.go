package diskspd

import (
	"math"
	"strconv"
	"strings"
)

func (p *parser) block(value string) error {
	n, err := p.size(value)
	if err != nil {
		return err
	}
	if n < 1 || n > 1<<30 {
		return p.bad("a block must be from 1 byte to 1G")
	}
	p.target.Block = uint32(n)
	return nil
}

func (p *parser) bounds(value string) error {
	base, length, ranged := strings.Cut(value, ":")
	var err error
	if p.target.Base, err = p.size(base); err != nil {
		return err
	}
	if !ranged {
		return nil
	}
	n, err := p.size(length)
	if err != nil {
		return err
	}
	if n == 0 || n > math.MaxInt64-p.target.Base {
		return p.bad("a length of %d bytes from %d on is not a valid range", n, p.target.Base)
	}
	return p.end(p.target.Base + n)
}

// end sets the end of the range.
func (p *parser) end(at uint64) error {
	if p.target.Max != 0 && p.target.Max != at {
		return p.bad("the end of the range is given twice; use one of -B<base>:<length> and -f<size>")
	}
	p.target.Max = at
	return nil
}

func (p *parser) create(value string) error {
	n, err := p.size(value)
	if err == nil && n == 0 {
		err = p.bad("a file of no size can't be tested")
	}
	p.target.Create, p.target.FileSize = true, n
	return err
}

func (p *parser) buckets(value string) error {
	p.span.IOPS = true
	if value == "" {
		return nil
	}
	n, err := p.number(value, 1, 24*3600*1000)
	if err == nil {
		p.span.Bucket = n
	}
	return err
}

func (p *parser) etw(string) error {
	p.profile.ETW = true
	return nil
}

func (p *parser) maxOffset(value string) error {
	if value != "" && strings.Trim(value, "rst") == "" {
		p.target.RandomAccess = p.target.RandomAccess || strings.Contains(value, "r")
		p.target.SequentialScan = p.target.SequentialScan || strings.Contains(value, "s")
		p.target.Temporary = p.target.Temporary || strings.Contains(value, "t")
		return nil
	}
	n, err := p.size(value)
	if err != nil {
		return err
	}
	if n == 0 {
		return p.bad("nothing is before offset 0")
	}
	return p.end(n)
}

func (p *parser) totalThreads(value string) (err error) {
	p.span.Threads, err = p.number(value, 1, maxThreads)
	return err
}

func (p *parser) threadRequests(value string) (err error) {
	p.span.Requests, err = p.number(value, 1, maxOutstanding)
	return err
}

func (p *parser) throttle(value string) error {
	n, iops := strings.CutSuffix(value, "i")
	rate, err := p.number(n, 1, 1e9)
	if err != nil {
		return err
	}
	p.target.BytesPerMS, p.target.IOPS = rate, 0
	if iops {
		p.target.BytesPerMS, p.target.IOPS = 0, rate
	}
	return nil
}

func (p *parser) noCache(value string) error {
	if p.cacheSet || p.throughSet {
		return p.bad("contradicts %s; use one of them", p.where["S"])
	}
	p.cacheSet, p.throughSet = true, true
	p.target.Cache, p.target.WriteThrough = NoOSCache, true
	return p.none(value)
}

func (p *parser) burst(value string) (err error) {
	p.target.UseBurst = true
	p.target.Burst, err = p.number(value, 1, 1<<30)
	return err
}

func (p *parser) think(value string) (err error) {
	p.target.UseThink = true
	p.target.Think, err = p.number(value, 1, 24*3600*1000)
	return err
}

func (p *parser) priority(value string) (err error) {
	p.target.Priority, err = p.number(value, 1, 3)
	return err
}

func (p *parser) flush(value string) error {
	kind, ok := map[string]string{"v": "ViewOfFile", "n": "NonVolatileMemory", "i": "NonVolatileMemoryNoDrain"}[strings.ToLower(value)]
	if !ok {
		return p.bad("use -Nv, -Nn or -Ni")
	}
	p.target.FlushType = kind
	return nil
}

func (p *parser) progress(value string) error {
	p.profile.Progress = 65536
	if value == "" {
		return nil
	}
	n, err := p.number(value, 1, math.MaxUint32)
	p.profile.Progress = n
	return err
}

func (p *parser) random(value string) error {
	if p.sequentialSet {
		return p.bad("contradicts %s: offsets are either sequential or random", p.where["s"])
	}
	at := uint64(p.target.Block)
	if value != "" {
		var err error
		if at, err = p.size(value); err != nil {
			return err
		}
		if at == 0 || at > 1<<30 {
			return p.bad("an alignment must be from 1 byte to 1G")
		}
	}
	if p.aligned && p.target.Align != at {
		return p.bad("contradicts %s: -r is given twice", p.where["r"])
	}
	p.aligned, p.target.Align = true, at
	if p.target.RandomRatio == 0 {
		p.target.RandomRatio = 100
	}
	return nil
}

func (p *parser) randomShare(value string) error {
	if p.sequentialSet {
		return p.bad("contradicts %s; use -r for the alignment of I/Os that are in part random", p.where["s"])
	}
	n, err := p.number(value, 1, 100)
	if err != nil {
		return err
	}
	if r := p.target.RandomRatio; r != 0 && r != 100 && r != n {
		return p.bad("contradicts %s: -rs is given twice", p.where["rs"])
	}
	p.target.RandomRatio = n
	return nil
}

func (p *parser) distribution(value string) error {
	kind := value[:min(3, len(value))]
	if kind != "pct" && kind != "abs" {
		return p.bad("use -rdpct<IO%%>/<target%%>:... or -rdabs<IO%%>/<size>:...")
	}
	p.target.Absolute = kind == "abs"
	p.target.Ranges = nil
	for part := range strings.SplitSeq(value[3:], ":") {
		io, size, ok := strings.Cut(part, "/")
		n, err := parseUint(io, 32)
		if !ok || err != nil || n > 100 {
			return p.bad("%q must be a percentage of the I/Os, a slash and a part of the target, as in 90/10", part)
		}
		r := Range{IO: uint32(n)}
		if p.target.Absolute {
			r.Size, err = parseSize(size, uint64(p.target.Block))
		} else {
			r.Size, err = parseUint(size, 32)
		}
		switch {
		case err != nil:
			return p.bad("%q: %v", part, err)
		case r.Size == 0 || !p.target.Absolute && r.Size > 100:
			return p.bad("%q: the part of the target must be more than 0 and not more than all", part)
		case len(p.target.Ranges) == maxRanges:
			return p.bad("more than %d parts", maxRanges)
		}
		p.target.Ranges = append(p.target.Ranges, r)
	}
	return nil
}

func (p *parser) format(value string) error {
	if rest, only := strings.CutPrefix(value, "p"); only {
		p.profile.Only = true
		if value = rest; value == "" {
			return nil
		}
	}
	switch value {
	case "xml":
		p.profile.XML = true
	case "text":
		p.profile.XML = false
	default:
		return p.bad("use -Rtext, -Rxml, -Rptext or -Rpxml")
	}
	return nil
}

func (p *parser) sequential(value string) error {
	if p.target.RandomRatio > 0 {
		return p.bad("contradicts %s: offsets are either sequential or random", p.where["r"]+p.where["rs"])
	}
	if rest, shared := strings.CutPrefix(value, "i"); shared {
		p.target.Interlocked, value = true, rest
	}
	p.sequentialSet, p.target.Align = true, uint64(p.target.Block)
	if value == "" {
		return nil
	}
	n, err := p.size(value)
	if err == nil && n > 1<<40 {
		err = p.bad("a stride of more than 1T")
	}
	p.target.Align = n
	return err
}

func (p *parser) caching(value string) error {
	if value == "" {
		value = "u"
	}
	for _, c := range value {
		switch {
		case !strings.ContainsRune("bhmruw", c):
			return p.bad("%q is not one of b, h, m, r, u and w", c)
		case strings.ContainsRune("bhru", c) && p.cacheSet,
			strings.ContainsRune("hw", c) && p.throughSet,
			strings.ContainsRune("hm", c) && p.mapSet,
			c == 'u' && p.mapSet, c == 'm' && p.target.Cache == NoOSCache:
			return p.bad("%q contradicts an earlier -S or -h", c)
		}
		p.cacheSet = p.cacheSet || strings.ContainsRune("bhru", c)
		p.throughSet = p.throughSet || strings.ContainsRune("hw", c)
		switch c {
		case 'h':
			p.target.Cache, p.target.WriteThrough = NoOSCache, true
		case 'm':
			p.mapSet, p.target.MemoryMapped = true, true
		case 'r':
			p.target.Cache = NoLocalCache
		case 'u':
			p.target.Cache = NoOSCache
		case 'w':
			p.target.WriteThrough = true
		}
	}
	return nil
}

func (p *parser) stride(value string) error {
	n, err := p.size(value)
	if err == nil && n == 0 {
		err = p.bad("the threads can't be 0 bytes apart")
	}
	p.target.ThreadStride = n
	return err
}

func (p *parser) verbose(value string) error {
	switch value {
	case "":
		p.profile.Verbose = true
	case "s":
		p.profile.VerboseStats = true
	default:
		return p.bad("use -v or -vs")
	}
	return nil
}

func (p *parser) writeRatio(value string) (err error) {
	p.target.WriteRatio, err = p.number(value, 0, 100)
	return err
}

func (p *parser) xml(value string) error {
	switch {
	case value == "":
		return p.bad("the file's name is missing; it must follow the option without a space, as in -Xprofile.xml")
	case p.xmlPath != "":
		return p.bad("contradicts %s: one profile only", p.where["X"])
	}
	p.xmlPath = value
	return nil
}

func (p *parser) seed(value string) error {
	if value == "" {
		p.span.Seed = uint32(p.opt.Now().UnixMilli())
		return nil
	}
	n, err := p.number(value, 0, math.MaxUint32)
	p.span.Seed = n
	return err
}

func (p *parser) content(value string) error {
	switch value {
	case "":
		p.target.Zero = true
		return nil
	case "r":
		p.span.RandomWrites = true
		return nil
	}
	size, file, _ := strings.Cut(value, ",")
	n, err := p.size(size)
	if err == nil && n == 0 {
		err = p.bad("a buffer of no size")
	}
	p.target.RandomSize, p.target.RandomFile = n, file
	return err
}

func (p *parser) experiment(value string) (err error) {
	p.profile.ExperimentFlags, err = p.number(value, 0, math.MaxUint32)
	return err
}

// affinity reads -a, -ag and lists as in 0,1,g0,2.
func (p *parser) affinity(value string) error {
	if value == "" || value == "g" {
		return nil
	}
	group, pending := uint32(0), false
	for part := range strings.SplitSeq(value, ",") {
		num, isGroup := strings.CutPrefix(part, "g")
		n, err := strconv.ParseUint(num, 10, 16)
		switch {
		case err != nil || num[0] == '+':
			return p.bad("%q is neither a processor's number nor g and a group's", part)
		case isGroup:
			group, pending = uint32(n), true
		case n > 255:
			return p.bad("processor %d: DiskSpd's groups have at most 256", n)
		case len(p.span.Affinity) >= 1024:
			return p.bad("more than 1024 processors")
		default:
			p.span.Affinity = append(p.span.Affinity, Processor{group, uint32(n)})
			pending = false
		}
	}
	if pending {
		return p.bad("the processors of group %d are missing", group)
	}
	return nil
}
