package fio

import "slices"

// sectors reports whether all block sizes are multiples of the sector size.
func (c *clone) sectors() bool {
	all := c.load.BS | c.load.Offset
	for _, s := range slices.Concat(c.load.ReadSplit, c.load.WriteSplit) {
		all |= s.Size
	}
	return all%512 == 0
}
