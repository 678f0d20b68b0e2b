package diskspd

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseUint reads digits only.
func parseUint(s string, bits int) (uint64, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, errors.New("must be a whole number")
	}
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0, errors.New("the number is too large")
	}
	return n, nil
}

// parseSize reads a size: digits and one of K, M, G, T (of 1024) or b (blocks).
func parseSize(s string, block uint64) (uint64, error) {
	num, unit := s, uint64(1)
	if s != "" {
		switch s[len(s)-1] | 0x20 {
		case 'k':
			unit = 1 << 10
		case 'm':
			unit = 1 << 20
		case 'g':
			unit = 1 << 30
		case 't':
			unit = 1 << 40
		case 'b':
			unit = block
		}
		if unit != 1 || s[len(s)-1]|0x20 == 'b' {
			num = s[:len(s)-1]
		}
	}
	n, err := parseUint(num, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size: write digits and K, M, G, T or b (blocks) behind them, as in 64K", s)
	}
	// More than a file can have is a slip too, and saves all others from overflows.
	if unit > 0 && n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is larger than any file", s)
	}
	return n * unit, nil
}

// sizeText is DiskSpd's way to print a size: in the greatest unit, with two decimals if it
// isn't a multiple of that. Of width, if not 0, is the number alone.
func sizeText(n uint64, width int) string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		one := uint64(1) << u.shift
		switch {
		case n < one:
		case n%one == 0:
			return fmt.Sprintf("%*d%s", width, n>>u.shift, u.name)
		default:
			return fmt.Sprintf("%*.2f%s", width, float64(n)/float64(one), u.name)
		}
	}
	return strconv.FormatUint(n, 10)
}
