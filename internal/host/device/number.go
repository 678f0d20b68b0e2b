package device

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A Number is the kernel's number of a block device or of a file system. The zero value is none. In text and in JSON it is "254:0".
type Number struct{ Major, Minor uint32 }

// ParseNumber reads "254:0", the format of the kernel's files.
func ParseNumber(s string) (n Number, err error) {
	major, minor, colon := strings.Cut(s, ":")
	if n.Major, err = parseHalf(major); err == nil {
		n.Minor, err = parseHalf(minor)
	}
	if err != nil || !colon {
		return Number{}, fmt.Errorf("%.40q is not a device number such as 254:0", s)
	}
	return n, nil
}

// parseHalf reads a number as the kernel prints it: ParseUint would accept "007" too.
func parseHalf(s string) (uint32, error) {
	v, err := strconv.ParseUint(s, 10, 32)
	if err == nil && len(s) > 1 && s[0] == '0' {
		err = strconv.ErrSyntax
	}
	return uint32(v), err
}

// String returns "254:0".
func (n Number) String() string {
	return strconv.FormatUint(uint64(n.Major), 10) + ":" + strconv.FormatUint(uint64(n.Minor), 10)
}

// IsZero reports whether n is none.
func (n Number) IsZero() bool { return n == Number{} }

// Compare orders numbers.
func (n Number) Compare(o Number) int {
	return cmp.Or(cmp.Compare(n.Major, o.Major), cmp.Compare(n.Minor, o.Minor))
}

// MarshalText is String.
func (n Number) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText is ParseNumber.
func (n *Number) UnmarshalText(b []byte) (err error) {
	*n, err = ParseNumber(string(b))
	return err
}
