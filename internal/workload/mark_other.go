//go:build !linux

package workload

// mark would note that a file is Plimsoll's: only Linux has it here.
func mark(string) {}

// marked reports that there are no marks.
func marked(string) (can, same bool) { return false, false }
