package volume

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/provide/volume/share"
)

// Intervals of a guard. A limit of the kernel works in slices of a tenth of a second, so that shorter
// intervals show little.
const (
	guardEvery = 500 * time.Millisecond
	// freshEvery is how often the guard looks for the groups of a container that is about to have a volume, for freshFor after its mount: a container
	// that writes at once would not be held until the next look.
	freshEvery = 50 * time.Millisecond
	freshFor   = 10 * time.Second
	// lookEvery is how many guardEvery pass until the guard looks for volumes that were mounted or unmounted, and for lost limits.
	lookEvery = 2
)

// A guard keeps what volumes are guaranteed, and divides a maximum between reads and writes. While a guaranteed volume is starved, it
// lowers the limits of the other volumes on that disk: see package share. Programs that use the disk without a volume are left alone.
type guard struct {
	volumes *Volumes
	disks   map[device.Number]*share.Disk
	guarded map[string]*guarded
	ticks   int
}

// A guarded is a mounted volume.
type guarded struct {
	Volume
	// spot is its device, and disk the one below.
	spot explain.Spot
	disk device.Number
	// last are the counters at the time at.
	last counters
	at   time.Time
	// reads, writes and busy are of the last interval: I/Os per second, and the part of the time with I/O.
	reads, writes, busy float64
	// part is the part of its maximum that its limits are, since several groups or reads and writes each have their own; 0 counts as 1.
	part float64
	// lowered are the limits of reads and writes in force, zero if they are the profile's.
	lowered limit.Limits
	// stale is set from time to time while it is lowered: another call may have given it its profile's limits again, and a new group has none.
	stale bool
}

func newGuard(s *Volumes) *guard {
	return &guard{volumes: s, disks: map[device.Number]*share.Disk{}, guarded: map[string]*guarded{}}
}

// run guards until ctx ends. Then it raises what it lowered.
func (g *guard) run(ctx context.Context, say func([]string, error)) {
	tick, fresh := time.NewTicker(guardEvery), time.NewTicker(freshEvery)
	defer tick.Stop()
	defer fresh.Stop()
	for {
		select {
		case <-ctx.Done():
			say(nil, g.end(context.WithoutCancel(ctx)))
			return
		case <-tick.C:
			say(g.tick(ctx))
		case <-fresh.C:
			if time.Since(g.volumes.lastUse()) < freshFor {
				say(g.volumes.HoldLimits(ctx, g.holds))
			}
		}
	}
}

// holds reports whether the limits of the volume of that name are lowered.
func (g *guard) holds(name string) bool { return g.guarded[name].holds() }

// tick is one interval.
func (g *guard) tick(ctx context.Context) (done []string, err error) {
	if g.ticks++; g.ticks%lookEvery == 1 {
		done, err = g.volumes.HoldLimits(ctx, g.holds)
		err = errors.Join(err, g.look())
	}
	byDisk := map[device.Number][]*guarded{}
	for _, v := range g.guarded {
		if v.measure(time.Now()) {
			byDisk[v.disk] = append(byDisk[v.disk], v)
		}
	}
	for number, list := range byDisk {
		err = errors.Join(err, g.divide(ctx, number, list))
	}
	return done, err
}

// look finds the volumes that are mounted now.
func (g *guard) look() error {
	list, err := g.volumes.mounted()
	now := map[string]*guarded{}
	for _, v := range list {
		n := &guarded{Volume: v}
		bad := onDevice(v, func(d explain.Spot) error {
			n.spot = d
			below, err := device.Host().Of(v.Folder)
			if err == nil && below.Device != nil {
				n.disk = below.Device.Number
			}
			return err
		})
		if err = errors.Join(err, bad); bad != nil || n.spot.Number.IsZero() {
			continue
		}
		if old := g.guarded[v.Name]; old != nil && old.spot.Number == n.spot.Number && old.Folder == v.Folder {
			old.Volume, old.disk, old.stale = v, n.disk, old.holds()
			n = old
		}
		now[v.Name] = n
	}
	g.guarded = now
	for number := range g.disks {
		used := false
		for _, v := range now {
			used = used || v.disk == number
		}
		if !used {
			delete(g.disks, number)
		}
	}
	return err
}

