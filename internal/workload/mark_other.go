//go:build !linux

package workload

// mark would note that a file is Plimsoll's: only Linux has it here.
func mark(string) {}

func marked(string) (has, same bool) { return false, false }
