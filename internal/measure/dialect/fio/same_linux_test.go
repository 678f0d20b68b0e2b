package fio

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect/dialecttest"
)

// madeFiles are the files in dir with their sizes.
func madeFiles(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		st, err := e.Info()
		name, _ := filepath.Rel(dir, path)
		all[name] = st.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFilesAreWhereFioMakesThem: a job's name may be a path, whose folders are made, and a folder comes before every name.
func TestFilesAreWhereFioMakesThem(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"--name=DIR/sub/test --rw=write --size=64k",
		"--name=sub/test --rw=read --size=64k --nrfiles=2 --numjobs=2",
		"--name=DIR/log.log --rw=write --size=64k --filename_format=$jobname-$jobnum",
		"--name=a --rw=read --size=64k --filename=one/two/three",
		"--name=a --rw=write --size=64k --directory=DIR --filename=/there:too",
		"--name=sub/a --rw=write --size=64k --directory=DIR",
		"-direct=1 -rw=write -bs=4k -size=64k -numjobs=1 -name=DIR/fio_test1.log",
	} {
		ours, theirs := t.TempDir(), t.TempDir()
		in := func(dir string) []string { return strings.Fields(strings.ReplaceAll(line, "DIR", dir)) }
		peer(t, theirs, in(theirs)...)
		run(t, ours, in(ours)...)
		// In what was made below DIR there is its own path, where a folder comes before it.
		if a, b := madeFiles(t, theirs), madeFiles(t, ours); !maps.Equal(a, b) || len(a) == 0 {
			t.Errorf("%s: files %v, fio makes %v", line, b, a)
		}
	}
	test, err := Parse(strings.Fields("--name=a --rw=write --size=64k --directory=missing"), Source{})
	if err != nil {
		t.Fatal(err)
	}
	if err := test.Run(t.Context(), &dialecttest.Local{Dir: t.TempDir()}, io.Discard, io.Discard, RunOptions{}); err == nil || !strings.Contains(err.Error(), "directory=missing is not a directory") {
		t.Errorf("a directory that isn't there: %v", err)
	}
}

// TestNameOfADevice: a job of that name works on it, and only on this machine.
func TestNameOfADevice(t *testing.T) {
	src := Source{Device: func(path string) bool { return path == "/dev/x" }}
	parse := func(line string) *Test {
		test, err := Parse(strings.Fields(line), src)
		if err != nil {
			t.Fatal(err)
		}
		return test
	}
	for line, want := range map[string]string{
		"--name=/dev/x --rw=read":                         "/dev/x",
		"--name=/dev/x --rw=read --numjobs=2":             "/dev/x",
		"--name=/dev/y --rw=read --size=1m":               "/dev/y.0.0",
		"--name=/dev/x --rw=read --filename=f":            "f",
		"--name=/dev/x --rw=read --size=1m --nrfiles=2":   "/dev/x.0.0",
		"--name=x --rw=read --size=1m --directory=/dev/x": "/dev/x/x.0.0",
	} {
		if got := parse(line).stages[0][0].files[0]; got != want {
			t.Errorf("%s: works on %s, want %s", line, got, want)
		}
	}
	if _, err := Parse(strings.Fields("--name=/dev/y --rw=read"), src); err == nil || !strings.Contains(err.Error(), "give a size") {
		t.Errorf("no size: %v", err)
	}
	if err := parse("--name=/dev/x --rw=read").Run(t.Context(), &place{}, io.Discard, io.Discard, RunOptions{}); err == nil || !strings.Contains(err.Error(), "runs in a place") {
		t.Errorf("a device in a place: %v", err)
	}
}

// figuresLeftOut are what no two runs have in common.
var figuresLeftOut = regexp.MustCompile(`[0-9.]+`)

