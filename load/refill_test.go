package load

import (
	"os"
	"testing"
	"time"
)

// unitsOf returns the different units of 4 KiB of a file, without their stamps.
func unitsOf(t *testing.T, path string) (different map[string]int, all int) {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	different = map[string]int{}
	for ; len(p) > 0; p = p[stampEvery:] {
		different[string(p[16:stampEvery])]++
		all++
	}
	return different, all
}

// TestRefillIsNew: with Refill no write repeats the data of another; otherwise a thread's writes cycle through its data. The shares
// of zeros and copies are as requested.
func TestRefillIsNew(t *testing.T) {
	for _, row := range []struct {
		name string
		job  Job
		// some reports whether the number of different units of all is right.
		some func(different, all int) bool
	}{
		{"without", Job{}, func(n, all int) bool { return n <= all/2 }},
		{"before", Job{Refill: RefillBefore}, func(n, all int) bool { return n == all }},
		{"within", Job{Refill: RefillWithin, IODepth: 4}, func(n, all int) bool { return n == all }},
		{"zeros", Job{Refill: RefillBefore, Compress: 50}, func(n, all int) bool { return n == all }},
		{"copies", Job{Refill: RefillBefore, Dedupe: 100}, func(n, _ int) bool { return n == 4 }},
		{"verified", Job{Refill: RefillBefore, Verify: true}, func(n, all int) bool { return n == all }},
	} {
		j := row.job
		j.RW, j.BS, j.Filename = Write, 16384, zeros(t, t.TempDir(), 4<<20)
		start(t, j)
		different, all := unitsOf(t, j.Filename)
		if all != 1024 || !row.some(len(different), all) {
			t.Errorf("%s: %d different units of %d", row.name, len(different), all)
		}
		for unit := range different {
			if empty := unit[2100:] == string(make([]byte, len(unit)-2100)); empty != (j.Compress == 50) {
				t.Errorf("%s: a unit's second half is zeros: %t", row.name, empty)
				break
			}
		}
	}
}

// TestRefillTakesItsTime: the time to make the data counts in the job's time, and in the latency with RefillWithin only. On the null
// engine nothing else takes time.
func TestRefillTakesItsTime(t *testing.T) {
	mean := map[string]time.Duration{}
	each := map[string]time.Duration{}
	for _, refill := range []string{"", RefillBefore, RefillWithin} {
		res := start(t, Job{RW: Write, BS: 1 << 20, Size: 200 << 20, IOEngine: Null, Refill: refill})
		mean[refill], each[refill] = time.Duration(res.Class(Write).Lat.Percentile(50)), res.Elapsed/200
	}
	// 1 MiB takes 40 us at least on the fastest machine of today; the rest is well below 1 us.
	const least = 40 * time.Microsecond
	if each[""] >= each[RefillBefore] || each[RefillBefore] < least || each[RefillWithin] < least {
		t.Errorf("a write takes %v", each)
	}
	if mean[RefillBefore] >= mean[RefillWithin] || mean[RefillWithin] < least {
		t.Errorf("its latency is %v", mean)
	}
}
