package plan

import (
	"fmt"
	"strings"
	"testing"
)

// TestParseIsBounded checks that files made to keep Parse busy are refused by a
// bound. Without the bounds this test does not end within go test's own timeout, or needs
// more memory than there is.
func TestParseIsBounded(t *testing.T) {
	names := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i, i)
		}
		return b.String()
	}
	wide := "name: t\nengines: [oci]\nplaces:\n" + names(99, "  p%d: {kind: bind, path: /p%d}\n") + "workloads:\n" + names(99, "  w%d: {kind: append, count: 1%d}\n")
	for name, tt := range map[string]struct{ text, want string }{
		"many keys":     {names(60_000, "k%d: %d\n"), "more than 20000 values"},
		"many unknowns": {names(9_000, "k%d: %d\n"), "and 8954 more faults"},
		"many excludes": {wide + "exclude:\n- {place: [" + strings.Repeat("'*p*1*', ", 15_000) + "]}\n", "too many for a matrix of this size"},
		"many flows":    {strings.Repeat("[", 400_000), "not YAML"},
		"many bombs":    {bomb(), "aliases stand for too much"},
		"many cells":    {huge(), "more than 10000 cells"},
	} {
		if _, err := Parse("f", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %.300v\nwant an error with %q", name, err, tt.want)
		}
	}
}
