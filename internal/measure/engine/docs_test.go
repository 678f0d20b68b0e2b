package engine

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"plimsoll/internal/measure/workerbin"
)

// TestManualKnowsSizes: the worker is as large as the manual says, to a tenth.
func TestManualKnowsSizes(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/support.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| worker for (\w+)/(\w+) \| ([0-9.]+) MB \|$`).FindAllStringSubmatch(string(text), -1)
	if len(rows) != 3 {
		t.Errorf("%d sizes", len(rows))
	}
	for _, r := range rows {
		want, err := strconv.ParseFloat(r[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		b, err := workerbin.Bytes(r[1], r[2])
		if r[1] == "windows" {
			b, err = os.ReadFile("../workerbin/windows/worker-windows-amd64") // Only plimsoll.exe carries it.
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(len(b)) / 1e6; got < 0.9*want || got > 1.1*want {
			t.Errorf("the worker for %s/%s has %.1f MB, the manual says %v", r[1], r[2], got, want)
		}
	}
}
