package workload

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// callsOf is the workload that this process is to do in the named folder, under strace.
const callsOf = "PLIMSOLL_TEST_CALLS_OF"

// TestDoUnderStrace does the workload that TestLieCalls has traced.
func TestDoUnderStrace(t *testing.T) {
	text := os.Getenv(callsOf)
	if text == "" {
		return // It is no test of its own.
	}
	var spec Spec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	run, err := Prepare(t.Context(), spec, Folders{Work: os.Getenv(callsOf + "_IN")})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if res, err := run.Run(t.Context(), nil); err != nil || res.Ops() != int64(spec.Count) {
		t.Fatalf("%+v, %v", res, err)
	}
}

// trace counts the system calls of a workload on files.
func trace(t *testing.T, spec Spec, dir string) map[string]int {
	t.Helper()
	out := filepath.Join(t.TempDir(), "calls")
	cmd := exec.Command("strace", "-f", "-qq", "-e", "trace=desc,file", "-e", "signal=none", "-o", out, os.Args[0], "-test.run=^TestDoUnderStrace$")
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), callsOf+"="+string(text), callsOf+"_IN="+dir)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("strace: %v: %s", err, said)
	}
	lines, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for line := range strings.Lines(string(lines)) {
		// "1234  openat(AT_FDCWD, ..." or, what another thread's call interrupted, "1234  <... openat resumed>".
		pid, call, _ := strings.Cut(line, " ")
		name, _, ok := strings.Cut(strings.TrimSpace(call), "(")
		if _, err := strconv.Atoi(pid); err == nil && ok && !strings.HasPrefix(name, "<") {
			calls[name]++
		}
	}
	return calls
}

// TestLieCalls: workloads that measure system calls make exactly those that they name. A call more with each operation
// is time that the place has nothing to do with, and hides how much slower another place is.
func TestLieCalls(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is needed")
	}
	const n = 240 // Six folders of tree.
	for _, c := range []struct {
		spec Spec
		// each is how often an operation makes a call.
		each map[string]float64
	}{
		{Spec{Kind: Append}, map[string]float64{"openat": 1, "write": 1, "close": 1}},
		{Spec{Kind: WAL, Runtime: 1 << 40}, map[string]float64{"pwrite64": 1, "fdatasync": 1}},
		// Until a read says that the file has ended; and each folder is made, listed, and closed.
		{Spec{Kind: Tree, BS: 4096}, map[string]float64{
			"newfstatat": 1, "openat": 2, "read": 2, "write": 1, "close": 2,
		}},
	} {
		t.Run(string(c.spec.Kind), func(t *testing.T) {
			dir := t.TempDir()
			few, many := c.spec, c.spec
			few.Count, many.Count = n, 2*n
			// Sources are laid out by the first of each.
			trace(t, few, dir)
			trace(t, many, dir)
			a, b := trace(t, few, dir), trace(t, many, dir)
			for name := range b {
				switch name {
				case "mmap", "epoll_pwait", "unlinkat":
					continue // The runtime's own memory and poller; and the outputs are removed, after the window.
				}
				more, want := b[name]-a[name], int(c.each[name]*n)
				slack := 8 // The runtime's own: it wakes its poller, and looks how many processors there are.
				if c.spec.Kind == Tree {
					slack += 10 * n / perFolder // Calls for a folder, of its source, of the output, and of its removal.
				}
				if more < want-slack || more > want+slack {
					t.Errorf("%d operations more make %d more calls of %s, want %d", n, more, name, want)
				}
			}
			for name, want := range c.each {
				if b[name] < int(want*n) {
					t.Errorf("there are %d calls of %s", b[name], name)
				}
			}
		})
	}
}
