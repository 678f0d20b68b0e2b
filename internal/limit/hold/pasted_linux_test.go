package hold

import (
	"os/exec"
	"strings"
	"testing"

	"plimsoll/internal/text/clean"
)

// hostileGroups are groups whose names a terminal would not show as they are, or a shell would read otherwise.
var hostileGroups = []string{"cgroup:/a\x1b[31mb", "cgroup:/a\xff\xfeb", "cgroup:/two words", "cgroup:/it's", "cgroup:/$HOME;x", "cgroup:/plain"}

// pasted is the last word of the command in text that begins with begin, as bash reads it.
func pasted(t *testing.T, text, begin, after string) string {
	t.Helper()
	_, command, ok := strings.Cut(clean.Line(text), begin)
	if !ok {
		t.Fatalf("%q offers no command with %q", text, begin)
	}
	command, _, _ = strings.Cut(command, after)
	out, err := exec.Command("bash", "-c", "printf %s "+command).Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(out)
}

// TestPastedNames: a command that is offered for pasting names the group that it is about, once it was through a terminal and a shell. The
// names were printed as they are, so that the terminal's cleaning took bytes out of them.
func TestPastedNames(t *testing.T) {
	for _, name := range hostileGroups {
		w := DeviceLimit{For: name, Disk: "sda", Former: true}
		if got := pasted(t, w.Still(" --state /x"), "plimsoll limit clear ", " --state"); got != name {
			t.Errorf("the command to clear %q names %q", name, got)
		}
	}
}
