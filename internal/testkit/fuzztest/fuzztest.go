// Package fuzztest holds a parser to its bounds while it is fuzzed: whatever it is given, it answers, and takes no more
// memory than a user would lend it.
package fuzztest

import (
	"fmt"
	"runtime/metrics"
	"testing"
	"time"
)

// Memory is the most that a parser may allocate for one input, in bytes, all garbage included: 64 MiB.
const Memory = 64 << 20

// patience is how long an input may take before it counts as a hang. Parsers answer in milliseconds; the rest is for a
// machine that does something else.
const patience = 30 * time.Second

// Bounded runs parse, which handles one input, and fails t if it allocated more than Memory. If it does not
// return, the process ends with what it was given: what names the input.
func Bounded(t testing.TB, what any, parse func()) {
	t.Helper()
	hang := time.AfterFunc(patience, func() { panic(fmt.Sprintf("no answer within %v to %.2000q", patience, fmt.Sprint(what))) })
	defer hang.Stop()
	before := allocated()
	parse()
	if n := allocated() - before; n > Memory {
		t.Errorf("%d MiB were allocated, %d are allowed, for %.2000q", n>>20, Memory>>20, fmt.Sprint(what))
	}
}

// allocated is how many bytes the process has ever allocated.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
