package fio

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/testkit/golden"
)

// document is a JSON text among others.
var document = regexp.MustCompile(`(?ms)^\{$.*?^\}\n`)

// aSizeOf is the size in a log's line without its time and value.
var aSizeOf = regexp.MustCompile(`, \d+, `)

// prioritiesOf are the priorities of each job and direction of a JSON text, in its order, and that their latencies are those of all.
func prioritiesOf(t *testing.T, text string) (all []string) {
	t.Helper()
	type lat struct{ N int }
	type direction struct {
		Clat, Lat *lat
		Prios     []struct {
			Class int `json:"prioclass"`
			Level int `json:"prio"`
			Clat  lat `json:"clat_ns"`
			Lat   lat `json:"lat_ns"`
		}
		ClatNs lat `json:"clat_ns"`
	}
	var d struct {
		Jobs []struct {
			Name               string `json:"jobname"`
			Read, Write, Mixed direction
		}
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for _, j := range d.Jobs {
		for what, o := range map[string]direction{"read": j.Read, "write": j.Write, "mixed": j.Mixed} {
			line, n := j.Name+" "+what, 0
			for _, p := range o.Prios {
				line += fmt.Sprintf(" %d/%d", p.Class, p.Level)
				n += p.Clat.N + p.Lat.N
			}
			if len(o.Prios) > 0 && n != o.ClatNs.N {
				t.Errorf("%s: %d of %d latencies have a priority", line, n, o.ClatNs.N)
			}
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return all
}

// small is one of fio's examples with a file of 8 MiB instead of a disk, and sixteenths of its sizes.
func small(t *testing.T, name string) string {
	t.Helper()
	for path, text := range fiosExamples(t) {
		if filepath.Base(path) == name {
			return strings.NewReplacer("/dev/sda", "f\nsize=8m", "64k", "4k", "1024k", "64k", "128k", "8k").Replace(text)
		}
	}
	t.Fatalf("there is no example %s", name)
	return ""
}

// TestPrioritiesAreFios: jobs with I/O priorities beside fio: the outputs have the same priorities in the same order under the same keys,
// the same lines, and the logs the same column.
func TestPrioritiesAreFios(t *testing.T) {
	files := map[string]string{
		"percentage": small(t, "cmdprio-percentage.fio"), "bssplit": small(t, "cmdprio-bssplit.fio"),
	}
	for name, text := range maps.Clone(files) {
		files[name+" of a ring"] = strings.ReplaceAll(text, "libaio", "io_uring")
	}
	const job = "[a]\nfilename=f\nsize=1m\ndirect=1\nioengine=libaio\niodepth=4\nrw=randrw\nwrite_lat_log=l\n"
	for name, more := range map[string]string{
		"reads only":      "cmdprio_percentage=30,\ncmdprio_class=2,3\ncmdprio=5\n",
		"both":            "cmdprio_percentage=30,60\ncmdprio_class=2,3\ncmdprio=5,1\nprio=4\nlog_prio=1\nlog_offset=1\n",
		"default class":   "cmdprio_percentage=50\n",
		"always":          "cmdprio_percentage=100\n",
		"as the job":      "cmdprio_percentage=50\ncmdprio_class=2\ncmdprio=4\nprio=4\n",
		"clipped":         "cmdprio_bssplit=4k/30/7/9:4k/50/0/2\nlog_prio=1\n",
		"one size":        "bssplit=4k/50:8k/50\ncmdprio_bssplit=8k/60:4k/\nlog_prio=1\n",
		"percentiles":     "cmdprio_percentage=50\nlat_percentiles=1\nclat_percentiles=0\npercentile_list=50:99\n",
		"no percentiles":  "cmdprio_percentage=50\nclat_percentiles=0\n",
		"mixed":           "cmdprio_percentage=50,\nunified_rw_reporting=mixed\n",
		"both directions": "cmdprio_percentage=,50\nunified_rw_reporting=both\n",
		"own":             "prio=5\nprioclass=3\nlog_prio=1\n",
		"real time":       "prioclass=1\n",
		"averages":        "prioclass=1\nlog_prio=1\nlog_avg_msec=300\nrate_iops=200\n",
		"grouped":         "prio=5\ngroup_reporting\n[b]\nfilename=f\nsize=1m\nrw=read\ngroup_reporting\nprio=2\n",
		"grouped alike":   "prio=5\ngroup_reporting\n[b]\nfilename=f\nsize=1m\nrw=read\ngroup_reporting\nprio=5\n",
		"grouped apart":   "cmdprio_percentage=50\ngroup_reporting\nnumjobs=2\n[b]\nfilename=f\nsize=1m\nrw=read\nprio=5\ngroup_reporting\n",
	} {
		files[name] = job + more
	}
	for name, text := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			theirs, ours := t.TempDir(), t.TempDir()
			for _, dir := range []string{theirs, ours} {
				if err := os.WriteFile(filepath.Join(dir, "j.fio"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			a, b := peer(t, theirs, "j.fio", "--output-format=normal,json+"), run(t, ours, "j.fio", "--output-format=normal,json+")
			sameJSON(t, document.FindString(a), document.FindString(b))
			// Submission is not timed apart, and how many samples and shares there are is chance.
			chance := func(l string) bool {
				return strings.HasPrefix(l, " slat (") || strings.HasPrefix(l, " bw (") || strings.HasPrefix(l, " iops :") || strings.HasPrefix(l, "  lat (T)")
			}
			lines := func(text string) []string {
				all := slices.DeleteFunc(shape(document.ReplaceAllString(text, "")), chance)
				for i := range all {
					all[i] = strings.Replace(all[i], "mixed: IOPS=N, BW=N (N)", "mixed: IOPS=N, BW=S/s (S/s)", 1)
				}
				return append(all, prioritiesOf(t, document.FindString(text))...)
			}
			if d := cmp.Diff(lines(a), lines(b)); d != "" {
				t.Errorf("fio's -, ours +:\n%s", d)
			}
			logs, err := filepath.Glob(filepath.Join(theirs, "*.log"))
			if err != nil || len(logs) == 0 {
				t.Fatal(logs, err)
			}
			offset := regexp.MustCompile(`^(\d, \d+), \d+, `)
			// Which I/O has which size and priority is drawn; that there is each is not.
			kinds := func(l []string) []string {
				for i := range l {
					l[i] = offset.ReplaceAllString(l[i], "$1, O, ")
				}
				slices.Sort(l)
				return slices.Compact(l)
			}
			for _, path := range logs {
				if strings.Contains(path, "_slat.") {
					continue
				}
				a, b := kinds(logColumns(t, path, false)), kinds(logColumns(t, filepath.Join(ours, filepath.Base(path)), false))
				// Where the file ends fio does other sizes.
				a = slices.DeleteFunc(a, func(l string) bool {
					size := aSizeOf.FindString(l)
					return !slices.ContainsFunc(b, func(o string) bool { return aSizeOf.FindString(o) == size })
				})
				if !slices.Equal(a, b) || len(a) == 0 {
					t.Errorf("%s: fio wrote\n%s\nours\n%s", filepath.Base(path), strings.Join(a, "\n"), strings.Join(b, "\n"))
				}
			}
		})
	}
}

// sameJSON compares the keys of two JSON texts, but for disks, which may have done nothing, and times of submission.
func sameJSON(t *testing.T, theirs, ours string) {
	t.Helper()
	a, b := map[string]string{}, map[string]string{}
	keys(t, theirs, a)
	keys(t, ours, b)
	takeOwn(b)
	for _, m := range []map[string]string{a, b} {
		maps.DeleteFunc(m, func(k, _ string) bool { return strings.HasPrefix(k, "/disk_util") || strings.Contains(k, "/slat_ns") })
	}
	if !maps.Equal(a, b) {
		for k := range a {
			if b[k] == "" {
				t.Errorf("fio has %s", k)
			}
		}
		for k := range b {
			if a[k] != b[k] {
				t.Errorf("%s is %q, fio's %q", k, b[k], a[k])
			}
		}
	}
}

// TestPrioritiesReachTheKernel: the system calls of a line have the priorities of fio's.
func TestPrioritiesReachTheKernel(t *testing.T) {
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Fatalf("%v: run scripts/setup test", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	submitted := regexp.MustCompile(`aio_lio_opcode=IOCB_CMD_P(READ|WRITE)(, aio_reqprio=\d+)?,[^}]*?(aio_flags=IOCB_FLAG_IOPRIO)?}`)
	own := regexp.MustCompile(`ioprio_set\(IOPRIO_WHO_PROCESS, 0, ([^)]*)\)`)
	for _, line := range []string{
		"--ioengine=libaio --rw=randrw --iodepth=4 --cmdprio_percentage=40,70 --cmdprio_class=1,3 --cmdprio=2,5",
		"--ioengine=libaio --rw=randread --iodepth=4 --bssplit=4k/50:8k/50 --cmdprio_bssplit=8k/50/3/1:8k/50/2/6",
		"--ioengine=psync --rw=read --prioclass=3 --prio=6",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--name=a", "--filename=f", "--size=1m", "--direct=1"}, strings.Fields(line)...)
			calls := func(env []string, command ...string) (all []string) {
				log := filepath.Join(t.TempDir(), "trace")
				c := exec.Command("strace", append([]string{"-f", "-v", "-s0", "-o", log, "-e", "trace=io_submit,ioprio_set"}, command...)...)
				c.Dir, c.Env = t.TempDir(), append(os.Environ(), env...)
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("strace %s: %v\n%s", command, err, out)
				}
				text, err := os.ReadFile(log)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range submitted.FindAllStringSubmatch(string(text), -1) {
					all = append(all, strings.Join(m[1:], " "))
				}
				if strings.Contains(line, "--prio=") {
					for _, m := range own.FindAllStringSubmatch(string(text), -1) {
						all = append(all, m[1])
					}
					all = all[:1] // At its end a thread gets back what it had.
				}
				slices.Sort(all)
				return slices.Compact(all)
			}
			text, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			a := calls(nil, append([]string{fio}, args...)...)
			b := calls([]string{tracedLine + "=" + string(text)}, self, "-test.run=^TestTracedLine$", "-test.count=1")
			if !slices.Equal(a, b) || len(a) == 0 {
				t.Errorf("fio's calls have\n%s\nours\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
			}
		})
	}
}

// TestPriorityMistakes: what fio refuses of priorities is refused, and says why.
func TestPriorityMistakes(t *testing.T) {
	var sheet golden.Sheet
	for _, line := range []string{
		"--cmdprio_percentage=101",
		"--cmdprio_class=0",
		"--cmdprio=8",
		"--prioclass=4",
		"--prio=8",
		"--cmdprio_bssplit=",
		"--cmdprio_bssplit=x/5",
		"--cmdprio_bssplit=4k/5/1",
		"--cmdprio_bssplit=4k/60:4k/60 --ioengine=libaio",
		"--cmdprio_bssplit=4k/60 --cmdprio_percentage=5",
		"--cmdprio_percentage=5 --ioengine=psync",
		"--cmdprio_percentage=5 --ioengine=libaio --rw=randtrimwrite",
	} {
		_, err := Parse(append([]string{"--name=x", "--size=1m"}, strings.Fields(line)...), Source{})
		var usage *dialect.UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%s: %v, want a UsageError", line, err)
		}
		sheet.Add(line, err)
	}
	sheet.Check(t, "refused-priorities.txt")
}
