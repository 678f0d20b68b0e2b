package dialecttest

import (
	"errors"
	"testing"

	"plimsoll/internal/measure/dialect"
)

// Usage fails t if err, which a parser returned, does not say what is wrong and where: it has to hold
// *dialect.UsageErrors, each with its place and its text.
func Usage(t testing.TB, err error) {
	t.Helper()
	var u *dialect.UsageError
	if !errors.As(err, &u) || u.Where == "" || u.Text == "" {
		t.Errorf("%v (%T) does not say what is wrong, and where", err, err)
	}
}
