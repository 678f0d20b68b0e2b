package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect/line"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/leaktest"
)

// inFolder makes dir the current folder until the end of the test.
func inFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	return dir
}

// TestDialectsRunAnywhere: a line of each tool runs on the host and in a container, and prints what
// the tool does.
func TestDialectsRunAnywhere(t *testing.T) {
	needRun(t)
	t.Parallel() // Its folders are its own.
	for _, tool := range toolLines {
		for _, where := range [][]string{nil, {"--engine", "oci", "--place", "layer"}} {
			t.Run(tool.name+strings.Join(where, ""), func(t *testing.T) {
				t.Parallel()
				dir, state := t.TempDir(), t.TempDir()
				r := apartIn(t, dir, state, slices.Concat([]string{tool.name}, tool.args, where, []string{"--record"})...)
				if r.status != exitDone || !regexp.MustCompile(tool.shape).MatchString(r.stdout+r.stderr) {
					t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
				}
				_, err := os.Stat(filepath.Join(dir, tool.left))
				if (err == nil) != (where == nil) {
					t.Errorf("%s in the current folder: %v", tool.left, err)
				}
				run, trials := records(t, state)
				if run.Plan != tool.name || run.Status != record.Done {
					t.Errorf("recorded %+v", run)
				}
				if len(trials) == 0 || trials[0].Results[0].Ops() == 0 {
					t.Errorf("nothing was done in %d trials", len(trials))
				}
				rep := plimsoll(t, t.Context(), state, "", "report", "last")
				said := unwrap(rep.stdout)
				rep.wantOutput(t, exitDone)
				for _, figure := range []string{`, rate +[0-9.]+`, `, p99 +(n/a|[0-9.]+ (n|µ|m)?s)`} {
					if !regexp.MustCompile(figure).MatchString(said) {
						t.Errorf("the report has no %s:\n%s", figure, rep.stdout)
					}
				}
				if strings.Contains(said, "no ratio ") {
					t.Errorf("the report misses a ratio:\n%s", rep.stdout)
				}
				if where == nil && !strings.Contains(said, "in "+dir) {
					t.Errorf("the report doesn't name the folder of the files, %s:\n%s", dir, rep.stdout)
				}
				checkClean(t, state)
			})
		}
	}
}

