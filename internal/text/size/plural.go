package size

import "strconv"

// Plural is a number of things, "1 rule" or "3 rules"; noun is the singular of a word whose plural ends in s.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
