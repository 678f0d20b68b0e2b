package load

import (
	"math/bits"
	"sync"
	"time"
)

// A clock reads the nanoseconds since its base.
//
// Reading CLOCK_MONOTONIC through Go's time package costs 43 ns on a 2.5 GHz
// Xeon, reading the CPU's time stamp counter 13 ns, twice per I/O. The counter is used only where
// the kernel itself uses it as its clock and says that it ticks at a
// constant rate in all states; its rate is then calibrated to CLOCK_MONOTONIC.
type clock struct {
	base time.Time
	// tsc0 is the counter at base; mult is nanoseconds a tick, times 2^32. mult 0:
	// the counter is not used.
	tsc0 uint64
	mult uint64
}

// calibration is how long the counter is compared with the clock at least. Each
// reading is good to some 50 ns, so the rate is good to 50 ppm and better.
const calibration = 2 * time.Millisecond

// A reading is what the counter and the clock showed at the same moment.
type reading struct {
	tsc  uint64
	mono time.Time
}

// firstReading is the process's first, with which later ones are compared.
var firstReading = sync.OnceValue(read)

// Calibrate begins to calibrate the clock of this process's jobs to CLOCK_MONOTONIC, which takes 2 ms. Prepare does it,
// and waits; a program that calls Calibrate early, and lays out files meanwhile, is spared the wait.
func Calibrate() {
	if tscUsable() {
		firstReading()
	}
}

// newClock returns a clock whose base is the process's first reading. That lies back by the calibration at least, so
// that no CPU's counter, should they differ by a little, is behind it.
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

// read takes a reading: the closest of a few tries, so that an interrupt in between does no harm.
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
// Go's monitor asks every thread that ran for 10 ms to make room, even if no other thread
// wants it, and handing over and back takes tens of microseconds. The request mostly comes
// during a system call and is obeyed at the next function prologue. That must not lie between the
// return of an I/O and the reading of the clock, or the I/O would seem slow: hence nosplit here
// and in the engines' reaping (reads of the page cache above 50 us: 155 before, 110 after, in 2 s).
//
//go:nosplit
func (c *clock) now() int64 {
	if c.mult == 0 {
		return int64(time.Since(c.base))
	}
	hi, lo := bits.Mul64(readTSC()-c.tsc0, c.mult)
	return int64(hi<<32 | lo>>32)
}

// source names what the clock reads.
func (c *clock) source() string {
	if c.mult == 0 {
		return "monotonic"
	}
	return "tsc"
}
