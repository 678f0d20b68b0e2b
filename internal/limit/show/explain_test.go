package show

import (
	"errors"
	"fmt"
	"testing"

	"plimsoll/internal/text/refusal"
)

// TestExplainElsewhere: outside Linux the refusal is one line, which says what to do. It was two, the second of which said only that something
// can't be had.
func TestExplainElsewhere(t *testing.T) {
	const want = "limits on I/O: they are Linux's, and this is not Linux; ask inside the virtual machine where the containers run"
	err := unexplained(fmt.Errorf("control groups: %w", errors.ErrUnsupported))
	if err.Error() != want || !errors.Is(err, refusal.ErrRefused) {
		t.Errorf("%q, want the refusal %q", err, want)
	}
	other := errors.New("no mounts")
	if err := unexplained(other); err != other {
		t.Errorf("%v became %v", other, err)
	}
}
