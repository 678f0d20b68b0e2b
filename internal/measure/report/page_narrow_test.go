package report

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/testkit/texttest"
)

// TestPageAt400Pixels: on a phone nothing but a table in its own box may be wider than the page. No browser runs here, so what
// that rests on is held: the page takes the width of the device, every table and drawing of figures is within a box that
// scrolls, code scrolls by itself, long words break, and no style outside of these asks for more than 400 pixels.
func TestPageAt400Pixels(t *testing.T) {
	for name, s := range map[string]Set{"everyday": NewSet(built(everyday())), "caps": NewSet(built(cappedRun(false))), "poison": NewSet(built(poison()))} {
		page := render(t, "html", Terminal{}, s)
		texttest.Has(t, page, []string{`<meta name="viewport" content="width=device-width, initial-scale=1"/>`}, name)
		_, style, _ := strings.Cut(page, "<style>")
		style, _, _ = strings.Cut(style, "</style>")
		texttest.Has(t, style, []string{".scroll { overflow-x: auto;", "body { overflow-wrap: anywhere;"}, name)
		if !regexp.MustCompile(`(?m)^pre \{[^}]*overflow-x: auto`).MatchString(style) {
			t.Errorf("%s: code does not scroll in its own box", name)
		}
		for _, m := range regexp.MustCompile(`([a-z-]+): [^;{}]*?(\d+)px`).FindAllStringSubmatch(style, -1) {
			if px, _ := strconv.Atoi(m[2]); px > 400 && m[1] != "max-width" {
				t.Errorf("%s: a style asks for more than a narrow page has: %q", name, m[0])
			}
		}
		outside(t, name, page)
	}
}

// outside reports tables and wide drawings that no box with class scroll is around.
func outside(t *testing.T, name, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.Entity = true, xml.HTMLEntity
	var open []string
	boxes := 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			class := ""
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "class":
					class = a.Value
				case "style":
					t.Errorf("%s: an element has a style of its own: %q", name, a.Value)
				}
			}
			boxes += bit(class == "scroll")
			open = append(open, class)
			if wide := e.Name.Local == "table" || e.Name.Local == "svg"; wide && boxes == 0 {
				t.Errorf("%s: a %s is not in a box that scrolls", name, e.Name.Local)
			}
		case xml.EndElement:
			boxes -= bit(open[len(open)-1] == "scroll")
			open = open[:len(open)-1]
		}
	}
}

// TestPageBeginsWithTheAnswer: what is not the answer or a doubt about it is folded.
func TestPageBeginsWithTheAnswer(t *testing.T) {
	r := built(everyday())
	page := render(t, "html", Terminal{}, NewSet(r))
	top, _, ok := strings.Cut(page, "<details")
	if !ok {
		t.Fatal("nothing is folded")
	}
	for _, p := range r.Brief {
		texttest.Has(t, top, append([]string{"<dt>" + p.Head + "</dt>"}, p.Items...))
	}
	texttest.Has(t, top, []string{"1 of 27 figures is in doubt", r.Next.Command})
	texttest.Lacks(t, top, []string{"<table", "the baseline of all comparisons"})
	d := regexp.MustCompile(`(?s)<details[^>]*>|</details>|<table`).FindAllString(page, -1)
	depth := 0
	for _, tag := range d {
		switch {
		case tag == "</details>":
			depth--
		case tag != "<table":
			depth++
		case depth == 0:
			t.Error("a table is not folded")
		}
	}
}
