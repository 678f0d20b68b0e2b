package fio

import (
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/measure/dialect/dialecttest"
)

// TestEachPassComesFromTheDisk: a buffered job begins each of its passes without the page cache, as fio's does. What came from the disk is
// compared with the bytes that were read, for both programs.
func TestEachPassComesFromTheDisk(t *testing.T) {
	for _, c := range []struct {
		name, line string
		cold       bool // each pass comes from the disk
	}{
		{"loops", "--rw=read --bs=64k --size=8m --loops=6", true},
		{"time_based", "--rw=randread --bs=64k --size=4m --time_based --runtime=300ms", true},
		{"io_size", "--rw=randread --bs=64k --size=4m --io_size=24m", true},
		{"a short io_size", "--rw=read --bs=64k --size=16m --io_size=4m --loops=4", true},
		{"libaio", "--rw=randread --bs=64k --size=4m --loops=6 --ioengine=libaio --iodepth=8", true},
		{"files", "--rw=read --bs=64k --size=8m --nrfiles=4 --loops=6", true},
		{"without a map", "--rw=randread --bs=64k --size=4m --norandommap --time_based --runtime=300ms", false},
		{"invalidate=0", "--rw=read --bs=64k --size=4m --loops=8 --invalidate=0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"--name=a", "--ioengine=psync"}, strings.Fields(c.line)...)
			dir := t.TempDir()
			peer(t, dir, append(args, "--number_ios=1")...) // It makes the files.
			cmd := exec.Command("fio", append(args, "--thread", "--output-format=json")...)
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("fio: %v", err)
			}
			var d struct {
				Jobs []struct {
					Read struct {
						Bytes int64 `json:"io_bytes"`
					}
				}
			}
			if err := json.Unmarshal(out, &d); err != nil {
				t.Fatal(err)
			}
			blocks := cmd.ProcessState.SysUsage().(*syscall.Rusage).Inblock // of 512 bytes (getrusage(2))
			theirs := float64(blocks*512) / float64(d.Jobs[0].Read.Bytes)

			test, err := Parse(args, fileSource(dir))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // The first run makes the files.
				s := &dialecttest.Local{Dir: dir}
				if err := test.Run(t.Context(), s, io.Discard, io.Discard, RunOptions{}); err != nil {
					t.Fatal(err)
				}
				res := s.Results[0]
				ours := float64(res.ProcRead) / float64(res.Stage[0].Classes[0].Bytes)
				if (ours > 0.9) == c.cold && (theirs > 0.9) == c.cold {
					return
				}
				t.Logf("of what was read came from the disk: %.2f, fio's %.2f", ours, theirs)
			}
			t.Errorf("want each pass from the disk: %t", c.cold)
		})
	}
}
