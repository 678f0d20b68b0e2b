package main

import (
	"context"
	"strings"
	"testing"
)

// TestDoctorInterrupted: an engine that an interrupt kept from answering is not called missing.
func TestDoctorInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}} {
		if r := plimsoll(t, ctx, t.TempDir(), "", args...); r.status != exitFailure || r.stdout != "" || !strings.Contains(r.stderr, "interrupted") {
			t.Errorf("%v: status %d, want %d and nothing but that:\n%s%s", args, r.status, exitFailure, r.stdout, r.stderr)
		}
	}
}
