package load

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Distribution says how often each block of a random pattern is visited: fio's random_distribution.
type Distribution struct {
	// Kind is random, zipf, pareto, normal, zoned or zoned_abs.
	Kind string
	// Param is the theta of zipf (above 0), the h of pareto (0 to 1: with 0.2, 80 % of the I/Os go to 20 % of the
	// blocks), or the extra deviation of normal's ranks, in percent of the blocks.
	Param float64
	// Center is the position of the block that zipf and pareto visit most often: a share of the region from its start,
	// 0 to 1. nil: any block, the same for each seed. The blocks of normal are spread over the whole region in any
	// case, as in fio 3.33.
	Center *float64
	// Zones are the zones of zoned and zoned_abs, from the start of the region.
	Zones []Zone
}

// A Zone is a part of the region that takes Access percent of the I/Os.
type Zone struct {
	Access float64
	// Size is percent of the region (zoned) or bytes (zoned_abs). 0 is the rest.
	Size float64
}

// Kinds of Distribution.
const (
	Zipf     = "zipf"
	Pareto   = "pareto"
	Normal   = "normal"
	Zoned    = "zoned"
	ZonedAbs = "zoned_abs"
)

// defaults are fio's values for a kind without a parameter (HOWTO, random_distribution).
var distributionDefault = map[string]float64{Zipf: 1.1, Pareto: 0.2, Normal: 0}

// ParseDistribution parses fio's random_distribution: "random", "zipf:1.2", "pareto:0.2" or "normal:10", each with an
// optional center after another colon ("zipf:1.2:0.25"); "zoned:60/10:30/20:10/70" (percent of the I/Os / percent of
// the region); or "zoned_abs:60/10g:40/90g" (percent of the I/Os / bytes). An empty string is random.
func ParseDistribution(s string) (Distribution, error) {
	kind, rest, has := strings.Cut(s, ":")
	d := Distribution{Kind: kind}
	switch kind {
	case "", Random:
		if has {
			return d, fmt.Errorf("random takes no parameter, not %q", rest)
		}
		return Distribution{Kind: Random}, nil
	case Zipf, Pareto, Normal:
		d.Param = distributionDefault[kind]
		if has {
			param, center, centered := strings.Cut(rest, ":")
			p, err := strconv.ParseFloat(param, 64)
			if err != nil {
				return d, fmt.Errorf("%s:%s: the parameter must be one number, as in %s:%v", kind, rest, kind, distributionDefault[kind])
			}
			d.Param = p
			if centered {
				c, err := strconv.ParseFloat(center, 64)
				if err != nil || !(c >= 0 && c <= 1) {
					return d, fmt.Errorf("%s:%s: the center must be from 0 to 1, as in %s:%s:0.25", kind, rest, kind, param)
				}
				d.Center = &c
			}
		}
		return d, d.check()
	case Zoned, ZonedAbs:
		var err error
		d.Zones, err = parseZones(rest, kind == ZonedAbs)
		return d, err
	}
	return d, fmt.Errorf("%q is not one of the distributions random, zoned:ACCESS/SIZE:..., zoned_abs:ACCESS/BYTES:..., zipf:THETA, pareto:H and normal:DEVIATION", s)
}

func (d Distribution) check() error {
	bad := math.IsNaN(d.Param)
	switch d.Kind {
	case Zipf:
		if bad || d.Param <= 0 || d.Param > 100 {
			return fmt.Errorf("zipf:%v: theta must be over 0 and at most 100", d.Param)
		}
	case Pareto:
		if bad || d.Param <= 0 || d.Param >= 1 {
			return fmt.Errorf("pareto:%v: h must be between 0 and 1", d.Param)
		}
	case Normal:
		if bad || d.Param < 0 || d.Param > 100 {
			return fmt.Errorf("normal:%v: the deviation must be from 0 to 100 percent of the blocks", d.Param)
		}
	}
	return nil
}

func parseZones(s string, absolute bool) ([]Zone, error) {
	var zones []Zone
	access, size := 0.0, 0.0
	for part := range strings.SplitSeq(s, ":") {
		a, b, _ := strings.Cut(part, "/")
		z := Zone{}
		var err error
		if z.Access, err = strconv.ParseFloat(a, 64); err != nil || !(z.Access >= 0 && z.Access <= 100) {
			return nil, fmt.Errorf("zone %q: the share of the I/Os must be a percentage, as in 60/10", part)
		}
		if b != "" {
			if z.Size, err = zoneSize(b, absolute); err != nil {
				return nil, fmt.Errorf("zone %q: %w", part, err)
			}
		}
		access += z.Access
		size += z.Size
		zones = append(zones, z)
	}
	for _, z := range zones[:len(zones)-1] {
		if z.Size == 0 {
			return nil, errors.New("only the last zone may leave out its size")
		}
	}
	switch {
	case len(zones) > 256:
		return nil, errors.New("more than 256 zones")
	case math.Abs(access-100) > 0.01:
		return nil, fmt.Errorf("the shares of the I/Os add up to %v %%, not to 100", access)
	case !absolute && size > 100.01:
		return nil, fmt.Errorf("the sizes add up to %v %%, more than 100", size)
	}
	return zones, nil
}

