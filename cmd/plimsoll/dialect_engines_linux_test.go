package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/dockertest"
)

// A toolLine is a short line of another tool, with what its output has.
type toolLine struct {
	name  string
	args  []string
	shape string
	left  string // what the line leaves in the current folder, on the host
}

// toolLines has one for each tool that measures storage.
var toolLines = []toolLine{
	{"fio", strings.Fields("--name=a --rw=randread --bs=4k --size=1m --ioengine=psync --io_size=1m"), `read: IOPS=[0-9.k]+, BW=.*\(1024KiB/`, "a.0.0"},
	{"diskspd", strings.Fields(`-b4K -d1 -W0 -c1M -L C:\io.dat`), `Total latency distribution:`, "io.dat"},
	{"dd", strings.Fields("if=/dev/zero of=out bs=4K count=256"), `256\+0 records out\n1048576 bytes \(1\.0 MB, 1\.0 MiB\) copied`, "out"},
	{"orion", strings.Fields("-run advanced -matrix point -num_small 1 -num_large 0 -duration 1 -testname t --lun-size 16MiB"), `Maximum Small IOPS=\d+ @ Small=1 and Large=0`, "t.dat"},
}

// A station is an engine, and the daemon that it asks.
type station struct{ engine, daemon string }

// do runs plimsoll in a process and a folder of its own, so that others may run beside it.
func (s station) do(t *testing.T, folder, state string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--engine", s.engine, "--state", state)...)
	cmd.Dir = folder
	if cmd.Env = os.Environ(); s.daemon != "" {
		cmd.Env = append(cmd.Env, "DOCKER_HOST="+s.daemon)
	}
	return outcome(t, cmd)
}

// runsIn runs the line in an engine's place and looks at its output and its record.
func (l toolLine) runsIn(t *testing.T, s station, place string) {
	t.Helper()
	folder, state := t.TempDir(), t.TempDir()
	r := s.do(t, folder, state, slices.Concat([]string{l.name}, l.args, []string{"--place", place, "--record"})...)
	if r.status != exitDone || !regexp.MustCompile(l.shape).MatchString(r.stdout+r.stderr) {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	if _, err := os.Stat(filepath.Join(folder, l.left)); err == nil {
		t.Errorf("%s is in the current folder, not in the place", l.left)
	}
	run, trials := records(t, state)
	if run.Plan != l.name || run.Status != record.Done {
		t.Errorf("recorded %+v", run)
	}
	if len(trials) == 0 {
		t.Fatal("no trial is recorded")
	}
	if c := trials[0].Cell; c.Engine != s.engine || c.Place != place {
		t.Errorf("recorded for %+v, want %s in %s", c, s.engine, place)
	}
	if trials[0].Results[0].Ops() == 0 {
		t.Error("nothing was done")
	}
	if !strings.HasPrefix(run.Command, "plimsoll "+l.name+" ") || !strings.Contains(run.Command, "--place "+place) {
		t.Errorf("the run's command is %q", run.Command)
	}
	checkClean(t, state)
}

// TestDialectsInPlaces: each tool's line runs in each place that a container has.
func TestDialectsInPlaces(t *testing.T) {
	t.Parallel()
	needRun(t)
	oci := station{engine: "oci"}
	docker := station{"docker", dockertest.SharedDocker(t).Host}
	podman := station{"docker", dockertest.SharedPodman(t).Host}
	var tests []subtest
	in := func(name string, s station, l toolLine, place string) {
		tests = append(tests, subtest{name + "/" + l.name + "/" + place, func(t *testing.T) { l.runsIn(t, s, place) }})
	}
	tests = append(tests,
		subtest{"docker/limits", func(t *testing.T) { testDialectLimits(t, docker) }},
		subtest{"oci/limits", func(t *testing.T) { testDialectLimits(t, oci) }})
	for i, place := range []string{"layer", "bind", "volume", "tmpfs"} {
		for _, l := range toolLines {
			in("docker", docker, l, place)
		}
		in("podman", podman, toolLines[i], place)
	}
	for i, place := range []string{"bind", "tmpfs", "layer"} {
		// With oci, whose sessions others test on all places, one tool a place.
		in("oci", oci, toolLines[i], place)
	}
	abreast(t, 6, tests)
}

// testDialectLimits: a line's container is under the limits of its flags, and its record has them.
func testDialectLimits(t *testing.T, s station) {
	folder, state := t.TempDir(), t.TempDir()
	// The generator alone takes a whole processor, if it gets one.
	r := s.do(t, folder, state, "fio", "--name=a", "--ioengine=null", "--rw=randread", "--size=1g", "--time_based", "--runtime=2", "--output-format=json",
		"--cpus", "0.1", "--memory=64MiB", "--cpu-shares", "512", "--record")
	var out struct {
		Jobs []struct {
			User   float64 `json:"usr_cpu"`
			System float64 `json:"sys_cpu"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || r.status != exitDone {
		t.Fatalf("status %d, %v\n%s", r.status, err, r.stderr)
	}
	if cpu := out.Jobs[0].User + out.Jobs[0].System; cpu > 40 {
		t.Errorf("the job took %.0f %% of a processor under --cpus 0.1", cpu)
	}
	_, trials := records(t, state)
	const want = "memory=64MiB cpus=0.1 cpu_shares=512"
	if got := trials[0].Where[0].Limits; got != want || trials[0].Cell.Limits != want {
		t.Errorf("the record has limits %q, %q, want %q", got, trials[0].Cell.Limits, want)
	}
	if rep := plimsoll(t, t.Context(), state, "", "report", "last"); !strings.Contains(unwrap(rep.stdout), want) {
		t.Errorf("the report does not name %s:\n%s", want, rep.stdout)
	}
	// 64 buffers of 1 MiB don't fit into 32.
	r = s.do(t, folder, state, "fio", "--name=b", "--ioengine=io_uring", "--rw=randwrite", "--bs=1m", "--iodepth=64", "--direct=1", "--size=4m", "--time_based", "--runtime=2",
		"--place", "tmpfs", "--memory", "32MiB")
	r.wantError(t, exitFailure, "out of memory (memory limit 32 MiB)")
	checkClean(t, state)
}

// TestDialectLimitsAreRefused where they mean nothing or no engine can set them.
func TestDialectLimitsAreRefused(t *testing.T) {
	needRun(t)
	var said transcript
	for _, flags := range []string{
		"--memory 64MiB",
		"--memory 64M --engine oci", // Taken, as Docker reads it.
		"--memory 64X --engine oci",
		"--memory=1MiB --engine oci",
		"--cpus none --engine oci",
		"--cpus",
		"--write-bps 10MiB/s --engine oci --place tmpfs",
		"--write-bps 10MiB/s",
		"--write-iops 1 --engine oci",
		"--io-maxiops 100",
		"--io-maxbandwidth=5MiB --engine oci",
		"--io-maxbandwidth=5m --engine oci",
		"--io-maxiops=0 --engine oci",
		"--isolation hyperv --engine oci",
		"--isolation=vm --engine docker",
		"--device-wide --engine oci",
	} {
		inFolder(t)
		args := strings.Fields("dd if=/dev/zero of=x bs=4K count=1 status=none " + flags)
		said.add(args, plimsoll(t, t.Context(), t.TempDir(), "", args...))
	}
	said.check(t, "dialect-limits-refused.txt")
}
