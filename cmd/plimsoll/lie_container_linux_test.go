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
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
)

// containerID is a container's in the name of its control group.
var containerID = regexp.MustCompile(`[0-9a-f]{64}`)

// byPause pauses a trial's container, as docker pause does.
func byPause(api *client.Client) holding {
	return func(t *testing.T, _, trial int, pause time.Duration) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", trial))
		if err != nil {
			t.Fatal(err)
		}
		id := containerID.FindString(string(b))
		_, err = api.ContainerPause(t.Context(), id, client.ContainerPauseOptions{})
		// runc gives up after some milliseconds in which a busy machine has not frozen all processes.
		for end := time.Now().Add(time.Minute); err != nil && strings.Contains(err.Error(), "unable to freeze") && time.Now().Before(end); {
			_, err = api.ContainerPause(t.Context(), id, client.ContainerPauseOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
		if _, err := api.ContainerUnpause(t.Context(), id, client.ContainerUnpauseOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLieHaltedContainer: the worker does not run for a part of its window, in a container.
func TestLieHaltedContainer(t *testing.T) {
	needRun(t)
	stopTrial := func(_ *testing.T, _, trial int, pause time.Duration) { bySignal(trial)(pause) }
	stopWorker := func(_ *testing.T, agent, trial int, pause time.Duration) { bySignal(agent, trial)(pause) }
	in := func(name, engine string, h holding, why string) subtest {
		return subtest{name, func(t *testing.T) { wantHalted(t, engine, h, why) }}
	}
	api := findsDocker(t, dockertest.SharedDocker(t))
	abreast(t, 4, []subtest{ // What is held takes no CPU.
		in("trial stopped in oci", "oci", stopTrial, "a signal had stopped it"),
		in("worker stopped in oci", "oci", stopWorker, "a signal had stopped it"),
		in("trial stopped in docker", "docker", stopTrial, "a signal had stopped it"),
		in("docker pause", "docker", byPause(api), "its control group was frozen"),
	})
}

// TestLieParentDocker: the daemon's containers are below a group with a CPU quota, and the host is not.
func TestLieParentDocker(t *testing.T) {
	t.Parallel()
	needRun(t)
	root := controllerRoot(t, hierarchy.CPU)
	if root.Version == 2 {
		disktest.NewUnifiedGroup(t, hierarchy.CPU.V2) // Has the root give the controller on.
	}
	d := dockertest.Start(t)
	setVariable(t, "DOCKER_HOST", d.Host)
	dir := t.TempDir()
	plan := strings.ReplaceAll(hostAndContainer(cpuJob), "oci", "docker")
	// The daemon makes its group with the first container.
	if r := plimsoll(t, t.Context(), dir, plan, "run", "-"); r.status != exitDone {
		t.Fatalf("without a quota: status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	for _, tr := range trials {
		if doubt := doubtOf(tr, check.Throttled); doubt != "" {
			t.Errorf("without a quota: %s %q", tr.Cell.Engine, doubt)
		}
	}
	parent := disktest.Group(filepath.Join(root.Dir, d.CgroupParent))
	mustDo(t, os.MkdirAll(string(parent), 0o755))
	mustDo(t, quarter(parent, root.Version))
	if r := plimsoll(t, t.Context(), dir, plan, "run", "-"); r.status != exitDone {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	_, trials = records(t, dir)
	wantDoubt(t, trials, "docker", check.Throttled, "quota of 0.25 CPUs", "control group "+d.CgroupParent+" has")
	for _, tr := range trials {
		if doubt := doubtOf(tr, check.Throttled); tr.Cell.Engine == "host" && doubt != "" {
			t.Errorf("the host is said to be held as well: %q", doubt)
		}
	}
	checkClean(t, dir)
}

// TestLieParentNamespace: plimsoll is in a container, whose root of control groups has a CPU quota, and makes its own containers below that, as
// in a pod of Kubernetes.
func TestLieParentNamespace(t *testing.T) {
	needRun(t)
	root := controllerRoot(t, hierarchy.CPU)
	g := disktest.Group("")
	if root.Version == 2 {
		g = disktest.NewUnifiedGroup(t, hierarchy.CPU.V2)
	} else {
		g = disktest.NewGroup(t, root.Dir)
	}
	mustDo(t, quarter(g, root.Version))
	dir, engines := namespaced(t, g, root.Version)
	_, trials := records(t, dir)
	for _, engine := range engines {
		wantDoubt(t, trials, engine, check.Throttled, "quota of 0.25 CPUs", "control group / has")
	}
	checkClean(t, dir)
}

// TestLieParentHidden: as before, and the quota is of a group above that root, which can't be seen from inside. Where other work has the CPUs
// meanwhile, nothing shows whose doing it is.
func TestLieParentHidden(t *testing.T) {
	needRun(t)
	p := newPod(t, hierarchy.CPU)
	mustDo(t, quarter(p.outer, p.version))
	dir, engines := namespaced(t, p.inner, p.version)
	_, trials := records(t, dir)
	for _, engine := range engines {
		wantDoubt(t, trials, engine, check.Halted, "was ready to run, but had no CPU")
	}
	for _, tr := range trials {
		if h := tr.Results[0].Host; float64(h.CPUs)*(1-h.CPUBusy) < 1 {
			t.Logf("other work had %.0f %% of the CPUs", h.CPUBusy*100)
		} else if doubtOf(tr, check.Halted, "a quota of a control group that can't be seen from here") == "" {
			t.Errorf("%s: with %.0f %% of the CPUs busy: %q", tr.Cell.Engine, h.CPUBusy*100, texts(tr.Warnings))
		}
	}
	checkClean(t, dir)
}

// namespaced runs a plan in a group that is the root of its own namespace of control groups, and returns the state folder and the plan's
// engines. In version 2 a group with processes gives no controllers on, so that it has no containers.
func namespaced(t *testing.T, g disktest.Group, version int) (dir string, engines []string) {
	t.Helper()
	engines, plan := []string{"host", "oci"}, hostAndContainer(cpuJob)
	if version == 2 {
		engines, plan = engines[:1], hostPlan(cpuJob)
	}
	// By its path: a shell may have a lesser one built in.
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("needs unshare")
	}
	// A cgroup namespace begins at the group that its first process is in, and its mounts are made there.
	inside := []string{"-c", `echo $$ >"$0/cgroup.procs" && unshare=$1 && shift && exec "$unshare" --cgroup --mount --propagation private sh -c '
awk "\$(NF-2) ~ /^cgroup2?\$/ { sub(/^r[wo],?/, \"\", \$NF); print \$5, \$(NF-2), \$NF }" /proc/self/mountinfo |
	while read -r point type options; do umount "$point" && mount -t "$type" ${options:+-o "$options"} "$type" "$point" || exit 1; done && exec "$@"' "$0" "$@"`, string(g), unshare, os.Args[0]}
	dir = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", slices.Concat(inside, []string{"run", "-", "--state", dir})...)
	cmd.Stdin = strings.NewReader(plan)
	if r := outcome(t, cmd); r.status != exitDone {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	return dir, engines
}

// quarter gives a group a quota of a quarter of a CPU.
func quarter(g disktest.Group, version int) error {
	if version == 1 {
		return g.Put("cpu.cfs_quota_us", "25000")
	}
	return g.Put("cpu.max", "25000 100000")
}
