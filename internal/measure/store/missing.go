package store

import "plimsoll/internal/text/size"

// Missing counts records that can't be read.
type Missing struct {
	// N is the number of records known to be missing. More is set if damaged pages hide others.
	N    int
	More bool
}

// Add counts the records that an error hides.
func (m *Missing) Add(bad *DamageError) {
	switch {
	case bad.Lost == LostUnknown:
		m.More = true
	default:
		m.N += max(bad.Lost, 1)
	}
}

// String names what is missing: "2 records".
func (m Missing) String() string {
	pages := "an unknown number of trials on damaged pages"
	switch {
	case !m.More:
		return size.Plural(m.N, "record")
	case m.N == 0:
		return pages
	}
	return size.Plural(m.N, "record") + " and " + pages
}