// TestBasesAreFios: kb_base is how what comes behind it on a line is read, and all of its section of a file; it says which units come
// first in the summary.
func TestBasesAreFios(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"section": "[global]\nioengine=null\nfilename=x\n[a]\nbs=4k\nrw=write\nsize=4m\nkb_base=1000\n",
		"global":  "[global]\nioengine=null\nfilename=x\nbs=4k\nkb_base=1000\n[a]\nrw=write\nsize=4m\n",
		"apart":   "[global]\nioengine=null\nfilename=x\nbs=4k\nsize=4m\n[a]\nrw=write\nkb_base=1000\n",
	}
	for name, args := range map[string][]string{
		"behind": strings.Fields("--filename=x --rw=write --ioengine=null --name=a --bs=4k --kb_base=1000 --size=4m"),
		"before": strings.Fields("--kb_base=1000 --filename=x --rw=write --ioengine=null --name=a --bs=4k --size=4m"),
		"other":  strings.Fields("--filename=x --rw=write --ioengine=null --name=a --bs=4k --size=4m"),
		"two":    strings.Fields("--filename=x --rw=write --ioengine=null --size=4m --group_reporting --name=a --name=b --kb_base=1000"),
		"first":  strings.Fields("--filename=x --rw=write --ioengine=null --size=4m --group_reporting --name=a --kb_base=1000 --name=b --kb_base=1024"),
		"file":   {"section"}, "in global": {"global"}, "apart": {"apart"},
	} {
		var said [2][]string
		for i, do := range []func(*testing.T, string, ...string) string{peer, run} {
			dir := t.TempDir()
			for file, text := range files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, line := range strings.Split(do(t, dir, args...), "\n") {
				if strings.Contains(line, ": rw=") {
					said[i] = append(said[i], line) // Block sizes are figures that they have in common.
				}
				if strings.Contains(line, "BW=") || strings.Contains(line, " bw=") {
					line = regexp.MustCompile(`[kKMG](i?B)`).ReplaceAllString(line, "_$1")
					said[i] = append(said[i], figuresLeftOut.ReplaceAllString(line, "N"))
				}
			}
		}
		if !slices.Equal(said[0], said[1]) {
			t.Errorf("%s: fio says\n%s\nhere:\n%s", name, strings.Join(said[0], "\n"), strings.Join(said[1], "\n"))
		}
	}
}

// TestGroupsHaveTheLastJobsPercentiles: where jobs are reported together, what the last of them asks for is shown, as in fio.
func TestGroupsHaveTheLastJobsPercentiles(t *testing.T) {
	t.Parallel()
	line := strings.Fields("--ioengine=null --filename=x --rw=randread --size=1m --group_reporting --output-format=json --name=a --percentile_list=50:90 --name=b --percentile_list=99.999:99:1")
	var said [2]map[string][]string
	for i, do := range []func(*testing.T, string, ...string) string{peer, run} {
		var out struct {
			Jobs []struct {
				Read map[string]json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(do(t, t.TempDir(), line...)), &out); err != nil {
			t.Fatal(err)
		}
		said[i] = map[string][]string{}
		for _, j := range out.Jobs {
			for key, raw := range j.Read {
				var h struct{ Percentile map[string]any }
				if json.Unmarshal(raw, &h) == nil && h.Percentile != nil {
					said[i][key] = slices.Sorted(maps.Keys(h.Percentile))
				}
			}
		}
	}
	if len(said[0]) == 0 || !maps.EqualFunc(said[0], said[1], slices.Equal) {
		t.Errorf("percentiles of %v, fio has %v", said[1], said[0])
	}
}

// TestBlockSizesOfOneDirection: what a list leaves out stays as it was.
func TestBlockSizesOfOneDirection(t *testing.T) {
	for line, want := range map[string][2]int64{
		"--bs=,64k":                {4096, 65536},
		"--bs=8k --bs=,64k":        {8192, 65536},
		"--bs=8k,":                 {8192, 4096},
		"--bs=1k,2k,4k --bs=8k,,":  {8192, 2048},
		"--bs=8k,16k --bs=,32k,1m": {8192, 32768},
	} {
		test, err := Parse(append([]string{"--name=a", "--rw=rw", "--size=1m"}, strings.Fields(line)...), Source{})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if b := test.jobs[0].bs; b.read != want[0] || b.write != want[1] {
			t.Errorf("%s: blocks of %d and %d, want %v", line, b.read, b.write, want)
		}
	}
}
