package ab

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect"
)

// TestOutputsSpareTheFiles: the files of -e and -g are not what is sent, nor each other.
func TestOutputsSpareTheFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("body", []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"-p body -e body":          "-e body: would be written over body, which the line uses as -p body",
		"-u body -g ./body":        "-g ./body: would be written over body, which the line uses as -u body",
		"-e s -g s":                "-g s: would be written over that of -e s",
		"-p body -e body -g other": "-e body",
	} {
		test, err := Parse(append(strings.Fields(line), "http://127.0.0.1:1/"))
		if err != nil {
			t.Fatal(err)
		}
		var usage *dialect.UsageError
		if err := test.Run(t.Context(), nil, io.Discard, io.Discard); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	if got, err := os.ReadFile("body"); err != nil || string(got) != "precious" {
		t.Errorf("what is sent is now %q, %v", got, err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 1 {
		t.Errorf("the lines left %v, %v", left, err)
	}
}
