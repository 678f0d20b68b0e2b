package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLiePolling: of a subject that is at a limit and looks for its completions without sleeping, such as a ring of io_uring with a
// thread of the kernel's, the pressure is 0. It was said to wait for 0 %.
func TestLiePolling(t *testing.T) {
	for _, row := range []struct {
		standing Standing
		some     float64
		want     *WaitTime
	}{
		{At, 0.01, nil},
		{At, 0.5, &WaitTime{0.5, "pressure"}},
		{Below, 0.01, &WaitTime{0.01, "pressure"}},
		{At, 0, nil}, // The kernel has no pressure.
	} {
		u := Usage{Rates: []Rate{{Standing: row.standing}}, seconds: 1}
		if row.some > 0 {
			u.Waits = &Waits{Some: row.some}
		}
		got := u.waitTime(&Reading{}, &Reading{})
		if d := cmp.Diff(row.want, got); d != "" {
			t.Errorf("%s, with a pressure of %g: %s", row.standing, row.some, d)
		}
		if (len(u.Notes) == 1) != (got == nil) {
			t.Errorf("%s, with a pressure of %g: %+v, notes %q", row.standing, row.some, got, u.Notes)
		}
	}
}
