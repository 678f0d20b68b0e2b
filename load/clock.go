package load

import (
	"math/bits"
	"sync"
	"time"
)

// A clock reads the nanoseconds since its base.
//
// Reading CLOCK_MONOTONIC through Go's time package costs 43 ns on a 2.5 GHz Xeon; reading the CPU's time stamp counter
// costs 13 ns. Each I/O takes two readings. The counter is used only if the kernel uses it as its own clock and says
// that it ticks at a constant rate in all states. Its rate is then calibrated against CLOCK_MONOTONIC.
type clock struct {
	base time.Time
	// tsc0 is the counter at base; mult is nanoseconds per tick, times 2^32. If mult is 0, the counter is not used.
	tsc0 uint64
	mult uint64
}

// calibration is the minimum time over which the counter is compared with the clock. Each reading is good to some 50
// ns, so the rate is good to 50 ppm or better.
const calibration = 2 * time.Millisecond

// A reading holds the values of the counter and the clock at the same moment.
type reading struct {
	tsc  uint64
	mono time.Time
}

// firstReading is the first reading of the process; later ones are compared with it.
var firstReading = sync.OnceValue(read)

// Calibrate starts to calibrate the clock of this process's jobs against CLOCK_MONOTONIC, which takes 2 ms. Prepare
// does so as well, and waits. A program that calls Calibrate early, and lays out files in the meantime, avoids the
// wait.
func Calibrate() {
	if tscUsable() {
		firstReading()
	}
}

// newClock returns a clock whose base is the first reading of the process. The base is at least the calibration time in
// the past, so that the counter of no CPU is behind it even if counters differ by a little.
func newClock() clock {
	if !tscUsable() {
		return clock{base: time.Now()}
	}
	first := firstReading()
	time.Sleep(calibration - time.Since(first.mono))
	now := read()
	c := clock{base: first.mono}
	past := now.mono.Sub(first.mono)
	if now.tsc <= first.tsc || past <= 0 {
		return c
	}
	c.tsc0 = first.tsc
	c.mult, _ = bits.Div64(uint64(past)>>32, uint64(past)<<32, now.tsc-first.tsc)
	return c
}

// read takes a reading: the closest of a few tries, so that an interrupt between the two values does no harm.
func read() (r reading) {
	best := ^uint64(0)
	for range 8 {
		a := readTSC()
		m := time.Now()
		b := readTSC()
		if b-a < best {
			best, r = b-a, reading{a + (b-a)/2, m}
		}
	}
	return r
}

// now returns the nanoseconds since the clock's base.
//
// Go's monitor asks every thread that has run for 10 ms to yield, even if no other thread is waiting, and yielding
// takes tens of microseconds. The request mostly arrives during a system call, and the thread obeys it at the next
// function prologue. No prologue may lie between the return of an I/O and the reading of the clock, or the I/O would
// seem slow. Hence nosplit here and where the engines reap.
//
//go:nosplit
func (c *clock) now() int64 {
	if c.mult == 0 {
		return int64(time.Since(c.base))
	}
	hi, lo := bits.Mul64(readTSC()-c.tsc0, c.mult)
	return int64(hi<<32 | lo>>32)
}

// source names the source of the clock.
func (c *clock) source() string {
	if c.mult == 0 {
		return "monotonic"
	}
	return "tsc"
}
