package enginetest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// ManualTimes checks that the manual gives these times, by its words for what is waited for. It is for tests of packages
// just below that of the contract.
func ManualTimes(t *testing.T, times map[string]time.Duration) {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/reference/support.md")
	if err != nil {
		t.Fatal(err)
	}
	for what, d := range times {
		if row := fmt.Sprintf("| %s | %v |\n", what, d); !strings.Contains(string(text), row) {
			t.Errorf("docs/reference/support.md has no row %q", row)
		}
	}
}
