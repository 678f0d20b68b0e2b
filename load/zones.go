package load

// A Zones says how a job moves from zone to zone of its region (fio's zonemode=strided). All values are in bytes.
type Zones struct {
	// Size is how much is done in a zone before the job moves to the next, and Range the length of a zone. If the job
	// reaches the end of a zone before Size, it begins the zone again. Range 0 means Size.
	Size  int64 `json:"size"`
	Range int64 `json:"range,omitempty"`
	// Skip is the distance from the end of a zone to the next one.
	Skip int64 `json:"skip,omitempty"`
}

// span returns the length of a zone.
func (z Zones) span() int64 {
	if z.Range > 0 {
		return z.Range
	}
	return z.Size
}

// zones checks the zones of a job.
func (v *validator) zones(j Job) {
	z := j.Zones
	switch {
	case z == nil:
		return
	case z.Size < 1 || min(z.Range, z.Skip) < 0 || max(z.Size, z.Range, z.Skip) > maxTrim:
		v.add("zonesize", z.Size, "zones have a size from 1 byte to 1 TiB, and a range and a gap of up to as much")
		return
	case z.span() < j.maxBlock():
		v.add("zonesize", z.span(), "less than one block of %d", j.maxBlock())
	case j.Direct && (z.span()|z.Skip)%512 != 0:
		v.add("zonesize", z.span(), "direct I/O needs zones and gaps that are multiples of 512")
	}
	switch {
	case synchronous(j.IOEngine) && j.IODepth > 1:
		v.add("iodepth", j.IODepth, "one thread goes through zones; use 1, or an engine of one thread")
	case j.RWNumber != 0 || j.skewed():
		v.add("rw", quote(j.RW), "zones take sequential or uniform random offsets: leave out the number after the pattern, random_distribution and percentage_random")
	case j.reordered() || len(j.Only) > 0 || len(j.Script) > 0:
		v.add("zonesize", z.Size, "contradicts another way through the region")
	}
}

// A zoneWalk is the position of a thread in the zones of its files.
type zoneWalk struct {
	Zones
	region int64
	done   int64 // bytes done in the zone
	// starts are where each file's zone begins in the region; at is where its reads and writes go on within the zone.
	starts []int64
	at     [][2]int64
	// visits numbers the random blocks of a zone, in a different order each time. If blocks is 0, blocks may come
	// twice.
	visits, blocks uint64
	order          permutation
}

// newZoneWalk returns the walk through the zones of j's files, or nil without zones.
func newZoneWalk(j Job, region int64, mapped bool, key uint64) *zoneWalk {
	if j.Zones == nil {
		return nil
	}
	z := &zoneWalk{Zones: *j.Zones, region: region, starts: make([]int64, j.fileCount()), at: make([][2]int64, j.fileCount())}
	if n := min(z.span(), region) / j.BS; mapped && n > 0 {
		z.blocks, z.order = uint64(n), newPermutation(uint64(n), key)
	}
	return z
}

// next returns the position of the next I/O in the region: see setup_strided_zone_mode in fio's io_u.c.
func (z *zoneWalk) next(g *generator, sl *slot, align int64) int64 {
	at := &z.at[sl.file]
	if z.done >= z.Size {
		z.done = 0
		z.starts[sl.file] += z.span() + z.Skip
	}
	room := z.span()
	if left := z.region - z.starts[sl.file]; left < room && (g.random || left < sl.size) {
		z.starts[sl.file] = 0 // Only the beginning of a zone that the region cuts off exists.
		room = min(room, z.region)
	} else {
		room = min(room, left)
	}
	if z.done%z.span() == 0 {
		*at = [2]int64{}
		if z.blocks > 0 && z.visits%z.blocks > 0 {
			z.visits += z.blocks - z.visits%z.blocks
		}
	}
	z.done += sl.size
	if !g.random {
		follow := &at[sl.op&1]
		if *follow >= z.span() || *follow+sl.size > z.region-z.starts[sl.file] {
			*follow = 0
		}
		*follow += sl.size
		return z.starts[sl.file] + *follow - sl.size
	}
	var n int64
	if z.blocks > 0 {
		n = int64(z.order.turn(z.visits, z.blocks)) * g.bs
		z.visits++
	} else {
		n = int64(g.below(uint64(max(room-sl.size, 0)/align)+1)) * align
	}
	return z.starts[sl.file] + n
}
