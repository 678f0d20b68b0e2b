package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/text/clean"
)

// A bench is a folder in which the manual's lines of other tools can be run: with the files that they
// name, a server, and a daemon for those that want one.
type bench struct {
	t                *testing.T
	dir, state, self string
	server, docker   string
	// web is a container that has a server of its own.
	web string
	fio string
}

// shorter replaces what makes a line take minutes and gigabytes, and what a reader replaces.
func (b *bench) shorter(line string) string {
	pairs := []string{
		"--size=1g", "--size=1m", "--runtime=30", "--runtime=1", "--runtime=10", "--runtime=1",
		"-d30", "-d1", "-d60", "-d1", "-d10", "-d1", "-Z1G", "-Z1M", "-c5G", "-c4M", "-c1G", "-c4M",
		"--lun-size 1GiB", "--lun-size 16MiB", "-duration 10", "-duration 1",
		"count=256", "count=4", "count=1000", "count=20", "-t 10 ", "-t 1 ",
		"http://localhost:8080", b.server, "http://127.0.0.1:8080", b.server,
		"http://127.0.0.1:80/", "http://127.0.0.1:8080/", "container:web", "container:" + b.web,
		"--size 1GiB", "--size 1MiB", "verify FILE", "verify data/test --size 1MiB", "--rounds 12", "--rounds 1",
		"/mnt/data", b.dir + "/data", "/other/disk", b.dir + "/disk", "/opt/fio/bin/fio", b.fio,
	}
	line = strings.NewReplacer(pairs...).Replace(line)
	switch {
	case strings.HasPrefix(line, "plimsoll diskspd") && !strings.Contains(line, "-Rp"):
		line = strings.Replace(line, " -d1", " -W0 -d1", 1) // It warms up for 5 s.
	case strings.HasPrefix(line, "plimsoll orion") && !strings.Contains(line, "-duration"):
		line = strings.Replace(line, "-run", "-duration 1 -run", 1)
	case strings.HasPrefix(line, "plimsoll selfcheck"):
		line = strings.Replace(line, "selfcheck", "selfcheck --runtime 500ms", 1)
		if !strings.Contains(line, "--rounds") {
			line += " --rounds 1"
		}
	}
	return line
}

// before are the commands that the manual has its reader give before a line, or that make what it
// speaks of.
func (b *bench) before(line string) []string {
	switch {
	case strings.Contains(line, "-Xprofile.xml"):
		return []string{"plimsoll diskspd -Rpxml -b4K -r -c4M '*1' '*2' >profile.xml"}
	case strings.Contains(line, "dd if=test.img"):
		return []string{"plimsoll dd if=/dev/zero of=test.img bs=1M count=4"}
	case strings.Contains(line, "--lun-size"):
		return nil // The one that makes the file.
	case strings.Contains(line, "orion") && strings.Contains(line, "mytest"):
		return []string{"head -c 16777216 /dev/urandom >lun1", "ls -d $PWD/lun* >mytest.lun"}
	case strings.Contains(line, "--check --journal "):
		_, rest, _ := strings.Cut(line, "--journal ")
		journal, file, _ := strings.Cut(rest, " ")
		return []string{fmt.Sprintf("plimsoll verify %s --size 1MiB --journal %s", file, journal)}
	}
	return nil
}

// TestManualToolLines executes every line of other tools, of verify and of selfcheck that the manual
// and the help show, in a shell, word by word, with less to do.
func TestManualToolLines(t *testing.T) {
	t.Parallel()
	needRun(t)
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("needs fio")
	}
	self, err := filepath.Abs(os.Args[0])
	mustDo(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer server.Close()
	daemon := dockertest.SharedDocker(t)
	web := webContainer(t, daemon)
	seen := map[string]int{}
	var lines []subtest
	for _, line := range examples(t) {
		tool := otherTool.FindStringSubmatch(line)
		if tool == nil {
			continue
		}
		seen[tool[1]]++
		lines = append(lines, subtest{line, func(t *testing.T) {
			b := &bench{t: t, dir: t.TempDir(), state: t.TempDir(), self: self, server: server.URL, docker: daemon.Host, web: web, fio: fio}
			b.furnish()
			b.run(b.shorter(line))
		}})
	}
	abreast(t, 6, lines)
	for _, tool := range []string{"fio", "diskspd", "orion", "dd", "ab", "verify", "selfcheck"} {
		if seen[tool] < 2 {
			t.Errorf("%d lines of %s are shown", seen[tool], tool)
		}
	}
}

// namedOutput finds the file that a line's result goes to instead of the terminal.
var namedOutput = regexp.MustCompile(`--output=(\S+)|cat > (\w+)`)

// run does what comes before a line, and the line; it has to end well, and to have said or written
// something.
func (b *bench) run(line string) {
	b.t.Helper()
	for _, l := range b.before(line) {
		if out, err := b.sh(l); err != nil {
			b.t.Fatalf("%s: %v\n%s", l, err, out)
		}
	}
	out, err := b.sh(line)
	if err != nil {
		b.t.Errorf("%s: %v\n%s", line, err, out)
	}
	if m := namedOutput.FindStringSubmatch(line); m != nil {
		if st, err := os.Stat(filepath.Join(b.dir, m[1]+m[2])); err != nil || st.Size() == 0 {
			b.t.Errorf("%s: nothing was written to %s: %v", line, m[1]+m[2], err)
		}
	} else if strings.TrimSpace(out) == "" {
		b.t.Errorf("%s: nothing was said", line)
	}
}

// furnish makes what the lines find in their folder, and a plimsoll and an ssh in the PATH.
func (b *bench) furnish() {
	b.t.Helper()
	for _, dir := range []string{"bin", "data", "disk"} {
		mustDo(b.t, os.Mkdir(filepath.Join(b.dir, dir), 0o755))
	}
	job := "[job]\nrw=randread\nbs=4k\nsize=1m\nioengine=psync\n"
	mustDo(b.t, os.WriteFile(filepath.Join(b.dir, "job.fio"), []byte(job), 0o644))
	program := fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\" --state %s\n", asPlimsoll, clean.Shell(b.self), clean.Shell(b.state))
	writeProgram(b.t, filepath.Join(b.dir, "bin", "plimsoll"), program)
	// ssh HOST COMMAND, with this machine as every other.
	writeProgram(b.t, filepath.Join(b.dir, "bin", "ssh"), "#!/bin/sh\nshift\nexec sh -c \"$*\"\n")
}

// sh runs a line in the bench's folder; a pipeline fails with any of its commands.
func (b *bench) sh(line string) (string, error) {
	sh := exec.CommandContext(b.t.Context(), "bash", "-o", "pipefail", "-c", line)
	sh.Dir = b.dir
	sh.Env = append(os.Environ(), "PATH="+filepath.Join(b.dir, "bin")+":"+os.Getenv("PATH"), "DOCKER_HOST="+b.docker)
	out, err := sh.CombinedOutput()
	return string(out), err
}
