package plimsoll_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestArrows holds the imports to the direction of the data (doc.go): what a
// package must not know, directly or through another.
func TestArrows(t *testing.T) {
	for pkg, never := range map[string][]string{
		"plimsoll/hist":                         {"plimsoll/"},
		"plimsoll/load":                         {"plimsoll/internal"},
		"plimsoll/internal/measure/stats":       {"plimsoll/internal", "database/sql", "os/exec", "net"},
		"plimsoll/internal/measure/report":      {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/store", "plimsoll/internal/measure/plan", "os/exec"},
		"plimsoll/internal/measure/record":      {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/store", "plimsoll/internal/measure/wire", "os/exec"},
		"plimsoll/internal/measure/check":       {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/store", "os/exec"},
		"plimsoll/internal/measure/store":       {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/report"},
		"plimsoll/internal/measure/engine":      {"plimsoll/internal/measure/trial", "plimsoll/internal/measure/plan", "plimsoll/internal/measure/report"},
		"plimsoll/internal/limit":               {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/record", "plimsoll/internal/measure/workload", "plimsoll/internal/measure/wire", "plimsoll/load", "os/exec", "net"},
		"plimsoll/internal/limit/cgroup":        {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/record", "plimsoll/internal/measure/workload", "plimsoll/internal/measure/wire", "plimsoll/load", "os/exec", "net"},
		"plimsoll/internal/limit/explain":       {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/record", "plimsoll/internal/measure/workload", "plimsoll/internal/measure/wire", "plimsoll/load", "os/exec", "net"},
		"plimsoll/internal/host/device":         {"plimsoll/"}, // Limits stand on it too, and they know nothing of benchmarks.
		"plimsoll/internal/measure/witness":     {"plimsoll/internal/measure/trial", "plimsoll/internal/measure/plan", "plimsoll/internal/measure/store", "plimsoll/internal/measure/report"},
		"plimsoll/internal/host/hierarchy":      {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/record", "plimsoll/internal/limit", "plimsoll/load"},
		"plimsoll/internal/host/cgroupio":       {"plimsoll/internal/measure/record", "plimsoll/internal/measure/workload", "plimsoll/internal/measure/wire", "plimsoll/load"},
		"plimsoll/internal/measure/workload":    {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/wire"},
		"plimsoll/cmd/worker":                   {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/plan", "plimsoll/internal/measure/store", "net/http"},
		"plimsoll/internal/measure/steady":      {"plimsoll/"},
		"plimsoll/internal/measure/dialect/fio": {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/store", "os/exec"},
		"plimsoll/internal/container/dockerapi": {"plimsoll/internal/measure/engine", "plimsoll/internal/limit"},
		// Limits know nothing of benchmarks.
		"plimsoll/internal/container/target": {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/plan", "plimsoll/internal/measure/store", "plimsoll/internal/measure/workload", "plimsoll/load"},
		"plimsoll/internal/limit/engineapi":  {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/plan", "plimsoll/internal/measure/store", "plimsoll/internal/measure/workload", "plimsoll/load"},
		"plimsoll/internal/limit/systemd":    {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/plan", "plimsoll/internal/measure/store", "plimsoll/internal/measure/workload", "plimsoll/load"},
		"plimsoll/internal/limit/hold":       {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/plan", "plimsoll/internal/measure/store", "plimsoll/internal/measure/workload", "plimsoll/load"},
	} {
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Errorf("go list -deps %s: %v", pkg, err)
			continue
		}
		for dep := range strings.Lines(string(out)) {
			dep = strings.TrimSpace(dep)
			for _, n := range never {
				if dep != pkg && (dep == n || strings.HasPrefix(dep, strings.TrimSuffix(n, "/")+"/")) {
					t.Errorf("%s imports %s, which it must not know", pkg, dep)
				}
			}
		}
	}
}
