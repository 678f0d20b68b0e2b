// Package share divides the I/Os of a disk among volumes, so that each gets what it is guaranteed.
//
// A Disk is asked at short, equal intervals. It gets what each volume did since, and answers how many I/Os per second each may do. Nothing
// is held back until a guaranteed volume is starved: it does fewer I/Os than its guarantee, and has some waiting all the time. Then
// the others together get a budget, which falls by what the starved volume lacks, and rises by what it has to spare. When no
// guaranteed volume wants more, the budget grows and ends.
//
// Easily got wrong: a volume that is busy and slow need not be starved by others. A program that waits for each I/O before the next
// never reaches a high guarantee, even on an idle disk. So a budget that fell far without effect ends, and the next one is
// begun after a pause only.
package share

import (
	"math"
	"slices"
)

// A Volume is what one volume did in an interval.
type Volume struct {
	// Name tells it from the disk's others.
	Name string
	// Min is its guarantee, 0 for none, and Rate what it did: I/Os per second, reads and writes together.
	Min, Rate float64
	// Busy is the part of the interval in which it had I/Os that were not complete, 0 to 1.
	Busy float64
}

// Constants of the control. Each interval takes a part of the difference, so that what it measures late does not make it swing.
const (
	// margin is by how much a guarantee is exceeded, since limits and rates vary.
	margin = 1.04
	// much is how far above its guarantee a volume is held back for others.
	much = 1.5
	// busy is when a volume counts as one that wants more.
	busy = 0.8
	fall = 0.7
	rise = 0.2
	// calm is how many intervals without a wish end a budget.
	calm = 8
	// A budget that fell by more than tried, of which less than useful came to the starved ones, is futile.
	tried, useful = 0.3, 0.2
	// pause is how many intervals follow a futile budget. It doubles each time, up to longest.
	pause, longest = 40, 1200
)

// A Disk is the state of one disk. The zero value holds nobody back.
type Disk struct {
	// budget is what the volumes that are not starved may do together; 0: as much as they like.
	budget float64
	// began and had are the budget, and the rate of the starved ones, when it began.
	began, had float64
	calm       int
	paused     int
	pause      int
	// held are the limits in force, by the names of the volumes.
	held map[string]float64
}

// Next returns the most that each volume may do in the next interval; 0 means as much as it likes.
func (d *Disk) Next(list []Volume) []float64 {
	limits := make([]float64, len(list))
	if d.paused > 0 {
		d.paused--
		return limits
	}
	now := d.look(list)
	was := d.budget
	d.change(now)
	d.held = map[string]float64{}
	if d.ends(now, was) || d.budget == 0 {
		return limits
	}
	level := level(d.budget, now.demands)
	for i, v := range list {
		if !now.protected[v.Name] {
			limits[i] = max(level, v.target())
			d.held[v.Name] = limits[i]
		}
	}
	return limits
}

// A look is what an interval was for a disk.
type look struct {
	// protected are the volumes that are never held back; the others are.
	protected map[string]bool
	// demands are what the others would do, as far as it is known.
	demands []float64
	// lack is what protected ones that want more are short of, got what these did, and did what the others did.
	lack, got, did float64
	// wanting is set if a protected one would do more. spare is the least by which such a one exceeds its guarantee; it may be negative.
	wanting bool
	spare   float64
}

func (d *Disk) look(list []Volume) look {
	now := look{protected: map[string]bool{}, spare: math.Inf(1)}
	for _, v := range list {
		if !d.protects(v, list) {
			demand := v.Rate
			if d.wants(v) {
				demand = math.Inf(1)
			}
			now.demands = append(now.demands, demand)
			now.did += v.Rate
			continue
		}
		now.protected[v.Name] = true
		if !d.wants(v) {
			continue
		}
		now.wanting, now.spare = true, min(now.spare, v.Rate-v.target())
		if v.Rate < v.target() {
			now.lack += v.target() - v.Rate
			now.got += v.Rate
		}
	}
	return now
}

// protects reports whether a volume is guaranteed, and not one that does much more than that while another one is starved. Such a one is
// held back as others are, but never below its guarantee. It stays so until the budget ends, as its rate is near the guarantee then.
func (d *Disk) protects(v Volume, list []Volume) bool {
	if v.Min == 0 || d.held[v.Name] > 0 {
		return false
	}
	return v.Rate <= much*v.target() || !slices.ContainsFunc(list, func(o Volume) bool {
		return o.Name != v.Name && o.Min > 0 && d.wants(o) && o.Rate < o.Min
	})
}

// wants reports whether a volume would do more if it could. What waits for a limit doesn't count as busy.
func (d *Disk) wants(v Volume) bool {
	held := d.held[v.Name]
	return v.Busy >= busy || held > 0 && v.Rate > 0.8*held
}

// change gives the budget the value that follows from an interval.
func (d *Disk) change(now look) {
	switch {
	case now.lack > 0 && now.did == 0: // Nobody is in its way.
		d.budget = 0
	case now.lack > 0 && d.budget == 0:
		d.began, d.had, d.calm = now.did, now.got, 0
		d.budget = max(1, now.did-now.lack)
	case now.lack > 0:
		d.calm = 0
		d.budget = max(1, min(d.budget, now.did*1.1)-fall*now.lack)
	case d.budget > 0 && now.wanting:
		d.calm = 0
		d.budget += rise * now.spare
	case d.budget > 0:
		d.calm++
		d.budget *= 1.1
	}
}

// ends ends a budget that nobody needs any more, or that was futile in this interval, when it was was.
func (d *Disk) ends(now look, was float64) bool {
	fell := d.began - was
	futile := was > 0 && now.lack > 0 && fell > tried*d.began && now.got-d.had < useful*fell
	switch {
	case futile:
		d.pause = min(longest, max(pause, 2*d.pause))
		d.paused = d.pause
	case d.calm >= calm, d.budget > 2*max(now.did, d.began):
		d.pause = 0
	default:
		return false
	}
	d.budget, d.calm = 0, 0
	return true
}

// target is the rate at which a guarantee is kept.
func (v Volume) target() float64 { return v.Min * margin }

// level is the rate that each of some volumes may reach, so that together they keep a budget: those that want less leave the rest to the
// others.
func level(budget float64, demands []float64) float64 {
	slices.Sort(demands)
	for i, want := range demands {
		if fair := budget / float64(len(demands)-i); want >= fair {
			return fair
		}
		budget -= want
	}
	return budget
}
