package paths

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/text/usage"
)

func TestOld(t *testing.T) {
	for _, file := range []string{"sessions/20261121-153000-3f9a.json", "held/web.json", "device-wide.json", "weights.json", "limits-set.json"} {
		dir := t.TempDir()
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := Old(t.TempDir(), dir, filepath.Join(dir, "none")); err != nil {
			t.Errorf("without %s: %v", file, err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		top, _, _ := strings.Cut(file, "/")
		err := Old(t.TempDir(), dir)
		if !usage.Is(err) || !strings.Contains(err.Error(), path) || !strings.HasSuffix(err.Error(), "delete "+filepath.Join(dir, top)) {
			t.Errorf("with %s: %v", file, err)
		}
	}
}
