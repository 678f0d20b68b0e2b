// Package size reads and prints quantities of bytes, rates, counts and times
// the way Plimsoll's command line, plans and reports spell them.
//
// Reading is strict, because a limit that is 5 % off by a misread unit looks
// like a fault of the disk: KiB, MiB, GiB ... are powers of 1024, kB, MB, GB ...
// are powers of 1000 (IEC 80000-13), and a bare K, M or G is refused with both readings
// named, because fio reads it as the one and dd as the other.
//
// Parse, ParseRate and ParseDuration read what people write; Format
// and FormatDuration print what these read back without loss; Bytes, Rate,
// Count and Duration print three significant digits for people and reports.
package size

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Pattern is a regular expression that every size accepted by Parse matches;
// schemas use it. It can't see overflow or fractions of a byte.
const Pattern = `^[0-9]+(\.[0-9]+)? ?(B|[KMGTPE]iB|[kKMGTPE]B)?$`

// maxInput bounds the length of a number that is looked at, in bytes: the
// longest meaningful one, 2^63 with a fraction in EiB, is shorter.
const maxInput = 64

// letters are the prefixes of units, by ascending power.
const letters = "KMGTPE"

// Parse reads a size in bytes: "4096", "4KiB", "10MB", "1.5GiB", "2 KiB". It
// refuses negative sizes, fractions of a byte, more than 2^63-1, bits ("10Mb")
// and the ambiguous "10M". The error quotes s and says what to write.
func Parse(s string) (int64, error) {
	number, unit, err := split(s)
	if err != nil {
		return 0, err
	}
	mult, err := unitSize(s, number, unit)
	if err != nil {
		return 0, err
	}
	return whole(s, number, mult)
}

// split cuts s into a decimal number and a unit. One space may stand between
// them, as Bytes prints it.
func split(s string) (number, unit string, err error) {
	switch {
	case s == "":
		return "", "", fmt.Errorf("a size is empty: write one like 4KiB")
	case len(s) > maxInput:
		return "", "", fmt.Errorf("a size of %d characters is not a number: write one like 4KiB", len(s))
	case s[0] == '-':
		return "", "", fmt.Errorf("%q is negative: a size is 0 or more", s)
	}
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(s)
	}
	number, unit = s[:end], strings.TrimPrefix(s[end:], " ")
	if f, err := strconv.ParseFloat(s, 64); err == nil && number != "" && unit != "" && math.Trunc(f) == f && f < 1<<53 {
		return "", "", fmt.Errorf("%q is written with an exponent: write %d, or a number and a unit, like 4KiB or 10MB", s, int64(f))
	}
	if !isDecimal(number) || (end < len(s) && unit == "") {
		return "", "", fmt.Errorf("%q is not a size: write a number and a unit, like 4KiB or 10MB", s)
	}
	return number, unit, nil
}

// isDecimal reports whether s is digits, or digits, a point and digits.
func isDecimal(s string) bool {
	before, after, point := strings.Cut(s, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return digits(before) && (!point || digits(after))
}

// units says which units there are.
const units = "write KiB, MiB, GiB (powers of 1024) or kB, MB, GB (powers of 1000)"

// unitSize returns the bytes of one unit. s and number are for the error.
func unitSize(s, number, unit string) (int64, error) {
	if unit == "" || unit == "B" {
		return 1, nil
	}
	power := strings.Index(letters, strings.ToUpper(unit[:1])) + 1
	if power == 0 {
		return 0, fmt.Errorf("%q has no unit of bytes: %s", s, units)
	}
	letter := letters[power-1 : power]
	binary, decimal := letter+"iB", letter+"B"
	if power == 1 {
		decimal = "kB"
	}
	switch {
	case unit == binary:
		return 1 << (10 * power), nil
	case unit == decimal, power == 1 && unit == "KB":
		return int64(math.Pow10(3 * power)), nil
	case len(unit) == 1:
		return 0, fmt.Errorf("%q is ambiguous: write %s%s for %s bytes or %s%s for %s bytes", s,
			number, binary, scaled(number, 1<<(10*power)), number, decimal, scaled(number, int64(math.Pow10(3*power))))
	case !strings.EqualFold(unit, binary) && strings.Contains(unit, "b"):
		return 0, fmt.Errorf("%q reads as bits: write %s%s or %s%s for bytes", s, number, binary, number, decimal)
	case len(unit) > len(binary):
		return 0, fmt.Errorf("%q has no unit of bytes: %s", s, units)
	}
	return 0, fmt.Errorf("%q has an unknown unit %q: write %s%s or %s%s", s, unit, number, binary, number, decimal)
}

// scaled prints number x mult exactly, for messages.
func scaled(number string, mult int64) string {
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return number
	}
	r.Mul(r, new(big.Rat).SetInt64(mult))
	if r.IsInt() {
		return r.Num().String()
	}
	return r.FloatString(1)
}

// whole returns number x mult if that is a whole number that fits an int64.
func whole(s, number string, mult int64) (int64, error) {
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	r.Mul(r, new(big.Rat).SetInt64(mult))
	switch {
	case !r.IsInt():
		return 0, fmt.Errorf("%q is %s bytes, which is not a whole number of bytes", s, r.FloatString(3))
	case !r.Num().IsInt64():
		return 0, fmt.Errorf("%q is too large: the most is %d bytes (8 EiB less one)", s, int64(math.MaxInt64))
	}
	return r.Num().Int64(), nil
}

// Format prints n bytes so that Parse reads n back: in the largest power of
// 1024 that divides it, or in plain bytes ("10MiB", "2300"). It is for plans
// and command lines; Bytes is for people. A negative n is printed with its
// sign, which Parse refuses.
func Format(n int64) string {
	if n == 0 {
		return "0"
	}
	power := 0
	for power < len(letters) && n%1024 == 0 {
		n /= 1024
		power++
	}
	if power == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d%ciB", n, letters[power-1])
}
