package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/text/clean"
)

// The pictures are small and stand in table rows, so that a picture is read together with its figures and all pictures of a
// column share one scale.

// An svg is a picture in the making. Its colours come from classes, so that the page's style sheet can provide a dark mode.
type svg struct {
	strings.Builder
}

// newSVG begins a picture of w x h units with a title for those who can't see it.
func newSVG(w, h int, title string) *svg {
	s := &svg{}
	fmt.Fprintf(s, `<svg viewBox="0 0 %d %d" width="%d" height="%d" role="img"><title>%s</title>`, w, h, w, h, html.EscapeString(clean.Line(title)))
	return s
}

func (s *svg) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(s, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, coord(x), coord(y), coord(w), coord(h))
}

func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(s, `<path class="%s" d="M%s %sL%s %s"/>`, class, coord(x1), coord(y1), coord(x2), coord(y2))
}

func (s *svg) dot(class string, x, y, r float64) {
	fmt.Fprintf(s, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, coord(x), coord(y), coord(r))
}

func (s *svg) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(s, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, coord(x), coord(y), html.EscapeString(clean.Line(text)))
}

// end returns the picture as markup. All text from outside has been escaped above.
func (s *svg) end() template.HTML {
	s.WriteString("</svg>")
	return template.HTML(s.String())
}

// coord prints a coordinate with one decimal, which is finer than a pixel.
func coord(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// A scale maps a range of values to coordinates, by their logarithm if log is set.
type scale struct {
	low, high float64
	from, to  float64
	log       bool
}

func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	if high <= low {
		return (s.from + s.to) / 2
	}
	return s.from + (min(max((v-low)/(high-low), 0), 1))*(s.to-s.from)
}
