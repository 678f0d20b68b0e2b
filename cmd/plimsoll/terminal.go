package main

import (
	"io"
	"os"
	"strconv"

	"plimsoll/internal/measure/report"
)

// terminal returns what w can show: colours only on a terminal whose user hasn't set NO_COLOR, and the width of the
// terminal, or the width in COLUMNS if w is not a terminal, such as a pipe.
func terminal(w io.Writer) report.Terminal {
	var t report.Terminal
	if out, ok := w.(*outputFile); ok {
		w = out.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return t
	}
	st, err := f.Stat()
	device := err == nil && st.Mode()&os.ModeCharDevice != 0
	if device {
		t.Width, _ = terminalSize(f)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); t.Width == 0 && err == nil && n > 0 {
		t.Width = n
	}
	t.Colour = device && t.Width > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return t
}

// terminalHeight returns the number of lines of w, or 0 if it is not a terminal.
func terminalHeight(w io.Writer) int {
	if out, ok := w.(*outputFile); ok {
		w = out.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	_, height := terminalSize(f)
	return height
}
