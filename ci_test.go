package plimsoll_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// tree is a copy of the files that CI's scripts need, with stand-ins for commands first in the PATH.
type tree struct {
	t        *testing.T
	dir, bin string
}

func newTree(t *testing.T, files ...string) *tree {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a Linux is needed")
	}
	tr := &tree{t: t, dir: t.TempDir(), bin: t.TempDir()}
	for _, name := range append(files, "scripts/skips/main.go", "scripts/reruns/main.go", "scripts/internal/testlist/testlist.go") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tr.write(name, string(b))
	}
	tr.write("go.mod", "module plimsoll\n\ngo 1.26\n")
	return tr
}

// write makes an executable file in the tree.
func (tr *tree) write(name, text string) {
	tr.t.Helper()
	path := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		tr.t.Fatal(err)
	}
}

// stand replaces a command by a script.
func (tr *tree) stand(command, script string) {
	tr.t.Helper()
	if err := os.WriteFile(filepath.Join(tr.bin, command), []byte("#!/bin/bash\n"+script+"\n"), 0o755); err != nil {
		tr.t.Fatal(err)
	}
}

// run runs a script of the tree; its arguments follow its name.
func (tr *tree) run(script string, env ...string) (string, error) {
	argv := strings.Fields(script)
	cmd := exec.Command(filepath.Join(tr.dir, argv[0]), argv[1:]...)
	// Without paths in it, the next tree's go run finds it in the cache.
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-trimpath", "PATH="+tr.bin+":"+os.Getenv("PATH")), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestCIRefusesSkips: in each round of CI on this machine, a skipped test that is not on the round's list fails the round. A
// stand-in for make writes the logs of a round.
func TestCIRefusesSkips(t *testing.T) {
	log := func(test string) string {
		return fmt.Sprintf(`{"Action":"output","Package":"plimsoll/internal/measure/engine/docker","Test":%q,"Output":"    x_test.go:1: it is needed\n"}`+"\n"+
			`{"Action":"skip","Package":"plimsoll/internal/measure/engine/docker","Test":%q}`+"\n", test, test)
	}
	// Go's own cache would be in the same folder as the stand-in for Docker's.
	b, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache := strings.TrimSpace(string(b))
	for _, tt := range []struct {
		name, plain, current string
		bad                  bool
	}{
		{"both listed", "TestDockerCurrent", "TestDockerOwnerProcess", false},
		{"the first round", "TestOCISuite", "TestDockerOwnerProcess", true},
		{"the current Docker Engine", "TestDockerCurrent", "TestDockerCurrent", true},
	} {
		tr := newTree(t, ".ci/run", ".ci/may-skip", ".ci/may-skip-current-docker", ".ci/may-not-rerun")
		tr.write("logs/test", log(tt.plain))
		tr.write("logs/test-current-docker", log(tt.current))
		tr.stand("make", `mkdir -p out; [ ! -e "logs/$1" ] || cp "logs/$1" "out/$1.json"`)
		// TestGuestRefusesSkips is about the guest; if qemu is installed, a stand-in for make replaces it here.
		tr.write("cache/plimsoll/current-docker/stamp", "")
		out, err := tr.run(".ci/run", "XDG_CACHE_HOME="+filepath.Join(tr.dir, "cache"), "GOCACHE="+cache)
		if (err != nil) != tt.bad || strings.Contains(out, "MAY NOT SKIP HERE") != tt.bad {
			t.Errorf("%s: %v, want an error: %v\n%s", tt.name, err, tt.bad, out)
		}
	}
}

// TestCIRefusesSecondTries: in each round, a second try may not hide leftovers, or a fault that ended in another way than promised;
// it may hide other failures.
func TestCIRefusesSecondTries(t *testing.T) {
	const log = `{"Action":"output","Package":"plimsoll/cmd/plimsoll","Test":%[1]q,"Output":"    x_test.go:1: %[2]s\n"}
{"Action":"fail","Package":"plimsoll/cmd/plimsoll","Test":%[1]q}
{"Action":"pass","Package":"plimsoll/cmd/plimsoll","Test":%[1]q}
`
	b, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache := strings.TrimSpace(string(b))
	for _, tt := range []struct {
		round, test, said string
		bad               bool
	}{
		{"test", "TestReportIsWritten", "took 3 s", false},
		{"test", "TestNothingIsLeft", "took 3 s", true},
		{"test", "TestRunKilled", "status 1", true},
		{"test", "TestRunVanished", "status 1", true},
		{"test", "TestRunInterrupted", "status 1", true},
		{"test", "TestFaults/NoSpace", "status 1", true},
		{"test", "TestDocsRun", "left behind:", true},
		{"test", "TestDocsRun", "the daemon holds {1 0 0}, before {0 0 0}", true},
		{"test-current-docker", "TestReportIsWritten", "took 3 s", false},
		{"test-current-docker", "TestRunEnd/DaemonGone", "status 1", true},
	} {
		tr := newTree(t, ".ci/run", ".ci/may-skip", ".ci/may-skip-current-docker", ".ci/may-not-rerun")
		tr.write("logs/"+tt.round, fmt.Sprintf(log, tt.test, tt.said))
		tr.write("reports/"+tt.round, "plimsoll/cmd/plimsoll."+tt.test+": 2 runs, 1 failures\n")
		tr.stand("make", `mkdir -p out; : >"out/$1.json"
[ ! -e "logs/$1" ] || cp "logs/$1" "out/$1.json"
[ ! -e "reports/$1" ] || cp "reports/$1" "out/rerun-$1.txt"`)
		tr.write("cache/plimsoll/current-docker/stamp", "")
		out, err := tr.run(".ci/run", "XDG_CACHE_HOME="+filepath.Join(tr.dir, "cache"), "GOCACHE="+cache)
		if (err != nil) != tt.bad || strings.Contains(out, "MAY NOT PASS BY A SECOND TRY") != tt.bad {
			t.Errorf("%s, %s, %q: %v, want an error: %v\n%s", tt.round, tt.test, tt.said, err, tt.bad, out)
		}
	}
}

// TestGuestRefusesSkips: the same for the guest's round, with the console's output of its tests. A failed test fails it, and so does
// one that needed a second try and may have none. The guest is a stand-in: the real one takes minutes.
func TestGuestRefusesSkips(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the guest needs amd64")
	}
	const console = "guest: Linux 6.1.0, up after 3.2 s\r\n=== PACKAGE plimsoll/internal/measure/engine\r\n\x16=== RUN   TestOCISuite\r\n%s\x16--- %s: TestOCISuite (0.10s)\r\n\x16%s\r\n" +
		"%s\tplimsoll/internal/measure/engine\t0.100s (crun)\r\n"
	// again is a failed test, and the text that says that it ran again.
	again := func(name string) string {
		return "\x16--- FAIL: " + name + " (0.10s)\r\n\x16FAIL\r\n=== PACKAGE plimsoll/internal/measure/engine\r\n" +
			"=== RERUN plimsoll/internal/measure/engine." + name + ": 2 runs, 1 failures\r\n"
	}
	for _, tt := range []struct {
		name, words, verdict, end, said string
		status                          int
		want                            string
	}{
		{"pass", "", "PASS", "PASS", "ok", 0, "none"},
		{"skip", "    suite_test.go:1: runc is needed\r\n", "SKIP", "PASS", "ok", 0, "plimsoll/internal/measure/engine.TestOCISuite: MAY NOT SKIP HERE: suite_test.go:1: runc is needed"},
		{"fail", "    suite_test.go:1: wrong\r\n", "FAIL", "FAIL", "FAIL", 1, "none"},
		{"second try", again("TestOCISuite"), "PASS", "PASS", "ok", 0, "plimsoll/internal/measure/engine.TestOCISuite: noise"},
		{"no second try", again("TestRunKilled"), "PASS", "PASS", "ok", 0, "plimsoll/internal/measure/engine.TestRunKilled: MAY NOT PASS BY A SECOND TRY"},
	} {
		tr := newTree(t, "scripts/test-guest", ".ci/may-skip-guest", ".ci/may-not-rerun")
		tr.write("internal/measure/workerbin/bin/worker-linux-amd64", "")
		tr.write("console", strings.ReplaceAll(fmt.Sprintf(console, tt.words, tt.verdict, tt.end, tt.said), "\r", ""))
		tr.write("scripts/guest", fmt.Sprintf("#!/bin/sh\ncat console\nexit %d\n", tt.status))
		tr.stand("qemu-system-x86_64", "exit 1")
		real, err := exec.LookPath("go")
		if err != nil {
			t.Fatal(err)
		}
		// Neither the test programs nor those of their containers are built.
		tr.stand("go", `case $1 in test | build) ;; *) exec `+real+` "$@" ;; esac`)
		out, err := tr.run("scripts/test-guest")
		if (err == nil) != (tt.name == "pass" || tt.name == "second try") || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v, want %q\n%s", tt.name, err, tt.want, out)
		}
		if strings.Contains(out, "\x16") || !strings.Contains(out, "--- "+tt.verdict+": TestOCISuite") {
			t.Errorf("%s: the tests' lines are not shown as people know them:\n%q", tt.name, out)
		}
	}
}

// TestSkipListsNameTests: each entry of the lists of skips matches an existing test.
func TestSkipListsNameTests(t *testing.T) {
	lists, err := filepath.Glob(".ci/may-skip*")
	if err != nil || len(lists) != 3 {
		t.Fatalf("lists %v, %v; want one for each round", lists, err)
	}
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			line, _, _ = strings.Cut(line, "#")
			m := regexp.MustCompile(`^plimsoll/(\S+)\\\.(Test\w+)`).FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				if strings.TrimSpace(line) != "" {
					t.Errorf("%s: %q names no test by its package", list, line)
				}
				continue
			}
			found := false
			files, _ := filepath.Glob(filepath.Join(m[1], "*_test.go"))
			for _, f := range files {
				src, _ := os.ReadFile(f)
				found = found || regexp.MustCompile(`(?m)^func `+m[2]+`\(`).Match(src)
			}
			if !found {
				t.Errorf("%s: there is no %s in %s", list, m[2], m[1])
			}
		}
	}
}
