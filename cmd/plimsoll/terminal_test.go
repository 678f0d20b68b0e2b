package main

import (
	"bytes"
	"os"
	"testing"
)

// TestColumnsInAPipe: COLUMNS sets the width of a report that is piped into a pager.
func TestColumnsInAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	t.Setenv("COLUMNS", "140")
	if got := terminal(w); got.Width != 140 || got.Colour {
		t.Errorf("a pipe with COLUMNS=140 is %d wide, colours %t; want 140, false", got.Width, got.Colour)
	}
	for _, bad := range []string{"", "x", "-4", "0"} {
		t.Setenv("COLUMNS", bad)
		if got := terminal(w); got.Width != 0 {
			t.Errorf("COLUMNS=%q: width %d, want the default", bad, got.Width)
		}
	}
	if got := terminal(&bytes.Buffer{}); got.Width != 0 || got.Colour {
		t.Errorf("a buffer is %+v", got)
	}
}
