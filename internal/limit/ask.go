package limit

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/text/size"
)

// None is the word that removes a limit; Set also takes "max", which is the kernel's.
const None = "none"

// An Ask is what a user asks for. Keys that are not in it stay as they are. The zero
// value asks for nothing.
type Ask struct {
	// Limits are the keys that were given as numbers.
	Limits Limits
	// Percent are those that were given as a percentage of what was measured, above 0 and
	// at most 100.
	Percent map[Key]float64
	// Remove are the keys whose limits are removed.
	Remove []Key
}

// Set reads the value of a key as a user gives it: "10MiB" or "25%" for bytes a second, "500"
// or "25%" for IOPS, "200" for a weight, "5ms", "1.5" CPUs, "4GiB"; "none" or "max" removes the limit. A
// key can be set once. The error names the key and says what to write.
func (a *Ask) Set(k Key, text string) error {
	if err := a.set(k, strings.TrimSpace(text)); err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	return nil
}

func (a *Ask) set(k Key, text string) error {
	b, ok := bounds[k]
	if !ok {
		_, err := ParseKey(string(k))
		return err
	}
	if _, relative := a.Percent[k]; relative || a.Limits.Has(k) || slices.Contains(a.Remove, k) {
		return errors.New("is given twice: give one value")
	}
	if text == None || text == "max" {
		a.Remove = append(a.Remove, k)
		return nil
	}
	if p, ok := strings.CutSuffix(text, "%"); ok {
		return a.setPercent(k, strings.TrimSpace(p))
	}
	l, err := read(k, text, b.fix(k))
	if err != nil {
		return err
	}
	a.Limits = a.Limits.With(k, l)
	return nil
}

// Parse reads the value of a key where only a number is allowed, as in a plan's limits. It reads what Set reads, except
// percentages and the words that remove a limit. The error does not name the key.
func Parse(k Key, text string) (Limits, error) {
	b, ok := bounds[k]
	if !ok {
		_, err := ParseKey(string(k))
		return Limits{}, err
	}
	return read(k, strings.TrimSpace(text), b.within(k))
}

// read reads one value; fix says what to write where it can't be used.
func read(k Key, text, fix string) (l Limits, err error) {
	if err := l.parse(k, text, fix); err != nil {
		return Limits{}, err
	}
	if !l.Has(k) {
		return Limits{}, fmt.Errorf("0 is not a limit, and does not remove one: %s", fix)
	}
	if err := l.check(k, func(bound, Key) string { return fix }); err != nil {
		return Limits{}, err
	}
	return l, nil
}

// parse reads a number with the unit of k. It does not check bounds. fix says what to write.
func (l *Limits) parse(k Key, text, fix string) (err error) {
	b := bounds[k]
	switch {
	case text == "":
		return fmt.Errorf("is empty: %s", fix)
	case text[0] == '-':
		return fmt.Errorf("%s is negative: %s", text, fix)
	case slices.Contains([]string{"unlimited", "infinity", "inf", "off", "no", "nolimit"}, strings.ToLower(text)):
		return fmt.Errorf("%q is not a limit: write %s to remove it", text, None)
	}
	switch {
	case k.bytes():
		if digits(text) && !fits(text) {
			return fmt.Errorf("%s is too much: %s%s", text, b.high, fix)
		}
		parse := size.ParseRate
		if k == Memory {
			parse = size.Parse
		}
		*l.Whole(k), err = parse(text)
		return err
	case k == Latency:
		l.Latency, err = size.ParseDuration(text)
		return err
	case k == CPUs:
		l.CPUs, err = strconv.ParseFloat(text, 64)
		if err != nil || !digits(strings.Replace(text, ".", "", 1)) {
			return fmt.Errorf("%q is not a number of CPUs: %s", text, fix)
		}
		return nil
	}
	if k.Rate() {
		text = strings.TrimSuffix(text, "/s")
	}
	if !digits(text) {
		return fmt.Errorf("%q is not a whole number%s: %s", text, thousands(text), fix)
	}
	if !fits(text) {
		return fmt.Errorf("%s is too much: %s%s", text, b.high, fix)
	}
	*l.Whole(k), err = strconv.ParseInt(text, 10, 64)
	return err
}

