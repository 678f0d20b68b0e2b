package plimsoll_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestArrows checks that some packages import even less than their layer allows (TestLayers), directly or through another package.
func TestArrows(t *testing.T) {
	for pkg, never := range map[string][]string{
		"plimsoll/internal/measure/stats":       {"plimsoll/internal", "database/sql", "os/exec", "net"},
		"plimsoll/internal/measure/report":      {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/store", "plimsoll/internal/measure/plan", "os/exec"},
		"plimsoll/internal/measure/record":      {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/store", "plimsoll/internal/measure/wire", "os/exec"},
		"plimsoll/internal/measure/check":       {"plimsoll/internal/measure/witness", "plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/store", "os/exec"},
		"plimsoll/internal/measure/agent":       {"plimsoll/internal/measure/trial"},
		"plimsoll/internal/measure/store":       {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/report"},
		"plimsoll/internal/measure/engine":      {"plimsoll/internal/measure/agent", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/plan", "plimsoll/internal/measure/report"},
		"plimsoll/internal/limit":               {"os/exec", "net"},
		"plimsoll/internal/limit/cgroup":        {"os/exec", "net"},
		"plimsoll/internal/limit/explain":       {"os/exec", "net"},
		"plimsoll/internal/measure/witness":     {"plimsoll/internal/measure/trial", "plimsoll/internal/measure/plan", "plimsoll/internal/measure/store", "plimsoll/internal/measure/report"},
		"plimsoll/internal/measure/workload":    {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/wire"},
		"plimsoll/cmd/worker":                   {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/plan", "plimsoll/internal/measure/store", "net/http"},
		"plimsoll/internal/measure/dialect/fio": {"plimsoll/internal/measure/engine", "plimsoll/internal/measure/trial", "plimsoll/internal/measure/store", "os/exec"},
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
