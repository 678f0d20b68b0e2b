package refusal

import (
	"errors"
	"fmt"
	"testing"
)

func TestError(t *testing.T) {
	for want, err := range map[string]error{
		"engine oci has no place share: it has no daemon":              &Error{Engine: "oci", What: "place share", Why: "it has no daemon"},
		"engine oci has no runtime: none is here; install crun":        &Error{Engine: "oci", What: "runtime", Why: "none is here", Fix: "install crun"},
		"volume data can't be limited here: it is memory":              &Error{What: "volume data", Act: Limited, Why: "it is memory"},
		"/srv can't be tried here: it is full; instead: free 10MiB":    &Error{What: "/srv", Act: Tried, Why: "it is full", Fix: "free 10MiB"},
		"write_bps: Docker accepts it and does nothing; use the group": &Error{What: "write_bps", Why: "Docker accepts it and does nothing", Fix: "use the group"},
		"no such controller here":                                      New("no such controller here"),
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
		wrapped := fmt.Errorf("open: %w", err)
		var e *Error
		if !errors.Is(wrapped, ErrRefused) || !errors.Is(wrapped, err) {
			t.Errorf("%q is no refusal when it is wrapped", err)
		}
		if as := errors.As(wrapped, &e); as != (err == error(e) && e != nil) {
			t.Errorf("%q when it is wrapped: errors.As() = %v, with %v", err, as, e)
		}
	}
	if errors.Is(New("a"), New("a")) || errors.Is(errors.New("a"), ErrRefused) {
		t.Error("sentences are compared by their text")
	}
}

// TestExitStatus: each refusal has its own, also an error that only joins ErrRefused.
func TestExitStatus(t *testing.T) {
	for _, err := range []error{&Error{}, New("a"), errors.Join(errors.New("a"), ErrRefused)} {
		var own interface{ ExitStatus() int }
		if !errors.As(err, &own) || own.ExitStatus() != 5 {
			t.Errorf("%v has no exit status of 5", err)
		}
	}
}
