package safety

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/layout"
)

// words are the answers as people read them.
var words = map[Answer]string{Yes: "yes", Alone: "alone", No: "no", Unknown: "?"}

// WriteText prints a report for people: first what the place is safe for, then what it keeps and breaks.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", clean.Line(r.Place), r.FSType)
	if r.Source != "" {
		fmt.Fprintf(&b, " on %s", clean.Line(r.Source))
	}
	fmt.Fprintf(&b, ", engine %s, kernel %s\n\nIs it safe here?\n", r.Engine, clean.Line(r.Kernel))
	for _, u := range r.Uses {
		layout.Sentence(&b, strings.Replace(label(u.Safe), "no", "NO", 1), sentence(u))
	}
	b.WriteString("\nWhat the place keeps and breaks\n")
	for _, q := range questions {
		for _, answer := range []Answer{No, Unknown, Yes} {
			if line := r.line(q, answer); line != "" {
				layout.Sentence(&b, label(answer), line)
			}
		}
	}
	fmt.Fprintf(&b, "\nChecked in %.1f s. \"?\" can't be asked here.\n", r.Took.Seconds())
	_, err := io.WriteString(w, b.String())
	return err
}

// label begins a line with an answer.
func label(a Answer) string { return fmt.Sprintf("  %-5s  ", words[a]) }

// sentence says for what a place is safe, or what breaks.
func sentence(u Use) string {
	why := strings.Join(u.Why, "; ")
	switch {
	case u.Safe == Alone:
		return fmt.Sprintf("%s: as long as one side alone uses it. Between %s: %s", u.Name, strings.Join(u.Between, " and between "), why)
	case why != "":
		return u.Name + ": " + why
	}
	return u.Name
}

// join joins the names of pairs.
func join(pairs []Between, with string) string {
	names := make([]string, len(pairs))
	for i, p := range pairs {
		names[i] = string(p)
	}
	return strings.Join(names, with)
}

// line is a question with one of its answers, and the pairs that gave it; "" if none did. All pairs need no names.
func (r *Report) line(q question, answer Answer) string {
	var pairs []Between
	var details []string
	asked, n := 0, 0
	for _, f := range r.Findings {
		if f.Key != q.key {
			continue
		}
		asked++
		if f.Answer != answer {
			continue
		}
		n++
		if f.Between != "" {
			pairs = append(pairs, f.Between)
		}
		if f.Detail != "" && !slices.Contains(details, f.Detail) {
			details = append(details, f.Detail)
		}
	}
	if n == 0 {
		return ""
	}
	line := q.title
	if len(pairs) > 0 && len(pairs) < asked {
		line += " (" + join(pairs, ", ") + ")"
	}
	if answer == Yes && len(details) > 1 {
		details = details[len(details)-1:] // That of the pair that is farthest apart.
	}
	if len(details) > 0 {
		line += ": " + strings.Join(details, "; ")
	}
	return line
}
