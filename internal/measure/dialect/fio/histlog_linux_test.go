package fio

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The logs of histograms have fio's names and fields, and hold each I/O up to their last line once.
func TestHistogramLogsAreFios(t *testing.T) {
	t.Parallel()
	logs := func(dir string) map[string]string {
		all := map[string]string{}
		names, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			text, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.Base(n)] = string(text)
		}
		return all
	}
	for name, v := range map[string]struct {
		args  []string
		lines bool
	}{
		"mixed":       {[]string{"--rw=randrw", "--ioengine=null", "--rate_iops=1000", "--time_based", "--runtime=700ms", "--log_hist_msec=100"}, true},
		"coarse":      {[]string{"--rw=randread", "--ioengine=null", "--rate_iops=1000", "--time_based", "--runtime=500ms", "--log_hist_msec=100", "--log_hist_coarseness=4", "--numjobs=2"}, true},
		"joined":      {[]string{"--rw=write", "--ioengine=libaio", "--iodepth=4", "--rate_iops=1000", "--time_based", "--runtime=500ms", "--log_hist_msec=100", "--per_job_logs=0"}, true},
		"no interval": {[]string{"--rw=read"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--name=j", "--size=1m", "--write_hist_log=x"}, v.args...)
			theirDir, ourDir := t.TempDir(), t.TempDir()
			peer(t, theirDir, args...)
			out := run(t, ourDir, args...)
			theirs, ours := logs(theirDir), logs(ourDir)
			if len(theirs) != len(ours) {
				t.Fatalf("fio has %d logs, ours are %d", len(theirs), len(ours))
			}
			sum, fields := int64(0), regexp.MustCompile(`^\d+, [01], 4096(, \d+)+\n$`)
			for file, text := range theirs {
				own, ok := ours[file]
				if !ok || (own != "") != v.lines || (text != "") != v.lines {
					t.Errorf("%s: fio's has %d bytes, ours %d (%v)", file, len(text), len(own), ok)
				}
				for l := range strings.Lines(own) {
					if first, _, _ := strings.Cut(text, "\n"); !fields.MatchString(l) || strings.Count(l, ",") != strings.Count(first, ",") {
						t.Errorf("%s: %d fields, fio has %d: %.60s", file, strings.Count(l, ",")+1, strings.Count(first, ",")+1, l)
					}
					for _, n := range strings.Split(strings.TrimSpace(l), ", ")[3:] {
						k, err := strconv.ParseInt(n, 10, 64)
						if err != nil {
							t.Fatal(err)
						}
						sum += k
					}
				}
			}
			all := int64(0)
			for _, l := range issued(out) {
				for _, n := range strings.Split(l, ",")[:2] {
					k, err := strconv.ParseInt(n, 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					all += k
				}
			}
			if sum > all || v.lines && sum < all/4 {
				t.Errorf("the logs hold %d of %d I/Os", sum, all)
			}
		})
	}
}
