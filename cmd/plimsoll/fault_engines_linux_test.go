package main

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/load"
)

// findsDocker makes a daemon the one that plimsoll finds, and makes a client of it.
func findsDocker(t *testing.T, d *dockertest.Daemon) *client.Client {
	t.Helper()
	setVariable(t, "DOCKER_HOST", d.Host)
	return clientOf(t, d)
}

// clientOf makes a client of a daemon.
func clientOf(t *testing.T, d *dockertest.Daemon) *client.Client {
	t.Helper()
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	return api
}

// TestRunEnd ends runs in their middle, and looks at all that is in the daemon afterwards, which is their own.
func TestRunEnd(t *testing.T) {
	t.Parallel()
	needRun(t)
	d := dockertest.Start(t)
	api := findsDocker(t, d)
	t.Run("Import", func(t *testing.T) { testImport(t, api, d) })
	t.Run("WorkerKilled", func(t *testing.T) { testDockerWorkerKilled(t, api) })
	t.Run("OneInterrupt", func(t *testing.T) { testOneInterrupt(t, api) })
	t.Run("TwoInterrupts", func(t *testing.T) { testTwoInterrupts(t, api) })
	t.Run("DialectDaemonGone", func(t *testing.T) { testDialectDaemonGone(t, api, d) })
	t.Run("DaemonGone", func(t *testing.T) { testDaemonGone(t, api, d) }) // The last: it kills the daemon.
}

// ioEngines lists what did the I/O of done trials, by the plan's name of the cell's engine.
func ioEngines(trials []record.Trial) map[string][]string {
	m := map[string][]string{}
	for _, tr := range trials {
		for _, r := range tr.Results {
			if !slices.Contains(m[tr.Cell.Engine], r.IOEngine) {
				m[tr.Cell.Engine] = append(m[tr.Cell.Engine], r.IOEngine)
			}
		}
	}
	return m
}

