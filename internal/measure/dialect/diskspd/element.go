package diskspd

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure/dialect"
)

// An element is a part of an XML document.
type element struct {
	name     string
	attrs    map[string]string
	text     string
	children []*element
	line     int
}

// readProfile reads an XML profile. name is for errors.
func readProfile(name string, data []byte) (*Profile, error) {
	if len(data) > maxProfile {
		return nil, usage(name, "%d bytes are no profile; at most %d", len(data), maxProfile)
	}
	root, err := readElements(name, data)
	if err != nil {
		return nil, err
	}
	if root.name != "Profile" {
		return nil, usage(fmt.Sprintf("%s:%d", name, root.line), "a profile begins with <Profile>, not with <%s>", root.name)
	}
	x := &xmlReader{name: name}
	p := newProfile()
	x.profile(root, &p)
	return &p, x.err
}

// readElements reads the tree of a document.
func readElements(name string, data []byte) (*element, error) {
	d := xml.NewDecoder(strings.NewReader(string(data)))
	// A profile that says it is UTF-16 mostly isn't: VM Fleet saves strings as UTF-8.
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var root *element
	var open []*element
	// texts are those of the open elements, which come in pieces wherever there is a comment.
	var texts [][]byte
	for n := 0; ; n++ {
		tok, err := d.Token()
		line, _ := d.InputPos()
		where := fmt.Sprintf("%s:%d", name, line)
		switch {
		case errors.Is(err, io.EOF) && root != nil && len(open) == 0:
			return root, nil
		case err != nil:
			return nil, usage(where, "%v", err)
		case n > maxElements || len(open) > maxDepth:
			return nil, usage(where, "too large or too deep for a profile")
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			e := &element{name: tok.Name.Local, line: line, attrs: map[string]string{}}
			for _, a := range tok.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			switch {
			case len(open) > 0:
				up := open[len(open)-1]
				up.children = append(up.children, e)
			case root != nil:
				return nil, usage(where, "a second <%s> behind the profile", e.name)
			default:
				root = e
			}
			open, texts = append(open, e), append(texts, nil)
		case xml.CharData:
			if last := len(texts) - 1; last >= 0 {
				texts[last] = append(texts[last], tok...)
			}
		case xml.EndElement:
			last := len(open) - 1
			e := open[last]
			e.text = strings.TrimSpace(string(texts[last]))
			if e.text != "" && len(e.children) > 0 {
				return nil, usage(where, "<%s> holds text between its elements, which no profile has", e.name)
			}
			open, texts = open[:last], texts[:last]
		}
	}
}

// An xmlReader takes values from elements and keeps the first error.
type xmlReader struct {
	name string
	err  error
}

func (x *xmlReader) fail(e *element, format string, args ...any) {
	if x.err == nil {
		x.err = usage(fmt.Sprintf("%s:%d", x.name, e.line), "<%s>: %s", e.name, fmt.Sprintf(format, args...))
	}
}

// each calls a function for each child; what isn't known and what comes twice is an error.
func (x *xmlReader) each(e *element, known map[string]func(*element)) {
	seen := map[string]bool{}
	for _, c := range e.children {
		set, ok := known[c.name]
		switch {
		case !ok:
			names := make([]string, 0, len(known))
			for n := range known {
				names = append(names, n)
			}
			slices.Sort(names)
			if near := dialect.Nearest(c.name, names); near != "" {
				x.fail(c, "is unknown in <%s>; the nearest is <%s>", e.name, near)
			} else {
				x.fail(c, "is unknown in <%s>", e.name)
			}
		case seen[c.name]:
			x.fail(c, "comes twice in <%s>", e.name)
		default:
			set(c)
		}
		if x.err != nil {
			return
		}
		seen[c.name] = true
	}
}

// list calls a function for each child; all have to have the name.
func (x *xmlReader) list(e *element, name string, most int, f func(*element)) {
	if len(e.children) > most {
		x.fail(e, "more than %d <%s>", most, name)
	}
	for _, c := range e.children {
		if c.name != name {
			x.fail(c, "is unknown in <%s>, which holds <%s>", e.name, name)
		}
		if x.err != nil {
			return
		}
		f(c)
	}
}

func (x *xmlReader) number(e *element, low, high uint64) uint64 {
	n, err := parseUint(e.text, 64)
	if err != nil {
		x.fail(e, "%q %v", e.text, err)
		return low
	}
	if n < low || n > high {
		x.fail(e, "%d must be from %d to %d", n, low, high)
		return low
	}
	return n
}

func (x *xmlReader) u32(to *uint32, low, high uint64) func(*element) {
	return func(e *element) { *to = uint32(x.number(e, low, high)) }
}

func (x *xmlReader) u64(to *uint64) func(*element) {
	return func(e *element) { *to = x.number(e, 0, math.MaxInt64) }
}

func (x *xmlReader) flag(to *bool) func(*element) {
	return func(e *element) {
		switch e.text {
		case "true", "1":
			*to = true
		case "false", "0":
			*to = false
		default:
			x.fail(e, "%q is neither true nor false", e.text)
		}
	}
}

// word reads one of some words.
func (x *xmlReader) word(e *element, words ...string) string {
	if !slices.Contains(words, e.text) {
		x.fail(e, "%q is not one of %s", e.text, strings.Join(words, ", "))
	}
	return e.text
}
