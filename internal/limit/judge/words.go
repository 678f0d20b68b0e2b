package judge

import (
	"fmt"
	"math"

	"plimsoll/internal/text/size"
)

// String returns the verdict in words: "limit NOT held".
func (v Verdict) String() string {
	if v == NotHeld {
		return "limit NOT held"
	}
	return string(v)
}

// String returns the verdict with its evidence: "limit NOT held: asked 10 MiB/s, saw 1.6 GiB/s (160 times)".
func (f Finding) String() string {
	s := fmt.Sprintf("%s: asked %s", f.Verdict, f.Key.PerSecond(f.Asked))
	if f.Seen >= 0 {
		s += ", saw " + f.Key.PerSecond(f.Seen)
		if f.At != "" && f.At != Application {
			s += " at " + f.At.words()
		}
		s += " (" + off(f.Off) + ")"
	}
	if f.With != "" {
		s += ", " + f.With
	}
	if f.Why != "" {
		s += "; " + f.Why
	}
	return s
}

// words returns where the rate was seen: "the device".
func (p Place) words() string {
	if p == Device {
		return "the device"
	}
	return string(p)
}

// off returns a distance from the limit: "+3.9 %", or from twice the limit on "160 times".
func off(share float64) string {
	if share < 1 {
		return fmt.Sprintf("%+.1f %%", 100*share)
	}
	times := share + 1
	if times < 1000 {
		return fmt.Sprintf("%.3g times", times)
	}
	return fmt.Sprintf("%.0f times", math.Round(times))
}

// why explains a finding's verdict, as far as the rates can.
func (e Evidence) why(f Finding) string {
	rate := f.Key.PerSecond
	switch f.Cause {
	case TooShort:
		return e.Short() + "; " + size.Duration(e.Enough()) + " would tell"
	case Shared:
		return fmt.Sprintf("others used the device too: between %s and %s of its I/O was under this limit", rate(e.Least), rate(e.Most))
	case Slower:
		return "something else was slower than the limit"
	case Uneven:
		return "the rate was uneven, and in total no more than the limit allows: the machine is busy"
	case Late:
		return fmt.Sprintf("the kernel's flusher began late, at an unknown time, so it wrote between %s and %s", rate(e.Least), rate(e.Most))
	case Missed:
		return fmt.Sprintf("at most %s of it reached the device: the rest went elsewhere, or the device does not count it", rate(e.Arrived))
	case Changed:
		return "another program changed the limit while it was measured"
	}
	switch {
	case f.Verdict == Unproved:
		return "the device's counters could not be read"
	case f.Verdict == Held && !e.Reaches(e.Most):
		return "with the file system's own writes it is " + rate(e.Reached)
	}
	return ""
}

// Short returns the sentence that the window is too short: "too short: in 1 s up to 20 % more than the limit can come
// through".
func (e Evidence) Short() string {
	return fmt.Sprintf("too short: in %s up to %.0f %% more than the limit can come through", size.Duration(e.Window), 100*e.Extra()/e.Asked)
}

// Meaning explains a cause that a table of several limits names, or returns "" if the table says enough.
func (c Cause) Meaning() string {
	switch c {
	case TooShort:
		return "Unproved, too short: the kernel throttles in slices of 100 ms, and two slices are a large part of a short window; from 4 s on they are less than 5 %."
	case Shared:
		return "Unproved, shared: others used the device too."
	case Slower:
		return "Unproved, slower: something else was slower than the limit."
	}
	return ""
}
