package keeper

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
)

// hostileLabels are labels made to mislead the keeper, or to get in its way.
func hostileLabels() map[string]string {
	labels := map[string]string{
		"cgroup-parent": "/", "cgroupsPath": "../../..", "io.kubernetes.pod.uid": "../../../sys/fs/cgroup/blkio",
		"io.kubernetes.pod.namespace": "../..", "io.kubernetes.pod.name": "\x1b[2J\x1b]0;owned\a\nweb: held to nothing",
		"com.docker.compose.project": "shop\nrules: []", "blkio": "-> /sys/fs/cgroup/blkio", "\x1b[31m\n": "\x9b2J",
	}
	for i := range 10000 {
		labels[fmt.Sprintf("many-%d", i)] = strings.Repeat("\n\x1b[1A", 20)
	}
	return labels
}

// throttles are all limits of version 1 in a group and below it, by file.
func throttles(t *testing.T, group string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(filepath.Join("/sys/fs/cgroup/blkio", group), func(p string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, "ps_device") {
			return nil // Others' groups come and go.
		}
		if b, err := os.ReadFile(p); err == nil && len(b) > 0 {
			all[p] = string(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// testHostile: a container whose labels want harm is held like any other, and nothing but its own group is
// written.
func (l *lab) testHostile(t *testing.T) {
	r := start(t, Options{Holder: holderFor(t, l.d.Host), ClearOnStop: true}, "rules:\n"+
		ruleText("pod", `{pod: "*", label: {many-9999: "*"}}`, "{volume: data}", "{write_bps: 10MiB}")+
		ruleText("link", `{name: hostile}`, "{path: /way/out}", "{read_bps: 1MiB}")+
		ruleText("other", `{name: web}`, "{volume: data}", "{write_bps: 5MiB}"))
	id := l.create("hostile", hostileLabels())
	// Its files lead out of it.
	tar := filepath.Join(t.TempDir(), "way.tar")
	dir := t.TempDir()
	if err := os.Symlink("/../../../../../../proc/1/root/sys/fs/cgroup/blkio", filepath.Join(dir, "way")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-C", dir, "-cf", tar, "way").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	f, err := os.Open(tar)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := l.api.CopyToContainer(t.Context(), id, client.CopyToContainerOptions{DestinationPath: "/", Content: f}); err != nil {
		t.Fatal(err)
	}
	web := l.create("web", nil)
	before := throttles(t, "")
	began := time.Now()
	l.start(id)
	l.start(web)
	eventually(t, "the hostile container is held", func() bool { return rate(l.group(id), l.disk) == "10485760" })
	eventually(t, "the other is held", func() bool { return rate(l.group(web), l.disk) == "5242880" })
	t.Logf("with 10,000 labels both were started and held after %v", time.Since(began))
	eventually(t, "the way out is a fault", func() bool { return r.said("docker:hostile: rule link can't be kept") })
	for file, text := range throttles(t, "") {
		theirs := strings.Contains(file, id) || strings.Contains(file, web)
		if !theirs && before[file] != text && strings.Contains(text, l.disk+" ") {
			t.Errorf("%s was written: %s", file, text)
		}
	}
	if s := r.k.Status(); len(s.Containers) != 2 {
		t.Errorf("the state: %+v", s)
	}
	looks := Look(r.k.opt, r.k.loaded.policy, []target.Target{{Kind: target.Cgroup, Name: "/none", Labels: hostileLabels()}})
	if len(looks.Containers) != 1 {
		t.Errorf("Look: %+v", looks)
	}
}

// testDying: containers that end at once leave nothing behind, and are no fault.
func (l *lab) testDying(t *testing.T) {
	r := start(t, Options{Holder: holderFor(t, l.d.Host), ClearOnStop: true}, "rules:\n"+ruleText("all", `{name: "short-*"}`, "", "{write_bps: 10MiB, memory: 64MiB}"))
	eventually(t, "the daemon is connected", func() bool { return len(r.k.Status().Engines) == 1 && r.k.Status().Engines[0].Connected })
	// One that ended before its engine could be asked has no process any more.
	r.k.Started(target.Target{Kind: target.Container, Engine: "docker", Name: "short-gone", ID: strings.Repeat("0", 64)})
	for i := range 12 {
		id := l.create(fmt.Sprintf("short-%d", i), nil)
		l.start(id)
		time.Sleep(time.Duration(i) * time.Millisecond) // Before, while and after it is held.
		if _, err := l.api.ContainerKill(t.Context(), id, client.ContainerKillOptions{Signal: "KILL"}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all are forgotten", func() bool {
		return len(r.k.Status().Containers)+len(notes(t, r.opt.Run, containerKind)) == 0
	})
	if r.said("can't") || r.said("no such") {
		t.Error("a container's end is called a fault")
	}
	id := l.create("short-last", nil)
	l.start(id)
	eventually(t, "the next is held", func() bool { return rate(l.group(id), l.disk) == "10485760" })
}

// TestHostileName: what a container is called gets into no file name, and policies that a name looks like aren't read.
func TestHostileName(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{}, "rules:\n- {name: one, match: {name: \"*evil*\", engine: oci}, where: {device: DISK}, limits: {write_bps: 1MiB}}\n")
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	if err := b.group.Add(child.Process.Pid); err != nil {
		t.Fatal(err)
	}
	ref, err := target.Parse(fmt.Sprintf("pid:%d", child.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.opt.Holder.Finder.Resolve(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	c.Kind, c.Engine, c.ID = target.Container, target.OCI, base(b.group)
	c.Name = "\x1b[2J../../../../evil\nkeeper: all is well" + strings.Repeat("/..", 5000)
	b.k.Started(c)
	b.has("1048576")
	if files := notes(t, b.opt.Run, containerKind); len(files) != 1 || len(filepath.Base(files[0])) > 64 {
		t.Errorf("noted in %q", files)
	}
	if s := b.k.Status(); len(s.Containers) != 1 || s.Containers[0].Target != "oci:"+c.Name {
		t.Errorf("the state: %+v", s)
	}
	// One that says that it is another's group is not believed: its process is where the kernel says.
	c.ID, c.Name, c.PID = "system.slice", "evil", os.Getpid()
	if _, err := b.opt.Holder.ScopeOf(c, hold.Where{}, false); err == nil {
		t.Error("a container got the groups of another")
	}
}

// TestManyLabels: neither 10,000 labels nor long ones make a match slow.
func TestManyLabels(t *testing.T) {
	text := "rules:\n"
	for i := range 100 {
		text += ruleText(fmt.Sprint("rule", i), `{label: {many-1: "*", many-2: "a*a*a*a*a*a*a*a*b"}}`, "", "{cpus: 1}")
	}
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := target.Target{Kind: target.Container, Engine: target.Docker, Name: "web", Labels: hostileLabels()}
	c.Labels["many-2"] = strings.Repeat("a", 1<<16)
	began := time.Now()
	if got := len(p.Of(c)); got != 0 {
		t.Errorf("%d rules match", got)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("100 rules took %v", took)
	}
}
