package fio

import (
	"crypto/sha256"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestScrambledOrNot: without scramble_buffers each I/O in flight writes one block over and over, the same in each run, unless the data is made
// anew for each write. The numbers of equal blocks are fio's.
func TestScrambledOrNot(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"--scramble_buffers=1",
		"--scramble_buffers=0",
		"--scramble_buffers=0 --ioengine=libaio --iodepth=4",
		"--scramble_buffers=0 --loops=2 --numjobs=2 --offset_increment=256k",
		"--scramble_buffers=0 --randrepeat=0",
		"--scramble_buffers=0 --refill_buffers",
		"--scramble_buffers=0 --verify=crc32c --do_verify=0",
		"--scramble_buffers=0 --zero_buffers",
	} {
		var counts [2][]int
		var again [2]bool // the same in a second run
		for i, do := range []func(*testing.T, string, ...string) string{peer, run} {
			var before []byte
			for range 2 {
				dir := t.TempDir()
				do(t, dir, append([]string{"--name=a", "--filename=f", "--rw=write", "--size=256k"}, strings.Fields(line)...)...)
				data, err := os.ReadFile(dir + "/f")
				if err != nil {
					t.Fatal(err)
				}
				again[i] = string(before) == string(data)
				before = data
			}
			equal := map[[32]byte]int{}
			for at := 0; at < len(before); at += 4096 {
				equal[sha256.Sum256(before[at:at+4096])]++
			}
			for _, n := range equal {
				counts[i] = append(counts[i], n)
			}
			slices.Sort(counts[i])
		}
		if again[0] != again[1] && !strings.Contains(line, "verify") || !slices.Equal(counts[0], counts[1]) {
			t.Errorf("%s: equal blocks %v, the same in a second run: %t; fio %v, %t", line, counts[1], again[1], counts[0], again[0])
		}
	}
}
