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
		"plimsoll/hist":                      {"plimsoll/"},
		"plimsoll/load":                      {"plimsoll/internal"},
		"plimsoll/internal/stats":            {"plimsoll/internal", "database/sql", "os/exec", "net"},
		"plimsoll/internal/report":           {"plimsoll/internal/engine", "plimsoll/internal/trial", "plimsoll/internal/store", "plimsoll/internal/plan", "os/exec"},
		"plimsoll/internal/record":           {"plimsoll/internal/engine", "plimsoll/internal/trial", "plimsoll/internal/store", "plimsoll/internal/wire", "os/exec"},
		"plimsoll/internal/check":            {"plimsoll/internal/engine", "plimsoll/internal/trial", "plimsoll/internal/store", "os/exec"},
		"plimsoll/internal/store":            {"plimsoll/internal/engine", "plimsoll/internal/trial", "plimsoll/internal/report"},
		"plimsoll/internal/engine":           {"plimsoll/internal/trial", "plimsoll/internal/plan", "plimsoll/internal/report"},
		"plimsoll/internal/limit":            {"plimsoll/internal/engine", "plimsoll/internal/record", "plimsoll/internal/workload", "plimsoll/internal/wire", "plimsoll/load", "os/exec", "net"},
		"plimsoll/internal/limit/cgroup":     {"plimsoll/internal/engine", "plimsoll/internal/record", "plimsoll/internal/workload", "plimsoll/internal/wire", "plimsoll/load", "os/exec", "net"},
		"plimsoll/internal/limit/explain":    {"plimsoll/internal/engine", "plimsoll/internal/record", "plimsoll/internal/workload", "plimsoll/internal/wire", "plimsoll/load", "os/exec", "net"},
		"plimsoll/internal/device":           {"plimsoll/"}, // Limits stand on it too, and they know nothing of benchmarks.
		"plimsoll/internal/witness":          {"plimsoll/internal/trial", "plimsoll/internal/plan", "plimsoll/internal/store", "plimsoll/internal/report"},
		"plimsoll/internal/device/hierarchy": {"plimsoll/internal/engine", "plimsoll/internal/record", "plimsoll/internal/limit", "plimsoll/load"},
		"plimsoll/internal/device/cgroupio":  {"plimsoll/internal/record", "plimsoll/internal/workload", "plimsoll/internal/wire", "plimsoll/load"},
		"plimsoll/internal/workload":         {"plimsoll/internal/engine", "plimsoll/internal/wire"},
		"plimsoll/cmd/worker":                {"plimsoll/internal/engine", "plimsoll/internal/plan", "plimsoll/internal/store", "net/http"},
		"plimsoll/internal/steady":           {"plimsoll/"},
		"plimsoll/internal/dialect/fio":      {"plimsoll/internal/engine", "plimsoll/internal/trial", "plimsoll/internal/store", "os/exec"},
		"plimsoll/internal/dockerapi":        {"plimsoll/internal/engine", "plimsoll/internal/limit"},
		// Limits know nothing of benchmarks.
		"plimsoll/internal/limit/target":    {"plimsoll/internal/engine", "plimsoll/internal/trial", "plimsoll/internal/plan", "plimsoll/internal/store", "plimsoll/internal/workload", "plimsoll/load"},
		"plimsoll/internal/limit/engineapi": {"plimsoll/internal/engine", "plimsoll/internal/trial", "plimsoll/internal/plan", "plimsoll/internal/store", "plimsoll/internal/workload", "plimsoll/load"},
		"plimsoll/internal/limit/unit":      {"plimsoll/internal/engine", "plimsoll/internal/trial", "plimsoll/internal/plan", "plimsoll/internal/store", "plimsoll/internal/workload", "plimsoll/load"},
		"plimsoll/internal/limit/hold":      {"plimsoll/internal/engine", "plimsoll/internal/trial", "plimsoll/internal/plan", "plimsoll/internal/store", "plimsoll/internal/workload", "plimsoll/load"},
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
