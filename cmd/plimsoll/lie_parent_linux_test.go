package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
)

// A pod is a control group with one below it in which plimsoll runs, as the units of systemd and the pods of Kubernetes have them.
type pod struct {
	outer, inner disktest.Group
	version      int
}

// controllerRoot is the root of a controller's groups; without the controller it skips the test.
func controllerRoot(t *testing.T, c hierarchy.Controller) *hierarchy.Group {
	t.Helper()
	tree, err := hierarchy.Read(device.Host())
	if err != nil {
		t.Fatal(err)
	}
	root, err := tree.Root(c)
	if err != nil {
		t.Skipf("needs a controller of control groups: %v", err)
	}
	return root
}

// newPod makes one of a controller, in the version that the machine has it in.
func newPod(t *testing.T, c hierarchy.Controller) pod {
	t.Helper()
	root := controllerRoot(t, c)
	if root.Version == 2 {
		outer := disktest.NewUnifiedGroup(t, c.V2)
		return pod{outer, outer.Child(t, c.V2), 2}
	}
	outer := disktest.NewGroup(t, root.Dir)
	return pod{outer, disktest.NewGroup(t, string(outer)), 1}
}

// put writes to the outer group's file of the machine's version; "" leaves it out.
func (p pod) put(t *testing.T, v1, one, v2, two string) {
	t.Helper()
	file, text := v1, one
	if p.version == 2 {
		file, text = v2, two
	}
	if file == "" {
		return
	}
	if err := p.outer.Put(file, text); err != nil {
		t.Fatal(err)
	}
}

// name is how the outer group is called in warnings.
func (p pod) name() string { return "/" + filepath.Base(string(p.outer)) }

// plimsoll runs a command in the inner group.
func (p pod) plimsoll(t *testing.T, dir, stdin string, args ...string) result {
	t.Helper()
	inside := []string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(string(p.inner), "cgroup.procs"), os.Args[0]}
	cmd := exec.CommandContext(t.Context(), "sh", slices.Concat(inside, args, []string{"--state", dir})...)
	cmd.Stdin = strings.NewReader(stdin)
	return outcome(t, cmd)
}

// cpuJob is a job that keeps a CPU busy, for a time that doesn't depend on the processor's speed.
const cpuJob = "{rw: randread, bs: 4KiB, size: 1MiB, runtime: 300ms}"

// wantDoubt fails unless every trial of an engine has a doubt of the check with all words.
func wantDoubt(t *testing.T, trials []record.Trial, engine, of string, words ...string) {
	t.Helper()
	n := 0
	for _, tr := range trials {
		if tr.Cell.Engine != engine {
			continue
		}
		n++
		if doubtOf(tr, of, words...) != "" {
			continue
		}
		if doubtOf(tr, check.Halted, "had no CPU: other work used") != "" {
			t.Logf("%s %s: this machine is so busy that other work held it: %v", tr.Cell.Engine, tr.Cell.Place, texts(tr.Warnings))
		} else {
			t.Errorf("%s %s, status %s %s: no doubt of check %s with %q; warnings %v", tr.Cell.Engine, tr.Cell.Place, tr.Status, tr.Error, of, words, texts(tr.Warnings))
		}
	}
	if n == 0 {
		t.Errorf("no trial of the engine %s", engine)
	}
}

// doubtOf is the text of a trial's first doubt of a check with all words; "" if there is none.
func doubtOf(tr record.Trial, check string, words ...string) string {
	for _, w := range tr.Warnings {
		missing := slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(w.Text, word) })
		if w.Check == check && w.Severity == record.Doubt && !missing {
			return w.Text
		}
	}
	return ""
}

func texts(ws []record.Warning) []string {
	var all []string
	for _, w := range ws {
		all = append(all, w.Check+"/"+w.Severity+": "+w.Text)
	}
	return all
}

// hostAndContainer is a plan that compares the host with a container.
func hostAndContainer(workload string) string {
	return fmt.Sprintf(`
name: around
workloads: {w: %s}
engines: [host, oci]
places: {dir: {}, bind: {}}
exclude: [{engine: host, place: bind}, {engine: oci, place: dir}]
baseline: {engine: host, place: dir}
blocks: 1
`, workload)
}

// hostPlan is a plan of the host alone.
func hostPlan(workload string) string {
	return fmt.Sprintf("name: around\nworkloads: {w: %s}\nengines: [host]\nplaces: {dir: {}}\nblocks: 1\n", workload)
}

