// Package golden compares whole texts with files below testdata. 'make golden' writes the files anew, as does 'go test PACKAGE
// -update'; a change of words is then one command and one review.
//
// A text has to be the same in every run. Parts that differ (a time, a path, an id) are masked first.
package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// folder is the package's, also in a test that changes its working folder.
var folder, _ = os.Getwd()

// Updating reports whether golden files are written instead of compared.
func Updating() bool { return *update }

// A Mask replaces text that differs from run to run.
type Mask func(string) string

// Text masks a string that the test knows, such as its folder.
func Text(was, becomes string) Mask {
	return func(s string) string { return strings.ReplaceAll(s, was, becomes) }
}

// Pattern masks the matches of a regular expression; becomes may name its groups, as in regexp.Expand.
func Pattern(expr, becomes string) Mask {
	re := regexp.MustCompile(expr)
	return func(s string) string { return re.ReplaceAllString(s, becomes) }
}

// Check compares a text, masked, with testdata/NAME.
func Check(t testing.TB, name, got string, masks ...Mask) {
	t.Helper()
	File(t, filepath.Join("testdata", name), got, masks...)
}

// File is Check for a file at another path.
func File(t testing.TB, path, got string, masks ...Mask) {
	t.Helper()
	for _, m := range masks {
		got = m(got)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test with -update writes it", err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s differs (-want +got); go test with -update writes it anew:\n%s", path, d)
	}
}

// A Sheet collects short texts, such as the errors of a table of bad input, for one file.
type Sheet struct{ text strings.Builder }

// Add adds an input and its result, indented below; nil is no error.
func (s *Sheet) Add(input, came any) {
	if came == nil {
		came = "(no error)"
	}
	fmt.Fprintf(&s.text, "%v\n", input)
	for line := range strings.Lines(fmt.Sprint(came)) {
		fmt.Fprintf(&s.text, "\t%s\n", strings.TrimSuffix(line, "\n"))
	}
}

// Check compares the sheet, masked, with testdata/NAME.
func (s *Sheet) Check(t testing.TB, name string, masks ...Mask) {
	t.Helper()
	Check(t, name, s.text.String(), masks...)
}
