package fio

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// logColumns are the lines of a log without time and value, each line in its order, or sorted.
func logColumns(t *testing.T, path string, sorted bool) (all []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^[0-9]+, ([0-9]+), (.*)$`)
	for l := range strings.Lines(string(text)) {
		m := line.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		if m == nil {
			t.Fatalf("%s: line %q", path, l)
		}
		all = append(all, m[2])
	}
	if sorted {
		slices.Sort(all)
	}
	return all
}

// TestLogsOfEachIO: without log_avg_msec the logs have a line for each I/O, with fio's columns.
func TestLogsOfEachIO(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"reads":      "--rw=read --size=64k --bs=4k",
		"writes":     "--rw=write --size=64k --bs=16k",
		"map":        "--rw=randread --size=256k --ioengine=libaio --iodepth=8",
		"offsets":    "--rw=randwrite --size=256k --log_offset=1",
		"priorities": "--rw=read --size=64k --log_offset=1 --log_prio=1",
		"trims":      "--rw=trim --size=64k --ioengine=null --log_offset=1",
		"null":       "--rw=randread --filesize=1m --ioengine=null --log_offset=1 --per_job_logs=0",
		"clones":     "--rw=read --size=64k --numjobs=2",
		"averages":   "--rw=read --size=1m --rate_iops=200 --bs=4k --log_avg_msec=300 --log_offset=1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--name=x", "--write_bw_log=l", "--write_iops_log=l", "--write_lat_log=l"}, strings.Fields(line)...)
			theirs, ours := t.TempDir(), t.TempDir()
			peer(t, theirs, args...)
			run(t, ours, args...)
			logs, err := filepath.Glob(filepath.Join(theirs, "l_*.log"))
			if err != nil || len(logs) == 0 {
				t.Fatal(logs, err)
			}
			for _, path := range logs {
				file := filepath.Base(path)
				if strings.HasPrefix(file, "l_slat") {
					continue // Submission is not timed apart.
				}
				a, b := logColumns(t, path, true), logColumns(t, filepath.Join(ours, file), true)
				if name == "averages" { // How many windows there are, and when they end, is chance.
					a, b = slices.Compact(a), slices.Compact(b)
				}
				if !slices.Equal(a, b) || len(a) == 0 {
					t.Errorf("%s: fio wrote\n%s\nours\n%s", file, strings.Join(a, "\n"), strings.Join(b, "\n"))
				}
			}
		})
	}
}
