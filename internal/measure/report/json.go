package report

import (
	"encoding/json"
	"io"
)

// JSON prints the whole model with stable names: see the comments of the model's types and docs/reference/report.md. It
// prints one object for any number of runs.
type JSON struct{}

// document is the outermost object of the JSON form.
type document struct {
	// SchemaVersion is the package's constant.
	SchemaVersion int `json:"schema_version"`
	// Question is empty if the reports have different questions; each report has its own.
	Question string    `json:"question"`
	Note     string    `json:"note,omitempty"`
	Reports  []*Report `json:"reports"`
}

// Render implements Renderer.
func (JSON) Render(w io.Writer, s Set) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false) // Leaves > readable, so that a command with one can be searched for.
	return e.Encode(document{SchemaVersion, questionOfAll(s.Reports), s.Note, s.Reports})
}