func TestFioInPlaceAsJSON(t *testing.T) {
	needRun(t)
	inFolder(t)
	state := t.TempDir()
	leaktest.Check(t, state)
	job := filepath.Join(t.TempDir(), "job.fio")
	text := "[global]\nsize=1m\nbs=4k\nioengine=psync\n[one]\nrw=write\n[two]\nstonewall\nrw=randread\n"
	if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := plimsoll(t, t.Context(), state, "", "fio", job, "--output-format=json", "--engine", "oci", "--place", "tmpfs")
	var out struct {
		Jobs []struct {
			Name string `json:"jobname"`
			Read struct {
				Total int64 `json:"total_ios"`
			} `json:"read"`
			Write struct {
				Total int64 `json:"total_ios"`
			} `json:"write"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || r.status != exitDone {
		t.Fatalf("status %d, %v\n%s%s", r.status, err, r.stdout, r.stderr)
	}
	if len(out.Jobs) != 2 {
		t.Fatalf("%+v, want two jobs", out)
	}
	if n := out.Jobs[0].Write.Total; n != 256 {
		t.Errorf("the first job wrote %d times, want 256", n)
	}
	if j := out.Jobs[1]; j.Name != "two" || j.Read.Total != 256 {
		t.Errorf("%+v, want two with 256 reads", j)
	}
}

// TestDialectsSpareData: no line of another tool writes over what Plimsoll did not make, without leave.
func TestDialectsSpareData(t *testing.T) {
	needRun(t)
	t.Parallel() // Its folders are its own.
	for name, args := range map[string][]string{
		"fio":     strings.Fields("--name=a --filename=theirs --rw=write --size=4k"),
		"diskspd": strings.Fields("-b4K -d1 -W0 -w100 theirs"),
		"dd":      strings.Fields("if=/dev/zero of=theirs bs=4K count=1"),
		"orion":   strings.Fields("-run advanced -matrix point -num_small 1 -num_large 0 -duration 1 -write 100 -testname theirs"),
	} {
		dir, state := t.TempDir(), t.TempDir()
		file := filepath.Join(dir, "theirs")
		data := strings.Repeat("somebody's data\n", 1<<17)
		if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "theirs.lun"), []byte(file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := apartIn(t, dir, state, append([]string{name}, args...)...)
		r.wantError(t, exitUsage, "--destructive")
		if p, _ := os.ReadFile(file); string(p) != data {
			t.Errorf("%s wrote over the file", name)
		}
		r = apartIn(t, dir, state, slices.Concat([]string{name}, args, []string{"--destructive", file + "s"})...)
		r.wantError(t, exitUsage, "--destructive "+file+"s: is not a file of this command line")
		if p, _ := os.ReadFile(file); string(p) != data {
			t.Errorf("%s with leave for another file wrote over this one", name)
		}
		// Any spelling names the file, that of the refusal first of all. All tools ask the same function; the others of them take a second a line.
		leaves := []string{file, "theirs", "./theirs", dir + "/../" + filepath.Base(dir) + "//theirs"}
		if name != "dd" {
			leaves = leaves[:1]
		}
		for _, leave := range leaves {
			if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			r = apartIn(t, dir, state, slices.Concat([]string{name}, args, []string{"--destructive", leave})...)
			if p, _ := os.ReadFile(file); r.status != exitDone || string(p) == data {
				t.Errorf("%s with leave for %s: status %d, %s", name, leave, r.status, r.stderr)
			}
		}
	}
}

// TestDialectsRefuse: what can't be meant, or can't be done here, is refused before anything is made.
func TestDialectsRefuse(t *testing.T) {
	var said transcript
	for _, line := range []string{
		"fio --name=a --iodpeth=3",
		"fio /nonexistent/job.fio",
		// Not after the work whose output is lost then.
		"fio --name=a --rw=write --size=1m --ioengine=psync --output=none/out.json",
		"fio --name=a --rw=write --size=1m --ioengine=psync --write_bw_log=none/a --log_avg_msec=100",
		"fio --name=a --rw=write --size=1m --ioengine=psync --output=out --filename=/dev/null/a",
		"diskspd -b4Q x",
		"orion -run simpel",
		"dd if=/dev/zero",
		"dd if=nosuch of=/dev/null",
		"ab -n x http://127.0.0.1/",
		"dd if=/dev/zero of=x count=1 --place cellar",
		"dd if=/dev/zero of=x count=1 --engine",
		"dd if=/dev/zero of=x count=1 --engine lxc",
		"dd if=/dev/zero of=x count=1 --place dir:/nonexistent",
		"dd if=/dev/zero of=x count=1 --engine oci --place bind:/etc/passwd",
		"dd if=/dev/zero of=x count=1 --engine host --place volume",
		"dd if=/dev/zero of=x count=1 --network host",
	} {
		dir := inFolder(t)
		args := strings.Fields(line)
		r := plimsoll(t, t.Context(), t.TempDir(), "", args...)
		r.stderr = strings.ReplaceAll(r.stderr, dir, "DIR")
		said.add(args, r)
		if left, _ := os.ReadDir("."); len(left) > 0 {
			t.Errorf("%v left %v", args, left)
		}
	}
	said.check(t, "dialect-refuses.txt")
}

// TestOrionInAPlaceNeedsASize: what the worker says is known for what it is.
func TestOrionInAPlaceNeedsASize(t *testing.T) {
	dir := inFolder(t)
	if err := os.WriteFile("t.lun", []byte("data\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := plimsoll(t, t.Context(), t.TempDir(), "", "orion", "-run", "simple", "-testname", "t", "--place", "dir:"+dir)
	r.wantError(t, exitFailure, "data does not exist; give a size to have it made: add --lun-size SIZE")
}

func TestABCommand(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) }))
	defer server.Close()
	r := plimsoll(t, t.Context(), t.TempDir(), "", "ab", "-n", "20", "-c", "2", server.URL+"/")
	r.wantError(t, exitDone, "closed loop")
	r.wantOutput(t, exitDone, "Complete requests:      20\n")
}

func TestDialectHelp(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range regexp.MustCompile(`(?m)^  (--[a-z-]+)`).FindAllStringSubmatch(line.Help(line.Tool{})+line.Help(line.Tool{Web: true}), -1) {
		if !strings.Contains(string(page), "`"+flag[1]) {
			t.Errorf("docs/reference/tools.md does not have %s", flag[1])
		}
	}
	for _, tool := range line.Tools() {
		r := plimsoll(t, t.Context(), t.TempDir(), "", tool.Name, "--help")
		r.wantOutput(t, exitDone, "--engine host|oci|docker", tool.Example)
	}
}

// TestDialectOfWordsNeedsNoWorker: a line that asks fio for its version, or what is wrong with a job file, makes nothing in the state folder, and needs
// none that can be written: programs ask it first, as any user. It installed a worker there.
func TestDialectOfWordsNeedsNoWorker(t *testing.T) {
	for _, arg := range [][]string{{"--version"}, {"--idle-prof=calibrate"}, {"--parse-only", "--name=a", "--rw=read", "--size=1m"}} {
		state := filepath.Join(t.TempDir(), "none")
		if r := plimsoll(t, t.Context(), state, "", append([]string{"fio"}, arg...)...); r.status != exitDone {
			t.Errorf("%q: status %d: %s", arg, r.status, r.stderr)
		}
		if _, err := os.Stat(state); err == nil {
			t.Errorf("%q made a state folder", arg)
		}
	}
}

// TestDialectThatMeasuresNothingIsNoRun: a line that can't begin is not the last run.
func TestDialectThatMeasuresNothingIsNoRun(t *testing.T) {
	needRun(t)
	inFolder(t)
	state := t.TempDir()
	r := plimsoll(t, t.Context(), state, "", "dd", "if=/dev/zero", "of=x", "count=1", "--engine", "oci", "--place", "volume", "--record")
	if r.status != exitCannot {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	if r := plimsoll(t, t.Context(), state, "", "results", "ls"); strings.Contains(r.stdout, "dd") {
		t.Errorf("recorded: %s", r.stdout)
	}
}
