package load

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// written makes a laid-out file of size bytes and returns its path.
func written(t testing.TB, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if _, err := Layout(context.Background(), path, size, LayoutOptions{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// zeros makes a file of zeros that are written.
func zeros(t testing.TB, dir string, size int64) string {
	t.Helper()
	path := filepath.Join(dir, "zeros")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// prepare prepares a job that is closed at the end of the test.
func prepare(t testing.TB, j Job) *Run {
	t.Helper()
	r, err := Prepare(j)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// start prepares and starts a job that must work.
func start(t testing.TB, j Job) *Result {
	t.Helper()
	res, err := prepare(t, j).Start(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// stamps returns the offset that each block of the file was stamped with.
func stamps(t testing.TB, path string, bs int64) []int64 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []int64
	for ; int64(len(data)) >= bs; data = data[bs:] {
		out = append(out, int64(binary.LittleEndian.Uint64(data)))
	}
	return out
}
