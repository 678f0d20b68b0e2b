package main

import (
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/text/size"
)

// limitWords writes limits with their values. A number of bytes that isn't written with a unit is said in one as well.
func limitWords(l limit.Limits) string {
	var words []string
	for _, k := range limit.Keys {
		if !l.Has(k) {
			continue
		}
		text := l.Text(k)
		if n := l.Whole(k); n != nil && *n >= 10*1024 && strings.Trim(text, "0123456789") == "" {
			switch k {
			case limit.ReadBPS, limit.WriteBPS:
				text += " (" + size.Rate(float64(*n)) + ")"
			case limit.Memory:
				text += " (" + size.Bytes(*n) + ")"
			}
		}
		words = append(words, string(k)+"="+text)
	}
	return strings.Join(words, " ")
}
