package layout

import (
	"strings"
	"testing"
)

// TestSentence: further lines stand below the beginning of the first, and no line is wider than Width.
func TestSentence(t *testing.T) {
	var b strings.Builder
	Sentence(&b, "note: ", strings.Repeat("word ", 30)+"end\x1b[2J")
	inFirst := (Width - len("note:")) / len(" word")
	want := "note:" + strings.Repeat(" word", inFirst) + "\n     " + strings.Repeat(" word", 30-inFirst) + " end\n"
	if got := b.String(); got != want {
		t.Errorf("Sentence wrote %q, want %q", got, want)
	}
	if got := Wrap("  one two  three ", 7); got != "one two\nthree" {
		t.Errorf("Wrap = %q", got)
	}
}

// TestTable: numbers stand to the right, and a sentence behind a name widens no column.
func TestTable(t *testing.T) {
	rows := Table{Head: []string{"NAME", "N"}, Right: []int{1}}
	if rows.Len() != 0 {
		t.Errorf("a new table has %d rows", rows.Len())
	}
	rows = Table{Head: []string{"NAME", "N", "WHERE"}, Right: []int{1}}
	rows.Add("ä", "100", "here")
	rows.Add("longer", "7", "")
	rows.Add("x", "a sentence that is wider\nthan all")
	var b strings.Builder
	rows.Write(&b)
	want := "NAME      N  WHERE\nä       100  here\nlonger    7\nx       a sentence that is wider than all\n"
	if b.String() != want {
		t.Errorf("Write wrote\n%s, want\n%s", b.String(), want)
	}
}