func zoneSize(s string, absolute bool) (float64, error) {
	if !absolute {
		p, err := strconv.ParseFloat(s, 64)
		if err != nil || !(p > 0 && p <= 100) {
			return 0, errors.New("the size must be a percentage over 0")
		}
		return p, nil
	}
	num, unit := s, 1.0
	if i := strings.IndexAny(s, "kKmMgGtT"); i == len(s)-1 && i > 0 {
		num = s[:i]
		unit = float64(int64(1) << (10 * (1 + strings.IndexByte("kmgt", s[i]|0x20))))
	}
	p, err := strconv.ParseFloat(num, 64)
	if err != nil || !(p > 0 && p*unit < 1<<62) {
		return 0, errors.New("the size must be bytes over 0, as in 10g")
	}
	return p * unit, nil
}

// A distribution draws one of n blocks. It belongs to one thread.
type distribution interface {
	next(g *generator) uint64
}

// newDistribution returns d over n blocks of align bytes, or nil if it is uniform.
func newDistribution(d Distribution, n uint64, align int64, seed uint64) distribution {
	scatter := scattering{permutation: newPermutation(n, seed)}
	if d.Center != nil {
		scatter.from = (min(uint64(*d.Center*float64(n)), n-1) + n - scatter.permutation.at(0)) % n
	}
	switch d.Kind {
	case Zipf:
		return newZipf(d.Param, n, scatter)
	case Pareto:
		return &pareto{n: float64(n), power: math.Log(d.Param) / math.Log(1-d.Param), scatter: scatter}
	case Normal:
		return &normal{n: float64(n), dev: min(math.Ceil(float64(n)*d.Param/100), float64(n)/2), scatter: scatter}
	case Zoned, ZonedAbs:
		return newZones(d, n, align)
	}
	return nil
}

// A scattering spreads ranks over the blocks of the region, rotated by from blocks.
type scattering struct {
	permutation
	from uint64
}

func (s *scattering) at(i uint64) uint64 {
	at := s.permutation.at(i)
	if s.from == 0 {
		return at
	}
	return (at + s.from) % s.n
}

// zipf draws rank k with a probability proportional to 1/k^theta, exactly, by rejection-inversion (Hörmann and
// Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", 1996). fio's method
// (Gray et al. 1994) is an approximation for theta below 1. Like fio, zipf scatters the ranks over the region.
type zipf struct {
	theta, n         float64
	hx1, hn, squeeze float64
	scatter          scattering
}

func newZipf(theta float64, n uint64, scatter scattering) *zipf {
	z := &zipf{theta: theta, n: float64(n), scatter: scatter}
	z.hx1 = z.integral(1.5) - 1
	z.hn = z.integral(z.n + 0.5)
	z.squeeze = 2 - z.inverse(z.integral(2.5)-math.Pow(2, -theta))
	return z
}

// integral returns the integral of x^-theta from 1.
func (z *zipf) integral(x float64) float64 {
	l := math.Log(x)
	if e := (1 - z.theta) * l; math.Abs(e) > 1e-8 {
		return math.Expm1(e) / (1 - z.theta)
	}
	return l
}

func (z *zipf) inverse(y float64) float64 {
	e := y * (1 - z.theta)
	if math.Abs(e) > 1e-8 {
		return math.Exp(math.Log1p(max(e, -1)) / (1 - z.theta))
	}
	return math.Exp(y)
}

func (z *zipf) next(g *generator) uint64 {
	for {
		u := z.hn + g.float()*(z.hx1-z.hn)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.squeeze || u >= z.integral(k+0.5)-math.Pow(k, -z.theta) {
			return z.scatter.at(uint64(k) - 1)
		}
	}
}

// pareto is self-similar: a share of 1-h of the I/Os goes to a share h of the blocks, and likewise within those blocks
// (Gray et al., "Quickly generating billion-record synthetic databases", 1994).
type pareto struct {
	n, power float64
	scatter  scattering
}

func (p *pareto) next(g *generator) uint64 {
	return p.scatter.at(uint64(min(p.n*math.Pow(g.float(), p.power), p.n-1)))
}

// normal draws ranks in a bell shape around the middle one: the mean of normalDraws uniform ranks, shifted uniformly by
// up to half of dev in either direction. The ranks are scattered over the region, even with a center, as in fio 3.33
// (lib/gauss.c).
type normal struct {
	n, dev  float64
	scatter scattering
}

// normalDraws is fio's GAUSS_ITERS.
const normalDraws = 12

func (d *normal) next(g *generator) uint64 {
	sum := 0.0
	for range normalDraws {
		sum += g.float()
	}
	v := sum/normalDraws*d.n + (g.float()-0.5)*d.dev
	return d.scatter.at(uint64(min(max(v, 0), d.n-1)))
}

// zones are uniform within each zone.
type zones struct {
	upTo        []uint64 // probability of this zone or an earlier one, times 2^32
	first, size []uint64 // in blocks
}

func newZones(d Distribution, n uint64, align int64) *zones {
	z := &zones{}
	sum, at := 0.0, uint64(0)
	for _, e := range d.Zones {
		blocks := n - at
		if e.Size > 0 {
			want := e.Size / 100 * float64(n)
			if d.Kind == ZonedAbs {
				want = e.Size / float64(align)
			}
			blocks = min(uint64(math.Round(want)), n-at)
		}
		sum += e.Access
		if blocks == 0 {
			continue
		}
		z.upTo = append(z.upTo, uint64(min(sum/100, 1)*(1<<32)))
		z.first, z.size = append(z.first, at), append(z.size, blocks)
		at += blocks
	}
	return z
}

func (z *zones) next(g *generator) uint64 {
	r := g.rand() >> 32
	for i, p := range z.upTo {
		if r < p || i == len(z.upTo)-1 {
			return z.first[i] + g.below(z.size[i])
		}
	}
	return 0
}
