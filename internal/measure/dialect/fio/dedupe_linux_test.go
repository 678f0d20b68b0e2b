package fio

import (
	"crypto/sha256"
	"math"
	"os"
	"strings"
	"testing"
)

// TestWorkingSets: of what jobs with dedupe_mode=working_set write, as many blocks are different as with fio, in each file and in both.
func TestWorkingSets(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"--dedupe_mode=working_set --dedupe_working_set_percentage=50 --dedupe_percentage=50",
		"--dedupe_mode=working_set --dedupe_working_set_percentage=50 --dedupe_percentage=50 --dedupe_global=1",
		"--dedupe_mode=working_set --dedupe_percentage=80",
		"--dedupe_mode=working_set --dedupe_percentage=90 --dedupe_working_set_percentage=10 --dedupe_global=1 --buffer_compress_percentage=50",
		"--dedupe_percentage=80 --dedupe_mode=repeat",
	} {
		var found [2][3]float64
		for i, do := range []func(*testing.T, string, ...string) string{peer, run} {
			dir := t.TempDir()
			do(t, dir, append(append([]string{"--size=8m", "--rw=write", "--bs=4k"}, strings.Fields(line)...), "--name=a", "--name=b")...)
			both := map[[32]byte]bool{}
			for k, name := range []string{"a.0.0", "b.0.0"} {
				data, err := os.ReadFile(dir + "/" + name)
				if err != nil {
					t.Fatal(err)
				}
				one := map[[32]byte]bool{}
				for at := 0; at < len(data); at += 4096 {
					s := sha256.Sum256(data[at : at+4096])
					one[s], both[s] = true, true
				}
				found[i][k] = float64(len(one)) / 2048
			}
			found[i][2] = float64(len(both)) / 4096
		}
		for k := range found[0] {
			if math.Abs(found[0][k]-found[1][k]) > 0.04 {
				t.Errorf("%s: the shares of different blocks are %.2f, fio's %.2f", line, found[1], found[0])
				break
			}
		}
	}
	for line, want := range map[string]string{
		"--filename=f --size=50%":                   "needs a size in bytes",
		"--size=1m --refill_buffers=0":              "contradicts refill_buffers=0",
		"--size=1m --dedupe_mode=something --bs=4k": "working_set",
	} {
		args := append([]string{"--name=a", "--rw=write", "--dedupe_percentage=50", "--dedupe_mode=working_set"}, strings.Fields(line)...)
		if _, err := Parse(args, Source{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
