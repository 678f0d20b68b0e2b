package report

import "io"

// HTML prints one self-contained page.
type HTML struct{}

func (HTML) Render(w io.Writer, s Set) error { return nil }
