package ab

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/testkit/golden"
)

// TestOutputsSpareTheFiles: the files of -e and -g are not what is sent, nor each other.
func TestOutputsSpareTheFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("body", []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	var sheet golden.Sheet
	for _, line := range []string{
		"-p body -e body",
		"-u body -g ./body",
		"-e s -g s",
		"-p body -e body -g other",
	} {
		test, err := Parse(append(strings.Fields(line), "http://127.0.0.1:1/"))
		if err != nil {
			t.Fatal(err)
		}
		var usage *dialect.UsageError
		if err = test.Run(t.Context(), nil, io.Discard, io.Discard); !errors.As(err, &usage) {
			t.Errorf("%s: %v, want a UsageError", line, err)
		}
		sheet.Add(line, err)
	}
	sheet.Check(t, "outputs.txt")
	if got, err := os.ReadFile("body"); err != nil || string(got) != "precious" {
		t.Errorf("what is sent is now %q, %v", got, err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 1 {
		t.Errorf("the lines left %v, %v", left, err)
	}
}
