package fio

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The compressible part of what is written is buffer_pattern, as with fio, and as much of it.
func TestCompressWithPatternIsFios(t *testing.T) {
	t.Parallel()
	pattern := bytes.Repeat([]byte("abcdefgh"), 4)
	for _, v := range []struct {
		percent string
		want    float64
	}{{"0", 1}, {"25", 0.25}, {"75", 0.75}, {"100", 1}} {
		for who, do := range map[string]func(*testing.T, string, ...string) string{"fio": peer, "ours": run} {
			dir := t.TempDir()
			do(t, dir, "--name=a", "--filename=f", "--rw=write", "--bs=16k", "--size=64k", "--buffer_pattern=\"abcdefgh\"", "--buffer_compress_percentage="+v.percent, "--buffer_compress_chunk=4096")
			data, err := os.ReadFile(filepath.Join(dir, "f"))
			if err != nil || len(data) != 64<<10 {
				t.Fatalf("%s: %d bytes, %v", who, len(data), err)
			}
			n := 0
			for at := 0; at+len(pattern) <= len(data); at += len(pattern) {
				if bytes.Contains(bytes.Repeat(pattern, 2), data[at:at+len(pattern)]) {
					n += len(pattern)
				}
			}
			if got := float64(n) / float64(len(data)); math.Abs(got-v.want) > 0.03 {
				t.Errorf("%s: %s %%: %.3f of the data is the pattern, want %v", who, v.percent, got, v.want)
			}
		}
	}
}