// TestSeccomp: one container whose profile forbids io_uring makes all cells fall back,
// and the run and its report say which and why.
func TestSeccomp(t *testing.T) {
	t.Parallel()
	needRun(t)
	findsDocker(t, dockertest.SharedDocker(t))
	profile, err := filepath.Abs("../../internal/measure/engine/seccomp/testdata/no-io-uring.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"oci", "docker"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			plan := `
name: seccomp
workloads: {w: {rw: randread, bs: 4KiB, iodepth: 4, direct: true, size: 1MiB, number_ios: 200}}
engines: [host, {name: strict, kind: ` + kind + `, seccomp: ` + profile + `}]
places: {dir: {}, bind: {}}
blocks: 1
`
			r := plimsoll(t, t.Context(), dir, plan, "run", "-")
			if r.status != exitDone {
				t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
			}
			run, trials := records(t, dir)
			wantDone(t, trials, 3)
			for engine, used := range ioEngines(trials) {
				if !slices.Equal(used, []string{load.LinuxAIO}) {
					t.Errorf("%s used %v, want linux-aio", engine, used)
				}
			}
			c := run.IOEngine["w"]
			if c.Engine != load.LinuxAIO || !strings.Contains(c.Why, "w/strict/bind") || !strings.Contains(c.Why, "seccomp") {
				t.Errorf("choice = %+v, want linux-aio because of seccomp in w/strict/bind", c)
			}
			if out := unwrap(r.stdout); !strings.Contains(out, "I/O engine linux-aio at w: ") || !strings.Contains(out, "w/strict/bind") || !strings.Contains(out, "seccomp") {
				t.Errorf("the report doesn't say why:\n%s", r.stdout)
			}

			r = plimsoll(t, t.Context(), dir, plan+"io_engine: best\n", "run", "-")
			if r.status != exitDone {
				t.Fatalf("best: status %d, stderr:\n%s", r.status, r.stderr)
			}
			run, trials = records(t, dir)
			used := ioEngines(trials)
			if !slices.Equal(used["host"], []string{load.IOUring}) || !slices.Equal(used["strict"], []string{load.LinuxAIO}) {
				t.Errorf("best used %v, want io_uring on the host and linux-aio in the container", used)
			}
			if out := unwrap(r.stdout); !strings.Contains(out, "I/O engine io_uring (host dir, host dir (A/A control)), linux-aio (strict bind) at w: ") {
				t.Errorf("the report doesn't say which cell used which engine:\n%s", r.stdout)
			}
			if !slices.ContainsFunc(run.Warnings, func(w record.Warning) bool { return w.Check == "io-engine" && w.Severity == record.Doubt }) {
				t.Errorf("no warning says that the cells differ: %v", run.Warnings)
			}

			r = plimsoll(t, t.Context(), dir, plan+"io_engine: io_uring\n", "run", "-")
			if r.status != exitCellsFailed {
				t.Fatalf("io_uring: status %d, stderr:\n%s", r.status, r.stderr)
			}
			_, trials = records(t, dir)
			places := byPlace(trials)
			wantDone(t, places["dir"], 2)
			wantFailed(t, places["bind"], 1, "io_uring", "seccomp")
			checkClean(t, dir)
		})
	}
}

// TestRunImage: the worker is measured in a root file system of the user's own.
func TestRunImage(t *testing.T) {
	t.Parallel()
	needRun(t)
	api := findsDocker(t, dockertest.SharedDocker(t))
	root := t.TempDir()
	for _, d := range []string{"etc", "proc", "sys", "dev"} {
		if err := os.Mkdir(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "etc", "motd"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	const name = "plimsoll-test-run:1"
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	res, err := api.ImageImport(t.Context(), client.ImageImportSource{Source: &b, SourceName: "-"}, name, client.ImageImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res); err != nil {
		t.Fatal(err)
	}
	res.Close()
	defer api.ImageRemove(context.Background(), name, client.ImageRemoveOptions{Force: true})
	dir := t.TempDir()
	plan := `
name: image
workloads: {w: {rw: randread, bs: 4KiB, direct: true, size: 1MiB, number_ios: 200}, append: {kind: append, count: 5}}
engines: [{name: folder, kind: oci, image: ` + root + `}, {name: imported, kind: docker, image: "` + name + `"}]
places: {layer: {}, bind: {}, tmpfs: {}}
blocks: 1
`
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	run, trials := records(t, dir)
	wantDone(t, trials, 2*(2*3+1))
	if len(run.Skipped) > 0 {
		t.Errorf("skipped: %v", run.Skipped)
	}
	checkClean(t, dir)
	var names []string
	filepath.WalkDir(root, func(path string, _ os.DirEntry, _ error) error {
		names = append(names, strings.TrimPrefix(path, root))
		return nil
	})
	if want := []string{"", "/dev", "/etc", "/etc/motd", "/proc", "/sys"}; !slices.Equal(names, want) {
		t.Errorf("the image's folder holds %q afterwards, want %q", names, want)
	}

	for image, want := range map[string]string{root + "/none": "not a folder", "none:1": "none:1"} {
		kind := "oci"
		if image == "none:1" {
			kind = "docker"
		}
		plan := "name: none\nworkloads: {a: {kind: append, count: 5}}\nengines: [host, {name: c, kind: " + kind + ", image: \"" + image + "\"}]\nplaces: {dir: {}, layer: {}}\nblocks: 1\n"
		plimsoll(t, t.Context(), dir, plan, "run", "-").wantError(t, exitUsage, want)
		checkClean(t, dir)
	}
}

// TestNothingIsLeft: after a run over all engines there are as many containers,
// volumes, mounts, loop devices, cgroups and temporary files as before. It runs alone: it looks at those of the whole machine.
func TestNothingIsLeft(t *testing.T) {
	needRun(t)
	d := dockertest.Start(t)
	api := findsDocker(t, d)
	dir, tmp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	group := strings.Trim(d.CgroupParent, "/")
	before, marked, all := objects(t, api), leaktest.Find(d.Dir, group), leaktest.All()
	plan := strings.Replace(small, "[host, oci]", "[host, oci, docker]", 1)
	plan = strings.Replace(plan, "layer: {},", "layer: {}, bind: {}, volume: {},", 1)
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	run, trials := records(t, dir)
	wantDone(t, trials, 2*2*9)
	if after := objects(t, api); after != before {
		t.Errorf("the daemon holds %+v, before %+v", after, before)
	}
	// The daemon makes its own cgroup with its first container, which may be one of these.
	after := slices.DeleteFunc(leaktest.Find(d.Dir, group), func(what string) bool { return strings.HasSuffix(what, "/"+group) })
	if len(after) > len(marked) {
		t.Errorf("the daemon's mounts and cgroups are\n%s\nbefore\n%s", strings.Join(after, "\n"), strings.Join(marked, "\n"))
	}
	if left := leaktest.Find(run.ID, tmp); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
	if left := unmarked(all, group, dir, tmp, run.ID); len(left) > 0 {
		t.Errorf("left behind, with no mark of the run or its daemon:\n%s", strings.Join(left, "\n"))
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("temporary files left behind: %v", left)
	}
	// Only the database, the worker and the journal's lock stay, on purpose.
	if err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Dir(path) != dir && path != filepath.Join(dir, "journal", "lock") && !strings.HasPrefix(path, filepath.Join(dir, "cache")+"/") {
			t.Errorf("left behind: %s", path)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	checkClean(t, dir)
}

// unmarked lists what is new since before, but for the cgroup of the daemon itself, once it stays: others
// begin and end something at any time.
func unmarked(before []string, group string, own ...string) (left []string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		left = slices.DeleteFunc(leaktest.New(before, own...), func(what string) bool { return strings.HasSuffix(what, "/"+group) })
		if len(left) == 0 {
			break
		}
	}
	return left
}

// testTwoInterrupts: the quick end leaves nothing either, and the next run finds nothing in
// its way.
func testTwoInterrupts(t *testing.T, api *client.Client) {
	dir := t.TempDir()
	before := objects(t, api)
	const plan = `
name: twice
workloads: {w: {rw: randread, bs: 4KiB, size: 1MiB, runtime: 200ms}}
engines: [host, oci, docker]
places: {dir: {}, layer: {}, volume: {}, bind: {}, tmpfs: {}}
`
	interruptTwice(t, dir, plan, 12) // The second block: all containers run.
	// Nothing of it waits in the daemon for another run, and no data on the disk.
	waitHeld(t, api, before)
	checkClean(t, dir)
	r := plimsoll(t, t.Context(), dir, small, "run", "-", "--blocks", "1", "--set", "engines=[host, docker]")
	if r.status != exitDone {
		t.Errorf("the next run: status %d, stderr:\n%s", r.status, r.stderr)
	}
	if after := objects(t, api); after != before {
		t.Errorf("after a sweep the daemon holds %+v, before %+v; stderr:\n%s", after, before, r.stderr)
	}
	checkClean(t, dir)
}

// testDaemonGone: the daemon dies in the middle. That is no result of a cell: the run stops, says why, and
// goes on with all that it lacks in the daemon's next life, which removes what was left.
func testDaemonGone(t *testing.T, api *client.Client, d *dockertest.Daemon) {
	dir := t.TempDir()
	before := objects(t, api)
	const plan = `
name: gone
workloads: {w: {rw: randread, bs: 4KiB, size: 1MiB, runtime: 200ms}, append: {kind: append, count: 50}}
engines: [host, docker]
places: {dir: {}, volume: {}, bind: {}}
blocks: 8
`
	// A process of its own: what a living one made is not swept.
	cmd := startPlan(t, dir, plan, "run", "-")
	for end := time.Now().Add(time.Minute); countTrials(dir) < 18 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	d.Kill()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the run hangs without its daemon")
	}
	said := cmd.Stderr.(*output).String()
	if status := cmd.ProcessState.ExitCode(); status != exitFailure || !strings.Contains(said, "engine docker is gone") || !strings.Contains(lastLine(said), "--resume") {
		t.Fatalf("status %d, want %d, that docker is gone and how to go on; stderr:\n%s", status, exitFailure, said)
	}
	run, trials := records(t, dir)
	if run.Status != record.Interrupted {
		t.Errorf("the run is %s", run.Status)
	}
	wantDone(t, trials, 18)
	d.Restart(t)
	r := plimsoll(t, t.Context(), dir, "", "run", "--resume")
	if r.status != exitDone {
		t.Errorf("the resumed run: status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials = records(t, dir)
	wantDone(t, trials, 8*8)
	if after := objects(t, api); after != before {
		t.Errorf("after a sweep the daemon holds %+v, before %+v; stderr:\n%s%s", after, before, r.stderr, heldBy(t, api))
	}
	checkClean(t, dir)
}
