package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"plimsoll/internal/text/clean"
)

// exampleLine finds command lines; what follows three spaces explains.
var exampleLine = regexp.MustCompile(`(?m)^\s*(?:\$ |bin/)?(plimsoll [a-z].*)$`)

// examples lists the command lines of the manual and of the help, once each, without what
// explains them. Forms with brackets or dots are none.
func examples(t *testing.T) (lines []string) {
	t.Helper()
	add := func(text string) {
		for _, m := range exampleLine.FindAllStringSubmatch(text, -1) {
			line, _, _ := strings.Cut(m[1], "  ")
			line = strings.TrimSpace(line)
			form := strings.ContainsAny(line, "[]…") || strings.Contains(line, "...") || strings.Contains(line, " RUN") || regexp.MustCompile(`[a-z]\|[a-z.]+\|`).MatchString(line)
			if !form && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	for _, page := range manual(t) {
		b, err := os.ReadFile(page)
		mustDo(t, err)
		add(string(b))
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		add(c.Example)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).rootCommand())
	return lines
}

// farFile finds a folder that a line writes to, which is not the test's to write to.
var farFile = regexp.MustCompile(`> [~/]\S*/`)

// filledIn replaces what a reader replaces: a key, a path.
func filledIn(line string) string {
	line = strings.NewReplacer("--trial KEY", "--trial mixed/host/dir", "--trial wal/host/dir", "--trial mixed/host/dir",
		"limit explain /var/lib/docker", "limit explain /var/lib", "limit explain PATH", "limit explain /").Replace(line)
	return farFile.ReplaceAllString(line, "> ")
}

// elsewhere are the examples that other tests execute, because they need a state of their own.
var elsewhere = map[string]string{
	"plimsoll run --resume":                          "TestRunInterrupted",
	"plimsoll run --resume last --blocks 40":         "TestRunMoreBlocks",
	"plimsoll run --for 20m":                         "TestBudget",
	"plimsoll run --until-settled --max 1h":          "TestRunUntilSettled",
	"plimsoll run --resume last --until-settled":     "TestRunUntilSettled",
	"plimsoll run caps":                              "TestCaps",
	"plimsoll run caps --quick --only engine=docker": "TestCaps",
	"plimsoll run neighbours":                        "TestNeighbours",
	"plimsoll run neighbours --quick":                "TestNeighbours",
	"plimsoll run site-build --quick":                "TestVMPlans",
	"plimsoll run raw-write --quick":                 "TestVMPlans",
	"plimsoll watch web volume:data --interval 5s":   "TestWatch",

	"plimsoll results export last --share -o mine.json": "TestShare",
	"plimsoll results check theirs.json":                "TestShare",
	"plimsoll results check theirs.json --json":         "TestShare",

	"plimsoll limit cost /dev/sda --qos enable=0": "TestLimitCostReal",

	`plimsoll run site-build --quick --only "engine=host|oci|docker"`: "TestSiteBuild",

	"plimsoll limit cost /dev/sda --qos rpct=95,rlat=5ms,wpct=95,wlat=5ms,min=50,max=150":                                      "TestLimitCostReal",
	"plimsoll limit cost /dev/sda --model rbps=500MB,rseqiops=80000,rrandiops=60000,wbps=400MB,wseqiops=70000,wrandiops=50000": "TestLimitCostReal",
}

// otherTool finds the lines that need files of their own or would take minutes: TestManualToolLines
// executes them.
var otherTool = regexp.MustCompile(`^plimsoll (fio|diskspd|orion|dd|ab|verify|selfcheck)\b`)

// limitLine finds those that need a container: TestLimit executes them, and TestHookRuntime the hook.
var limitLine = regexp.MustCompile(`^plimsoll limit (set|show|clear|verify|hook|explain (web|volume:data))\b`)

// daemonLine finds those that need a policy or a daemon: TestManualDaemon executes them.
var daemonLine = regexp.MustCompile(`^plimsoll daemon\b`)

// checkLine finds those that need a daemon, a virtual machine or two runs that can be compared: TestCheckContainers,
// TestVMSQLite and package compare's tests execute what they do.
var checkLine = regexp.MustCompile(`^plimsoll (check .*--engine (docker|vm)|results compare)\b`)

// TestManualRuns executes every example of plimsoll's own in the manual and the help in a shell, word by
// word, on recorded runs. Those that measure are held to few cells and one block.
func TestManualRuns(t *testing.T) {
	t.Parallel()
	needRun(t)
	self, err := filepath.Abs(os.Args[0])
	mustDo(t, err)
	page, err := os.ReadFile("../../docs/reference/plan.md")
	mustDo(t, err)
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	own, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/reference/plan.md has no plan")
	}
	lines := examples(t)
	if len(lines) < 25 {
		t.Errorf("only %d examples were found: %q", len(lines), lines)
	}
	var runs []subtest
	for _, line := range lines {
		if elsewhere[line] != "" || otherTool.MatchString(line) || limitLine.MatchString(line) || daemonLine.MatchString(line) || checkLine.MatchString(line) || profileLine.MatchString(line) || copyLine.MatchString(line) || volumeLine.MatchString(line) {
			continue
		}
		runs = append(runs, subtest{line, func(t *testing.T) {
			dir, state := t.TempDir(), ""
			if strings.Contains(line, " run") {
				state = t.TempDir()
			} else {
				state, _ = recordedRuns(t)
				db := openState(t, state)
				run, err := db.Run(badRun)
				mustDo(t, err)
				run.PlanText = own
				mustDo(t, db.PutRun(run))
			}
			bin, place := filepath.Join(dir, "bin"), filepath.Join(dir, "srv")
			mustDo(t, os.Mkdir(bin, 0o755))
			mustDo(t, os.Mkdir(place, 0o755))
			// The examples' own plan, smaller; the others' is a built-in one.
			mine := strings.NewReplacer("/srv", place, "256MiB", "4MiB", "runtime: 1s", "runtime: 50ms").Replace(own)
			for _, name := range []string{"mine.yaml", "my.yaml", "my-plan.yaml"} {
				mustDo(t, os.WriteFile(filepath.Join(dir, name), []byte(mine), 0o644))
			}
			mustDo(t, os.WriteFile(filepath.Join(dir, "job.fio"), []byte("[job]\nrw=randread\nsize=4m\nruntime=50ms\ntime_based\nnorandommap\n"), 0o644))
			few := ""
			switch {
			case strings.HasPrefix(line, "plimsoll run job.fio"):
				few = " --blocks 1"
			case strings.HasPrefix(line, "plimsoll run") && strings.Contains(line, ".yaml"):
				few = " --blocks 1"
			case strings.HasPrefix(line, "plimsoll run"):
				few = " --blocks 1 --only workload=append"
			case strings.HasPrefix(line, "plimsoll watch") && !strings.Contains(line, "--once"):
				few = " --count 1" // It goes on until an interrupt.
			case strings.HasPrefix(line, "plimsoll results rm") && !strings.Contains(line, "--yes"):
				few = " --yes" // It asks on a terminal only.
			}
			line := strings.ReplaceAll(line, "/srv/data", place)
			script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\"%s --state %s\n", asPlimsoll, clean.Shell(self), few, clean.Shell(state))
			writeProgram(t, filepath.Join(bin, "plimsoll"), script)

			sh := exec.CommandContext(t.Context(), "sh", "-c", filledIn(line))
			sh.Dir = dir
			sh.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "DOCKER_HOST=unix://"+dir+"/none.sock")
			out, err := sh.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			// Its output goes to the terminal, or to the file that the line names.
			if len(out) > 0 {
				return
			}
			words := strings.Fields(filledIn(line))
			if st, err := os.Stat(filepath.Join(dir, words[len(words)-1])); err != nil || st.Size() == 0 {
				t.Errorf("nothing was said, and nothing written: %v", err)
			}
		}})
	}
	abreast(t, 2, runs)
}
