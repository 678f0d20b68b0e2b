package golden

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A recorder records a test's messages.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Errorf(f string, a ...any) { r.said = append(r.said, f) }
func (r *recorder) Fatalf(f string, a ...any) { r.said = append(r.said, f) }

// TestFile: a text that differs from the file after masking fails; -update writes the file and its folder.
func TestFile(t *testing.T) {
	defer func(was bool) { *update = was }(*update)
	path := filepath.Join(t.TempDir(), "testdata", "x.txt")
	text := "run 4711 took 12 ms in /tmp/x\n"
	masks := []Mask{Text("/tmp/x", "DIR"), Pattern(`\d+( ms)?`, "N$1")}
	*update = true
	File(t, path, text, masks...)
	if b, err := os.ReadFile(path); err != nil || string(b) != "run N took N ms in DIR\n" {
		t.Errorf("%q, %v", b, err)
	}
	*update = false
	r := &recorder{TB: t}
	File(r, path, strings.ReplaceAll(text, "12", "13"), masks...)
	if len(r.said) != 0 {
		t.Errorf("what is masked differs: %q", r.said)
	}
	File(r, path, "another\n")
	if len(r.said) != 1 {
		t.Errorf("another text was accepted: %q", r.said)
	}
}

func TestSheet(t *testing.T) {
	var s Sheet
	s.Add("a", errors.New("one\ntwo"))
	s.Add("b", nil)
	if got, want := s.text.String(), "a\n\tone\n\ttwo\nb\n\t(no error)\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
