package report

import (
	"slices"
	"testing"

	"plimsoll/internal/measure/record"
)

// TestFactsOfWindows: a report's page says how a Windows container was kept apart.
func TestFactsOfWindows(t *testing.T) {
	facts := factsOf(record.Where{Isolation: "hyperv", Daemon: "docker 27.3.1"})
	if !slices.Contains(facts, [2]string{"isolation", "hyperv"}) {
		t.Errorf("facts %q", facts)
	}
	if facts := factsOf(record.Where{Daemon: "docker 20.10"}); slices.ContainsFunc(facts, func(f [2]string) bool { return f[0] == "isolation" }) {
		t.Errorf("facts of Linux %q", facts)
	}
}
