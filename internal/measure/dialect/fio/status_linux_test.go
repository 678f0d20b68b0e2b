package fio

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statuses are the documents of --status-interval: the terse lines, the JSON and the text of each, in the order in which they came.
func statuses(text string) (order string, docs []string) {
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "3;"):
			order += "t"
		case line == "{\n":
			order += "j"
		case strings.HasPrefix(line, "Run status group 0"):
			order += "n"
		case strings.HasPrefix(line, "Starting "):
			order += "h"
		}
	}
	return order, document.FindAllString(text, -1)
}

// TestStatusInterval: the outputs come as often as fio's, one after the other in all formats, each of the whole test with what its jobs came to so far.
func TestStatusInterval(t *testing.T) {
	for name, line := range map[string]string{
		"stages": "--rate_iops=100 --time_based --runtime=850ms --name=b --stonewall --filename=f --size=1m --rw=randwrite --ioengine=libaio --iodepth=2 --rate_iops=100 --time_based --runtime=700ms",
		"sleeps": "--rw=randread --thinktime=200ms --time_based --runtime=1500ms --numjobs=2 --group_reporting",
		"verify": "--rw=randwrite --verify=crc32c --rate_iops=200",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--name=a", "--filename=f", "--size=1m", "--status-interval=400ms", "--output-format=normal,terse,json"}, strings.Fields(line)...)
			theirs, ours := peer(t, t.TempDir(), args...), run(t, t.TempDir(), args...)
			a, fios := statuses(theirs)
			b, own := statuses(ours)
			each := map[bool]string{true: "ttjn", false: "tjn"}[name == "stages"]
			whole := regexp.MustCompile(`^h(` + each + `)+$`)
			if !whole.MatchString(a) || !whole.MatchString(b) {
				t.Fatalf("fio's outputs are %s, ours %s, want %s", a, b, whole)
			}
			if len(own) < 3 || len(fios) < 3 {
				t.Fatalf("fio has %d outputs, ours %d, want at least 3", len(fios), len(own))
			}
			if name != "verify" { // Reading back is another run of ours, and a part of fio's.
				// Beginning and end: in between it is chance which jobs have samples.
				sameJSON(t, fios[len(fios)-1], own[len(own)-1])
			}
			last := []int64{0, 0}
			for i, d := range own {
				var doc struct {
					Jobs []struct {
						Read, Write struct {
							N    int64             `json:"total_ios"`
							Clat struct{ N int64 } `json:"clat_ns"`
						}
						User float64 `json:"usr_cpu"`
					}
				}
				if err := json.Unmarshal([]byte(d), &doc); err != nil {
					t.Fatal(err)
				}
				for k, j := range doc.Jobs {
					n := j.Read.N + j.Write.N
					if n < last[k] || j.Read.Clat.N+j.Write.Clat.N != n || j.User > 200 {
						t.Errorf("output %d has %d I/Os of job %d with %d latencies and %.0f %% CPU; before there were %d", i, n, k, j.Read.Clat.N+j.Write.Clat.N, j.User, last[k])
					}
					last[k] = n
				}
				if name == "stages" && i < 2 && (last[0] == 0 || last[1] > 0) {
					t.Errorf("output %d has %v I/Os, want some of the first job only", i, last)
				}
			}
			lines := func(text string) []string {
				_, text, _ = strings.Cut(document.ReplaceAllString(text, ""), "\nStarting ")
				all := strings.SplitAfter(text, "\nRun status group 0")
				return slices.DeleteFunc(shape(all[1]), func(l string) bool {
					return strings.HasPrefix(l, "N;") || strings.HasPrefix(l, " slat") || strings.HasPrefix(l, " bw (") || strings.HasPrefix(l, " iops :") || strings.Contains(l, "prio")
				})
			}
			if d := cmp.Diff(lines(theirs), lines(ours)); d != "" && name == "sleeps" {
				t.Errorf("the second output: fio's -, ours +:\n%s", d)
			}
		})
	}
	for _, bad := range []string{"0", "999us", "soon"} {
		if _, err := Parse([]string{"--status-interval=" + bad, "--name=a", "--size=1m"}, Source{}); err == nil {
			t.Errorf("--status-interval=%s is taken", bad)
		}
	}
}

// TestStatusToAFile: the outputs are in the file as they come, and standard output is empty.
func TestStatusToAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out := run(t, dir, "--name=a", "--filename=f", "--size=1m", "--rate_iops=100", "--time_based", "--runtime=500ms", "--status-interval=200ms", "--output=o", "--output-format=json"); out != "" {
		t.Errorf("standard output has %q", out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "o"))
	if err != nil {
		t.Fatal(err)
	}
	if order, _ := statuses(string(text)); strings.Trim(order, "j") != "" || len(order) < 3 {
		t.Errorf("the file has outputs %s, want three and more, of JSON only", order)
	}
}
