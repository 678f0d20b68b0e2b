// Package testlist reads the lists of tests in .ci: one regular expression a line, which has to match a text from its beginning to
// its end; # begins a comment.
package testlist

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A List is a list's expressions; the zero value matches nothing.
type List []*regexp.Regexp

// Matches reports whether an expression matches the whole of s.
func (l List) Matches(s string) bool {
	return slices.ContainsFunc(l, func(re *regexp.Regexp) bool { return re.MatchString(s) })
}

// A Line is one line of a list, without the comment and the space around it.
type Line struct {
	// Where is the file and the line, for errors.
	Where, Text string
}

// Lines reads the lines of a file, without empty lines and comments.
func Lines(path string) ([]Line, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lines []Line
	for n, line := range strings.Split(string(b), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, Line{Where: fmt.Sprintf("%s:%d", path, n+1), Text: line})
		}
	}
	return lines, nil
}

// Add adds an expression; where is its place in the file, for the error.
func (l *List) Add(where, expression string) error {
	re, err := regexp.Compile("^(?:" + expression + ")$")
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	*l = append(*l, re)
	return nil
}
