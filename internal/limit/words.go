package limit

import (
	"strings"

	"plimsoll/internal/text/size"
)

// Words is String for people: after a plain number of bytes comes its size in a unit, "write_bps=10000000 (9.54 MiB/s)".
func (l Limits) Words() string {
	var words []string
	for _, k := range Keys {
		if !l.Has(k) {
			continue
		}
		text := l.Text(k)
		if n := l.Whole(k); n != nil && *n >= 10*1024 && strings.Trim(text, "0123456789") == "" {
			switch k {
			case ReadBPS, WriteBPS:
				text += " (" + size.Rate(float64(*n)) + ")"
			case Memory:
				text += " (" + size.Bytes(*n) + ")"
			}
		}
		words = append(words, string(k)+"="+text)
	}
	return strings.Join(words, " ")
}
