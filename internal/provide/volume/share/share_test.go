package share

import (
	"math"
	"testing"
)

// A client asks a disk for I/Os: depth at once, each taking think outside of the disk.
type client struct {
	min, depth float64
	// most is what it does at most, 0: no bound.
	most float64
	// idle says in which intervals it does nothing.
	idle func(i int) bool
}

// run simulates intervals of a disk that does total I/Os per second, first come, first served. It returns each client's mean rate over the
// last half, and the last limits.
func run(total float64, clients []client, intervals int) (rates, limits []float64) {
	var d Disk
	limits, rates = make([]float64, len(clients)), make([]float64, len(clients))
	for i := range intervals {
		now := serve(total, clients, limits, i)
		list := make([]Volume, len(clients))
		for j, c := range clients {
			list[j] = Volume{Name: string(rune('a' + j)), Min: c.min, Rate: now[j]}
			if now[j] > 0 && (c.most == 0 || now[j] < c.most || c.min > c.most) {
				list[j].Busy = 1
			}
			if i >= intervals/2 {
				rates[j] += now[j] / float64(intervals-intervals/2)
			}
		}
		limits = d.Next(list)
	}
	return rates, limits
}

// serve divides a disk by depth, below limits.
func serve(total float64, clients []client, limits []float64, i int) []float64 {
	rates, left := make([]float64, len(clients)), total
	open := map[int]bool{}
	for j, c := range clients {
		open[j] = c.idle == nil || !c.idle(i)
	}
	for range clients {
		var depth float64
		for j := range clients {
			if open[j] {
				depth += clients[j].depth
			}
		}
		for j, c := range clients {
			most := math.Inf(1)
			for _, l := range []float64{limits[j], c.most} {
				if l > 0 {
					most = min(most, l)
				}
			}
			if open[j] && left*c.depth/depth > most {
				rates[j], open[j] = most, false
				left -= most
				break
			}
		}
	}
	var depth float64
	for j := range clients {
		if open[j] {
			depth += clients[j].depth
		}
	}
	for j, c := range clients {
		if open[j] {
			rates[j] = left * c.depth / depth
		}
	}
	return rates
}

func TestDisk(t *testing.T) {
	never := func(int) bool { return true }
	for _, tt := range []struct {
		name    string
		total   float64
		clients []client
		// least are the least mean rates.
		least []float64
		free  bool
	}{
		{"a loud neighbour", 4000, []client{{min: 1000, depth: 4}, {depth: 64}}, []float64{990, 2850}, false},
		{"two loud neighbours", 4000, []client{{min: 1000, depth: 4}, {depth: 64}, {depth: 16}}, []float64{990, 1350, 1350}, false},
		{"a quiet neighbour keeps what it does", 4000, []client{{min: 1000, depth: 4}, {depth: 64}, {depth: 8, most: 200}}, []float64{990, 2600, 195}, false},
		{"two guaranteed", 4000, []client{{min: 1000, depth: 2}, {min: 2000, depth: 4}, {depth: 64}}, []float64{990, 1980, 800}, false},
		{"guaranteed against guaranteed", 4000, []client{{min: 1000, depth: 1}, {min: 2000, depth: 64}}, []float64{990, 2850}, false},
		{"an idle guaranteed one takes nothing", 4000, []client{{min: 1000, depth: 4, idle: never}, {depth: 64}}, []float64{0, 4000}, true},
		{"enough for all", 4000, []client{{min: 1000, depth: 32}, {depth: 32}}, []float64{1990, 1990}, true},
		// It can't do its guarantee at all: the neighbour must not pay for that.
		{"one that can't", 4000, []client{{min: 1000, depth: 4, most: 120}, {depth: 64}}, []float64{119, 3600}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rates, limits := run(tt.total, tt.clients, 400)
			for j, least := range tt.least {
				if rates[j] < least {
					t.Errorf("client %d did %.0f a second, want %.0f at least (all: %.0f)", j, rates[j], least, rates)
				}
			}
			for _, l := range limits {
				if tt.free && l != 0 {
					t.Errorf("the limits are %.0f, want none", limits)
				}
			}
		})
	}
}

// TestDiskEnds: when the guaranteed volume is idle again, the neighbour gets all of the disk.
func TestDiskEnds(t *testing.T) {
	rates, limits := run(4000, []client{{min: 1000, depth: 4, idle: func(i int) bool { return i > 100 }}, {depth: 64}}, 300)
	if rates[1] < 3990 || limits[1] != 0 {
		t.Errorf("the neighbour did %.0f a second, with the limit %.0f; want the whole disk", rates[1], limits[1])
	}
}

// TestDiskSettles: the limits stop moving.
func TestDiskSettles(t *testing.T) {
	clients := []client{{min: 1000, depth: 4}, {depth: 64}}
	_, a := run(4000, clients, 200)
	_, b := run(4000, clients, 201)
	if math.Abs(a[1]-b[1]) > 0.01*a[1] {
		t.Errorf("the limit goes from %.0f to %.0f in an interval", a[1], b[1])
	}
}
