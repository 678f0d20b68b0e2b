package guest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// compareKernels orders kernels by preference: the newer version; then, among builds of one version, one with 9p, the
// ordinary one, and by name.
func compareKernels(a, b Kernel) int {
	return cmp.Or(
		compareVersions(a.Version, b.Version),
		compareBools(a.has9P(), b.has9P()),
		compareBools(isOrdinary(a.Version), isOrdinary(b.Version)),
		strings.Compare(a.Version, b.Version),
	)
}

// has9P reports whether a kernel has what the default share of a virtual machine needs.
func (k Kernel) has9P() bool {
	_, err := k.Resolve("9pnet_virtio", "9p")
	return err == nil
}

// special are words in the names of special builds of Debian and Ubuntu, whose ordinary builds are named for the
// architecture alone, or "generic".
var special = []string{"cloud", "rt", "lowlatency", "realtime", "debug", "dbg", "kvm", "aws", "azure", "gcp", "gke", "ibm", "oracle"}

// isOrdinary reports whether a version is that of a distribution's ordinary build.
func isOrdinary(version string) bool {
	return !slices.ContainsFunc(words(version), func(w string) bool { return slices.Contains(special, w) })
}

// words returns the parts of a version between its separators; _ is part of a word (x86_64).
func words(version string) []string {
	return strings.FieldsFunc(version, func(r rune) bool { return strings.ContainsRune("-.+~:", r) })
}

// candidate matches a release candidate's word in a version, with its number: rc3.
var candidate = regexp.MustCompile(`^rc([0-9]*)$`)

// aCandidate sorts before every number, and before a version's end.
const aCandidate = "rc"

// numbersOf returns the numbers of a version, which alone make it older or newer: 6.1.0-56-cloud-amd64 equals
// 6.1.0-56-amd64. A word that begins with a letter is the name of a build (amd64, x86_64, fc41), except for a release
// candidate.
func numbersOf(version string) (out []string) {
	for _, w := range words(version) {
		if m := candidate.FindStringSubmatch(w); m != nil {
			out = append(out, aCandidate, strings.TrimLeft(m[1], "0"))
			continue
		}
		digits := w[:len(w)-len(strings.TrimLeft(w, "0123456789"))]
		if digits != "" {
			out = append(out, strings.TrimLeft(digits, "0"))
		}
	}
	return out
}

// compareVersions orders versions of kernels by their numbers: 6.10 is newer than 6.9, and 6.10-rc3 is not yet 6.10.
func compareVersions(a, b string) int {
	x, y := numbersOf(a), numbersOf(b)
	for i := range min(len(x), len(y)) {
		if c := compareNumbers(x[i], y[i]); c != 0 {
			return c
		}
	}
	switch n := min(len(x), len(y)); {
	case len(x) > n && x[n] == aCandidate:
		return -1
	case len(y) > n && y[n] == aCandidate:
		return 1
	}
	return cmp.Compare(len(x), len(y))
}

// compareNumbers orders two results of numbersOf, of any length.
func compareNumbers(n, m string) int {
	if (n == aCandidate) != (m == aCandidate) {
		return compareBools(m == aCandidate, n == aCandidate)
	}
	return cmp.Or(cmp.Compare(len(n), len(m)), strings.Compare(n, m))
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
