package dd

import (
	"os"
	"strings"
	"testing"
)

// TestDocs: every word that the parser knows is in the manual.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../../../../docs/reference/dd.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, o := range operands {
		if !strings.Contains(text, "`"+o+"=`") {
			t.Errorf("operand %s= is not described", o)
		}
	}
	for _, list := range [][]string{flags, convs, {"none", "noxfer", "progress"}} {
		for _, w := range list {
			if !strings.Contains(text, "`"+w+"`") && !strings.Contains(text, "="+w+"`") {
				t.Errorf("%s is not described", w)
			}
		}
	}
}