// divide gives the volumes of one disk their limits for the next interval.
func (g *guard) divide(ctx context.Context, number device.Number, list []*guarded) (err error) {
	d := g.disks[number]
	if d == nil {
		d = &share.Disk{}
		g.disks[number] = d
	}
	seen := make([]share.Volume, len(list))
	for i, v := range list {
		seen[i] = share.Volume{Name: v.Name, Min: float64(v.Profile.IOPS.Min), Rate: v.reads + v.writes, Busy: v.busy}
	}
	for i, most := range d.Next(seen) {
		v := list[i]
		if own := v.most(); own > 0 && (most == 0 || most > own) {
			most = own
		}
		err = errors.Join(err, g.lower(ctx, v, most))
	}
	return err
}

// slack is by how much a volume's rate may differ from its maximum, since the kernel's slices vary.
const slack = 0.03

// most is what a volume's limits must be lowered to so that it keeps its maximum; 0 if they need not be lowered.
func (v *guarded) most() float64 {
	most, rate := float64(v.Profile.IOPS.Max), v.reads+v.writes
	if v.part == 0 {
		v.part = 1
	}
	switch {
	case most == 0:
		return 0
	case rate > most*(1+slack):
		v.part *= most / rate
	case rate < most*(1-slack):
		v.part = min(1, v.part*1.1)
	}
	if mixed := min(v.reads, v.writes) > 0.1*rate && rate > 0.8*most; v.part == 1 && !mixed {
		return 0
	}
	return most * v.part
}

// holds reports whether the volume's limits are lowered; v may be nil.
func (v *guarded) holds() bool { return v != nil && !v.lowered.IsZero() }

// lower lets a volume do most I/Os per second, divided between reads and writes as it did them; 0: as many as its profile allows.
func (g *guard) lower(ctx context.Context, v *guarded, most float64) error {
	want := v.divided(most)
	if near(want, v.lowered) && !v.stale {
		return nil
	}
	limits, err := g.volumes.devices()
	if err != nil {
		return err
	}
	return g.volumes.soon(ctx, v.Name, func(ctx context.Context, now Volume) error {
		return onDevice(now, func(d explain.Spot) error {
			if d != v.spot {
				return nil // It was mounted again meanwhile, and has the limits of its profile.
			}
			if want.IsZero() {
				err = limits.Raise(ctx, now.owner(), v.lowered)
			} else {
				err = limits.Lower(ctx, now.owner(), d, v.lowered, want)
			}
			if err != nil {
				return fmt.Errorf("limits of volume %s: %w", v.Name, err)
			}
			v.lowered, v.stale = want, false
			return nil
		})
	})
}

// divided are limits for most I/Os per second, between reads and writes as the volume did them; none for 0.
func (v *guarded) divided(most float64) (l limit.Limits) {
	if most == 0 {
		return l
	}
	reads := 0.5
	if all := v.reads + v.writes; all > 0 {
		reads = v.reads / all
	}
	share := func(part float64) int64 {
		switch {
		case part > 0.98:
			part = 1
		case part < 0.1:
			part = 0.1 // So that a change of the mix is seen soon.
		}
		return max(limit.MinRate, int64(math.Ceil(most*part)))
	}
	return limit.Limits{ReadIOPS: share(reads), WriteIOPS: share(1 - reads)}
}

// near reports whether limits differ too little to be written.
func near(a, b limit.Limits) bool {
	close := func(a, b int64) bool {
		return (a == 0) == (b == 0) && math.Abs(float64(a-b)) <= 0.02*float64(b)
	}
	return close(a.ReadIOPS, b.ReadIOPS) && close(a.WriteIOPS, b.WriteIOPS)
}

// end raises all volumes.
func (g *guard) end(ctx context.Context) (err error) {
	for _, v := range g.guarded {
		err = errors.Join(err, g.lower(ctx, v, 0))
	}
	return err
}

// measure fills in what the volume did since the last call. It reports whether there is an interval.
func (v *guarded) measure(now time.Time) bool {
	c, ok := countersOf(v.spot.Name)
	if !ok {
		return false
	}
	last, took := v.last, now.Sub(v.at)
	first := v.at.IsZero()
	v.last, v.at = c, now
	if first || took <= 0 || c.reads < last.reads || c.writes < last.writes {
		return false
	}
	v.reads = float64(c.reads-last.reads) / took.Seconds()
	v.writes = float64(c.writes-last.writes) / took.Seconds()
	v.busy = float64(c.busy-last.busy) / float64(took)
	return true
}
