package compare

import (
	"encoding/json"
	"strings"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/report"
)

// specOf is what a run asked of a workload, by key; nil if its plan isn't known.
func specOf(r *report.Report, name string) map[string]any {
	p, err := plan.Parse(r.Run.Plan, []byte(r.Run.PlanText))
	if err != nil {
		return nil
	}
	w, ok := p.Workload(name)
	if !ok {
		return nil
	}
	b, err := json.Marshal(w.WithDefaults())
	if err != nil {
		return nil
	}
	var keys map[string]any
	if json.Unmarshal(b, &keys) != nil {
		return nil
	}
	if job, ok := keys["job"].(map[string]any); ok {
		delete(keys, "job")
		for k, v := range job {
			keys[k] = v
		}
	}
	return keys
}

// hidesProgram reports whether a workload runs a program that a file for others has replaced (package share), so that two runs may
// have run different ones.
func hidesProgram(r *report.Report, name string) bool {
	command, ok := specOf(r, name)["command"]
	if !ok {
		return false
	}
	b, err := json.Marshal(command)
	return err == nil && strings.Contains(string(b), `hidden-`)
}
