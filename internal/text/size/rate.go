package size

import "strings"

// RatePattern matches every rate that ParseRate accepts; schemas use it.
const RatePattern = `^[0-9]+(\.[0-9]+)? ?(B|[KMGTPE]iB|[kKMGTPE]B)?(/s)?$`

// ParseRate reads a bandwidth in bytes per second: what Parse reads, with or
// without "/s" behind it ("10MiB/s", "10MiB"). Bits per second are refused.
func ParseRate(s string) (int64, error) {
	return Parse(strings.TrimSuffix(s, "/s"))
}
