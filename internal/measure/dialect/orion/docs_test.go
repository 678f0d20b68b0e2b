package orion

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const manual = "../../../../docs/reference/orion.md"

// TestDocsListTheOptions compares the table of the manual with the parser's.
func TestDocsListTheOptions(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| option | value | here |\n|---|---|---|\n")
	for _, o := range Options {
		note := o.Note
		if o.Refused {
			note = "refused: " + note
		}
		value := strings.ReplaceAll(o.Value, "|", `\|`)
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", o.Name, value, note)
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("%s has no such table; it should be:\n%s", manual, want.String())
	}
}
