package fio

import (
	"fmt"
	"strconv"
	"strings"
)

// parsePattern reads buffer_pattern: one or more parts, each "text" in double quotes, a hexadecimal 0x... (bytes in
// the order written) or a decimal number, which may be negative (little endian). See parse_and_fill_pattern in fio's
// lib/pattern.c.
func parsePattern(s string) ([]byte, error) {
	var out []byte
	for rest := s; rest != ""; {
		if rest[0] == '"' {
			text, after, ok := strings.Cut(rest[1:], `"`)
			if !ok {
				return nil, fmt.Errorf("%q: a quote is missing", s)
			}
			out, rest = append(out, text...), after
			continue
		}
		b, after, err := patternNumber(rest)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s, err)
		}
		out, rest = append(out, b...), after
	}
	if len(out) == 0 || len(out) > 512 {
		return nil, fmt.Errorf("%q must be 1 to 512 bytes long", s)
	}
	return out, nil
}

// patternNumber reads the number at the start of s. A decimal number ends before the next 0x: 120xff is 12 and 0xff.
func patternNumber(s string) (out []byte, rest string, err error) {
	bad := fmt.Errorf("%q is not a number, 0x... or \"text\"", s)
	low := strings.ToLower(s)
	if hex, ok := strings.CutPrefix(low, "0x"); ok {
		n := strings.IndexFunc(hex, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
		if n < 0 {
			n = len(hex)
		} else if n > 0 && hex[n-1] == '0' && hex[n] == 'x' {
			n-- // 0xff0x14 are two.
		}
		if n == 0 {
			return nil, "", bad
		}
		h := hex[:n]
		if n%2 == 1 {
			h = "0" + h
		}
		for i := 0; i < len(h); i += 2 {
			b, err := strconv.ParseUint(h[i:i+2], 16, 8)
			if err != nil {
				return nil, "", bad
			}
			out = append(out, byte(b))
		}
		return out, s[2+n:], nil
	}
	end := len(s)
	if i := strings.Index(low, "0x"); i >= 0 {
		end = i
	}
	n := 0
	if s[0] == '-' || s[0] == '+' {
		n++
	}
	for n < end && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(s[:n], 10, 32)
	if err != nil {
		return nil, "", bad
	}
	for u := uint32(v); ; {
		out = append(out, byte(u))
		if u >>= 8; u == 0 {
			return out, s[n:], nil
		}
	}
}
