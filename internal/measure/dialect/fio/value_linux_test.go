package fio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPatternsAreFios: what is written is what fio writes. A minus sign was taken for a joint, and the 12 behind it for 12.
func TestPatternsAreFios(t *testing.T) {
	t.Parallel()
	for pattern, want := range patterns {
		args := []string{"--name=x", "--filename=f", "--rw=write", "--bs=512", "--size=512", "--buffer_pattern=" + pattern}
		theirs, ours := t.TempDir(), t.TempDir()
		peer(t, theirs, args...)
		run(t, ours, args...)
		a, err := os.ReadFile(filepath.Join(theirs, "f"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(ours, "f"))
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) || !strings.HasPrefix(string(b), want) {
			t.Errorf("%s: fio wrote % x, ours % x, want % x", pattern, a[:16], b[:16], want)
		}
	}
}

// TestMoreValuesAreFios: values that fio takes do as much as with fio.
func TestMoreValuesAreFios(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"sizes that don't fit": "--rw=randread --bssplit=4k/20:1m/80 --size=64k",
		"a range with a colon": "--rw=read --bsrange=4k:4k --size=64k",
		"a share with a point": "--rw=read --bssplit=4k/5.:4k/95 --size=64k",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--name=x", "--filename=f"}, strings.Fields(line)...)
			dirs := []string{t.TempDir(), t.TempDir()}
			for _, dir := range dirs {
				if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 128<<10), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := tryRun(t, dirs[1], []string{"f"}, args...)
			if err != nil {
				t.Fatal(err)
			}
			sameIO(t, peer(t, dirs[0], args...), out)
		})
	}
}
