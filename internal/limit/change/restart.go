package change

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
)

// stored reports whether an engine has stored the limits.
func stored(done []hold.Done) bool {
	return slices.ContainsFunc(done, func(d hold.Done) bool { return d.Kept != "" })
}

// restartNote says that the limits end when the container restarts, and gives a policy that keeps them.
func (r *Result) restartNote() string {
	return clean.Text("note: these limits end when the container restarts. plimsoll daemon keeps them across restarts, with this in " + r.policy +
		":\n\n" + indented(r.Policy) + "\n")
}

// indented puts four spaces before each line.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// keepInstead adds to the refusal of --keep a policy that keeps the limits across restarts.
func (m *Maker) keepInstead(err error, s *hold.Scope, c limit.Change, where Options) error {
	var refused *refusal.Error
	text := rulesFor(s, c, where.Where)
	if text == "" || !errors.As(err, &refused) {
		return err
	}
	return fmt.Errorf("%w. Or set them without --keep, and let plimsoll daemon keep them across restarts, with this in %s:\n\n%s", err, m.Policy, indented(text))
}
