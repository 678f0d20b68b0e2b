package report

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/measure/record"
	"plimsoll/plans"
)

// Question is what the report of the default plan answers.
const Question = "Where may I put my container's data on this machine, and what does each place cost?"

// questionOf is the heading of a run's report: the plan's description. The plan's text may come from another version of
// Plimsoll, so only this one key is read.
func questionOf(run record.Run) string {
	var p struct {
		Description string `yaml:"description"`
	}
	// A text that can't be read has no description; the plan's name is used instead.
	if err := yaml.Unmarshal([]byte(run.PlanText), &p); err == nil {
		if d := strings.Join(strings.Fields(p.Description), " "); d != "" {
			return d
		}
	}
	if run.Plan == "" || run.Plan == plans.Default {
		return Question
	}
	if isLine(run) {
		return "What a line of " + run.Plan + " measured"
	}
	return "What was found with the plan " + run.Plan
}

// isLine reports whether a run is a recorded command line of another tool, which has no plan.
func isLine(run record.Run) bool {
	return run.PlanText == "" && run.Command != "" && strings.HasPrefix(run.Command, "plimsoll "+run.Plan)
}

// questionOfAll is the common question of a set's reports, empty if they differ.
func questionOfAll(reports []*Report) string {
	q := ""
	for i, r := range reports {
		if i > 0 && r.Question != q {
			return ""
		}
		q = r.Question
	}
	return q
}