// TestLieParentQuota: a CPU quota of the group above plimsoll's own slows what runs on the host, and not the containers, which are made
// elsewhere. Or it slows the containers, which are made below it.
func TestLieParentQuota(t *testing.T) {
	needRun(t)
	p := newPod(t, hierarchy.CPU)
	p.put(t, "cpu.cfs_quota_us", "25000", "cpu.max", "25000 100000")
	dir := t.TempDir()
	r := p.plimsoll(t, dir, hostAndContainer(cpuJob), "run", "-")
	_, trials := records(t, dir)
	if r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	wantDoubt(t, trials, "host", check.Throttled, "quota of 0.25 CPUs", "control group "+p.name()+" has")
	if !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), "quota of 0.25 CPUs") {
		t.Errorf("the output does not name the quota:\n%s", r.stdout)
	}
	checkClean(t, dir)
}

// TestLieSlowCeiling: what slows plimsoll down, such as a quota of the group above, is no limit of the load generator's own.
func TestLieSlowCeiling(t *testing.T) {
	needRun(t)
	p := newPod(t, hierarchy.CPU)
	p.put(t, "cpu.cfs_quota_us", "20000", "cpu.max", "20000 100000")
	plan := hostPlan("{rw: randread, bs: 4KiB, size: 1MiB, runtime: 100ms}")
	slow, free := t.TempDir(), t.TempDir()
	for _, r := range []result{p.plimsoll(t, slow, plan, "run", "-"), plimsoll(t, t.Context(), free, plan, "run", "-")} {
		if r.status != exitDone {
			t.Fatalf("status %d: %s", r.status, r.stderr)
		}
	}
	with, _ := records(t, slow)
	without, _ := records(t, free)
	if with.Ceiling.IOPS < without.Ceiling.IOPS/2 {
		t.Errorf("the generator does %.0f I/Os a second, and with a fifth of a CPU no more than %.0f", without.Ceiling.IOPS, with.Ceiling.IOPS)
	}
}

// TestLieParentCPUSet: the group above plimsoll's own has one CPU.
func TestLieParentCPUSet(t *testing.T) {
	needRun(t)
	p := newPod(t, hierarchy.CPUSet)
	for _, g := range []disktest.Group{p.outer, p.inner} {
		if p.version == 1 {
			if err := g.Put("cpuset.mems", "0"); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Put("cpuset.cpus", "0"); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	r := p.plimsoll(t, dir, hostAndContainer(cpuJob), "run", "-")
	run, trials := records(t, dir)
	if r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	wantDoubt(t, trials, "host", check.Foreign, "cpus=1 in "+p.name())
	if !slices.ContainsFunc(texts(run.Warnings), func(s string) bool { return strings.Contains(s, "CPUs that the worker may use: 1 / all") }) {
		t.Errorf("the cells' CPUs are not told apart: %v", texts(run.Warnings))
	}
}

// TestLieParentMemory: the group above plimsoll's own has so little memory that buffered writes wait for some to be free.
func TestLieParentMemory(t *testing.T) {
	needRun(t)
	const limit = 96 << 20
	for name, files := range map[string][2]string{"limit": {"memory.limit_in_bytes", "memory.max"}, "high": {"", "memory.high"}} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, hierarchy.Memory)
			if p.version == 1 && files[0] == "" {
				t.Skip("needs the memory controller of cgroup version 2")
			}
			p.put(t, files[0], fmt.Sprint(limit), files[1], fmt.Sprint(limit))
			dir := t.TempDir()
			r := p.plimsoll(t, dir, hostPlan("{rw: write, bs: 1MiB, size: 160MiB}"), "run", "-")
			if r.status != 0 {
				t.Fatalf("status %d: %s", r.status, r.stderr)
			}
			_, trials := records(t, dir)
			wantDoubt(t, trials, "host", check.Foreign, "memory=96MiB in "+p.name())
		})
	}
}

// TestLieParentIO: plimsoll's own group, and in version 2 the one above it, may write 4 MiB a second.
func TestLieParentIO(t *testing.T) {
	needRun(t)
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	p := newPod(t, hierarchy.IO)
	loop, place := disktest.Disk(t, disktest.Options{Size: 64 << 20, Direct: true})
	number := disktest.Number(t, loop)
	holder := p.outer
	if p.version == 1 {
		holder = p.inner // Version 1 holds each group by itself.
		if err := holder.Put("blkio.throttle.write_bps_device", number+" 4194304"); err != nil {
			t.Fatal(err)
		}
	} else if err := holder.Put("io.max", number+" wbps=4194304"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plan := hostPlan("{rw: randwrite, bs: 64KiB, direct: true, size: 8MiB, runtime: 1s}")
	r := p.plimsoll(t, dir, strings.ReplaceAll(plan, "dir: {}", "dir: {path: "+place+"}"), "run", "-")
	if r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	wantDoubt(t, trials, "host", check.Foreign, "write_bps=4MiB on "+filepath.Base(loop), "/"+filepath.Base(string(holder)))
}