// digits reports whether s is nothing but decimal digits.
func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// fits reports whether digits are a number of 63 bits.
func fits(s string) bool { _, err := strconv.ParseInt(s, 10, 64); return err == nil }

// thousands says what "10k" seems to mean.
func thousands(s string) string {
	for suffix, zeros := range map[string]string{"k": "000", "m": "000000"} {
		if n, ok := strings.CutSuffix(strings.ToLower(s), suffix); ok && digits(n) {
			return " (" + n + zeros + "?)"
		}
	}
	return ""
}

func (a *Ask) setPercent(k Key, text string) error {
	if !k.Rate() {
		return fmt.Errorf("%s%%: a percentage is of the device's measured rate, so only rates can have one: %s", text, bounds[k].fix(k))
	}
	p, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !digits(strings.Replace(text, ".", "", 1)) || p == 0:
		return fmt.Errorf("%q is not a percentage: write one such as 25%%, or %s for no limit", text+"%", None)
	case p > 100:
		return fmt.Errorf("%s%% is more than the device can do: write at most 100%%, or %s for no limit", text, None)
	}
	if a.Percent == nil {
		a.Percent = map[Key]float64{}
	}
	a.Percent[k] = p
	return nil
}

// IsZero reports whether a asks for nothing.
func (a Ask) IsZero() bool { return a.Limits.IsZero() && len(a.Percent) == 0 && len(a.Remove) == 0 }

// Relative lists the keys that need a ceiling, in the order of Keys.
func (a Ask) Relative() []Key {
	return slices.SortedFunc(maps.Keys(a.Percent), func(x, y Key) int { return slices.Index(Keys, x) - slices.Index(Keys, y) })
}

// ErrNoCeiling is the error for a percentage on a device whose rate was never measured.
var ErrNoCeiling = errors.New("the device has no measured rate for this percentage")

// Resolve turns percentages into numbers. ceilings are the device's measured rates by key;
// an unknown rate is 0. A percentage is rounded down. A result below the least rate that
// every kernel accepts is an error.
func (a Ask) Resolve(ceilings Limits) (Change, error) {
	c := Change{Set: a.Limits, Remove: slices.Clone(a.Remove)}
	for _, k := range a.Relative() {
		p, ceiling := a.Percent[k], ceilings.number(k)
		if ceiling <= 0 {
			return Change{}, fmt.Errorf("%s: %v%%: %w: measure the device first, or give a number", k, p, ErrNoCeiling)
		}
		*c.Set.Whole(k) = int64(math.Floor(ceiling * p / 100))
		if v := *c.Set.Whole(k); v < MinRate {
			return Change{}, fmt.Errorf("%s: %v%% of %s is %d a second: %s%s", k, p, ceilings.Text(k), v, rateLow, bounds[k].fix(k))
		}
	}
	return c, c.Check()
}

// A Change describes a change of limits: the keys that Set bounds are set, those in Remove
// are removed, and all others stay as they are.
type Change struct {
	Set    Limits
	Remove []Key
}

// Clear is the change that removes the limits of the keys, or of all keys if none is given.
func Clear(keys ...Key) Change {
	if len(keys) == 0 {
		keys = Keys
	}
	return Change{Remove: slices.Clone(keys)}
}

// Touches reports whether the change says something about k.
func (c Change) Touches(k Key) bool { return c.Set.Has(k) || slices.Contains(c.Remove, k) }

// Check returns what is wrong with c, or nil.
func (c Change) Check() error {
	for _, k := range c.Remove {
		if _, ok := bounds[k]; !ok {
			_, err := ParseKey(string(k))
			return err
		}
		if c.Set.Has(k) {
			return fmt.Errorf("%s is both set and removed: choose one", k)
		}
	}
	return c.Set.Check()
}
