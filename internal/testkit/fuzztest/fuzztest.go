// Package fuzztest limits a parser's time and memory while it is fuzzed.
package fuzztest

import (
	"fmt"
	"runtime/metrics"
	"testing"
	"time"
)

// Memory is the most that a parser may allocate for one input, in bytes, all garbage included: 64 MiB.
const Memory = 64 << 20

// patience is how long an input may take before it counts as a hang. Parsers answer in milliseconds; the rest allows for a busy
// machine.
const patience = 30 * time.Second

// Bounded runs parse on one input, and fails t if parse allocated more than Memory. If parse does not return, the process ends and
// prints what, which names the input.
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

// allocated returns how many bytes the process has allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
