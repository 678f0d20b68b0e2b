package stats

import (
	"fmt"
	"math"
	"strconv"
)

// Sentence says the comparison in words.
//
//   - "slower by 12-19 %": the rate is 12 to 19 % lower than the baseline's;
//     "faster by 12-19 %": 12 to 19 % higher.
//   - From a factor of two on, "2.1-2.4 times faster" means a rate 2.1 to 2.4 times the
//     baseline's, "3.1-3.6 times slower" one divided by 3.1 to 3.6.
//   - "looks" marks a verdict on fewer than six blocks.
//
// Both ends are rounded outward: an interval never reads narrower than it is.
func (c Comparison) Sentence() string {
	switch {
	case c.Verdict == NoData:
		return "no data: " + c.Reason
	case c.Pair.Control && c.Low > 0:
		return c.controlSentence()
	}
	var s string
	switch c.Verdict {
	case Faster, Slower:
		s = c.looks() + c.size()
	case Equivalent:
		s = c.looks() + "equivalent within " + percent(c.Margin) + " %"
	default:
		return c.openSentence()
	}
	if c.Tentative {
		s += " (" + plural(c.Blocks, "block") + " can't prove it)"
	}
	return s
}

// looks marks a tentative verdict.
func (c Comparison) looks() string {
	if c.Tentative {
		return "looks "
	}
	return ""
}

// controlSentence states the noise floor, and whether the control itself failed.
func (c Comparison) controlSentence() string {
	s := "noise floor: two identical cells differ by " + upTo(c.Floor)
	if c.Verdict == Faster || c.Verdict == Slower {
		s += "; they should not differ, but this one " + map[bool]string{true: "looks ", false: "is "}[c.Tentative] + c.size()
	}
	return s
}

// openSentence explains what is missing for a verdict.
func (c Comparison) openSentence() string {
	if c.TooNoisy {
		return "too noisy to say: two identical cells differ by " + upTo(c.Floor)
	}
	switch {
	case c.More >= maxMore:
		return "inconclusive: " + number(maxMore) + " more blocks or more"
	case c.More > 0:
		return "inconclusive: about " + plural(c.More, "more block")
	}
	return "inconclusive"
}

// size is the interval in words.
func (c Comparison) size() string {
	lo, hi, word := c.Low, c.High, "faster"
	if c.Verdict == Slower {
		word = "slower"
		// Past a factor of two the reader thinks in factors; below, in percent.
		if c.Low > 0 && c.High <= 0.5 {
			return factors(1/c.High, 1/c.Low) + " times " + word
		}
		return word + " by " + percents(1-c.High, 1-c.Low) + " %"
	}
	if hi >= 2 {
		return factors(lo, hi) + " times " + word
	}
	return word + " by " + percents(lo-1, hi-1) + " %"
}

// slack absorbs the binary error of numbers such as 1-0.88 before they are rounded
// outward, lest 12 % read as 11 %.
const slack = 1e-9

// outward rounds lo down and hi up to the given decimals.
func outward(lo, hi float64, decimals int) (string, string) {
	f := math.Pow(10, float64(decimals))
	lo = math.Floor(lo*f*(1+slack)+slack) / f
	hi = math.Ceil(hi*f*(1-slack)-slack) / f
	return grouped(max(0, lo), decimals), grouped(max(0, hi), decimals)
}

// percents writes two fractions as "12-19". Whole numbers, but one decimal where the
// interval is small: "0.4-3.2".
func percents(lo, hi float64) string {
	lo, hi = 100*lo, 100*hi
	decimals := 0
	if lo < 1 || hi*(1+slack) < 10 {
		decimals = 1
	}
	if lo < 0.1 {
		_, b := outward(lo, hi, decimals)
		return "up to " + b
	}
	a, b := outward(lo, hi, decimals)
	if a == b {
		return a
	}
	return a + "-" + b
}

// Factors writes the ends of an interval of factors as a Sentence has them: rounded outward, with
// one decimal if the lower one is below 10.
func Factors(lo, hi float64) (low, high string) {
	decimals := 0
	if lo < 10 {
		decimals = 1
	}
	return outward(lo, hi, decimals)
}

// factors writes two factors as "2.1-2.4", "12-15" or "1,200-1,500".
func factors(lo, hi float64) string {
	a, b := Factors(lo, hi)
	if a == b {
		return a
	}
	return a + "-" + b
}

// percent writes a fraction that was asked for: 0.05 is "5", 0.025 is "2.5".
func percent(f float64) string {
	return strconv.FormatFloat(math.Round(f*1e8)/1e6, 'f', -1, 64)
}

// mostFloor is the factor from which a noise floor is no longer given: an interval of a few
// blocks that reaches so far shows that nothing is known, and not how far apart they are.
const mostFloor = 10

// upTo words a noise floor: "up to 3.8 %", from 100 % on "a factor of up to 2.8".
func upTo(floor float64) string {
	switch {
	case floor+1 > mostFloor:
		return "more than a factor of " + number(mostFloor)
	case floor >= 1:
		_, s := outward(0, floor+1, 1)
		return "a factor of up to " + s
	}
	return "up to " + percentUp(floor) + " %"
}

// percentUp writes a fraction rounded up: whole percents from 10 on, else tenths.
func percentUp(f float64) string {
	decimals := 0
	if f < 0.0995 {
		decimals = 1
	}
	_, s := outward(0, 100*f, decimals)
	return s
}

// grouped formats with thousands set off by commas; what is beyond a million
// is written as a power of ten.
func grouped(v float64, decimals int) string {
	if v >= 1e6 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	whole := int(v)
	if whole < 1000 {
		return s
	}
	return fmt.Sprintf("%d,%03d%s", whole/1000, whole%1000, s[len(strconv.Itoa(whole)):])
}

// number formats a count.
func number(n int) string { return grouped(float64(n), 0) }

// plural writes "1 block", "6 blocks".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}
