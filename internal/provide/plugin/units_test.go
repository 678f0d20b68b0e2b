package plugin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnits: systemd accepts the units, the socket is the one that Docker asks, and the manual has both.
func TestUnits(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/reference/daemon.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var units []string
	for _, name := range []string{"plimsoll.socket", "plimsoll.service"} {
		b, err := os.ReadFile(filepath.Join("../../../docs/systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(manual), string(b)) {
			t.Errorf("docs/reference/daemon.md lacks the text of %s", name)
		}
		if name == "plimsoll.socket" && !strings.Contains(string(b), "ListenStream="+Socket+"\n") {
			t.Errorf("%s doesn't listen on %s", name, Socket)
		}
		units = append(units, filepath.Join(dir, name))
		if err := os.WriteFile(units[len(units)-1], []byte(strings.Replace(string(b), "/usr/local/bin/plimsoll", "/bin/true", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze: apt-get install systemd")
	}
	if out, err := exec.Command(analyze, append([]string{"verify", "--man=no"}, units...)...).CombinedOutput(); err != nil || strings.Contains(string(out), dir) {
		t.Errorf("systemd-analyze verify: %v: %s", err, out)
	}
}
