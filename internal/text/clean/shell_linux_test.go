package clean

import (
	"os/exec"
	"strings"
	"testing"
)

// TestShell: real shells read back what was quoted; what is as $'...' isn't for one as old as Debian's sh.
func TestShell(t *testing.T) {
	words := []string{"", " ", "'", "''", `\`, "$HOME", "`id`", "a b", "*", "~", "!", "#", "a\nb", "é", "engine=oci", "--set", "a'b\"c", "-", "&&", "\t"}
	words = append(words, "a\x1b[31mb", "1\n2\\'3", "a\xff\xfeb", "\u202e")
	for _, shell := range []string{"sh", "bash"} {
		var line []string
		want := ""
		for _, w := range words {
			if q := Shell(w); shell == "bash" || !strings.HasPrefix(q, "$'") {
				line, want = append(line, q), want+w+"\x00"
			}
		}
		out, err := exec.Command(shell, "-c", `for w in `+strings.Join(line, " ")+`; do printf '%s\0' "$w"; done`).Output()
		if err != nil {
			t.Fatal(err)
		}
		if string(out) != want || len(line) < 15 {
			t.Errorf("%s read %q of %d words, want %q", shell, out, len(line), want)
		}
	}
	for _, w := range []string{"plan.yaml", "a.b=c/d", "--blocks"} {
		if got := Shell(w); got != w {
			t.Errorf("Shell(%q) = %q, want it plain", w, got)
		}
	}
}
