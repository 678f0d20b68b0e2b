package load

import (
	"slices"
	"testing"
	"time"
)

// TestDepthSearch: where an I/O takes 100 us for each one in flight, the search tries the same depths as
// lat_target_success and __lat_target_failed of fio 3.33 (io_u.c).
func TestDepthSearch(t *testing.T) {
	for _, c := range []struct {
		target time.Duration
		most   int
		want   []int
	}{
		{time.Second, 8, []int{1, 2, 4, 8, 8}},
		{time.Second, 1, []int{1, 1}},
		{950 * time.Microsecond, 32, []int{1, 2, 4, 8, 16, 12, 10, 9, 9}},
		{250 * time.Microsecond, 128, []int{1, 2, 4, 3, 2, 2}},
	} {
		s := newDepthSearch(Job{IODepth: c.most, Target: &LatencyTarget{Latency: c.target, Window: time.Second, Percent: 99}})
		var tried []int
		for now := int64(0); !s.found && len(tried) < 20; now++ {
			tried = append(tried, s.depth)
			if time.Duration(s.depth)*100*time.Microsecond < s.Latency {
				s.faster(now)
			} else {
				s.slower()
			}
			s.draining = false
		}
		if !slices.Equal(tried, c.want) {
			t.Errorf("%v of up to %d: tries %v, want %v", c.target, c.most, tried, c.want)
		}
	}
}
