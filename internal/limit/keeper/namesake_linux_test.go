package keeper

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/container/target"
)

// namesake is a container of containerd's with the id of others, and a process of its own in a group below the bench's. kill ends it.
func (b *bench) namesake(namespace, id string) (c target.Target, group string, kill func()) {
	b.t.Helper()
	dir := filepath.Join(string(b.group), namespace, id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		b.t.Fatal(err)
	}
	kill = func() { _ = child.Process.Kill(); _ = child.Wait() }
	b.t.Cleanup(func() {
		kill()
		eventually(b.t, "its group is empty", func() bool { return os.Remove(dir) == nil })
		_ = os.Remove(filepath.Dir(dir))
	})
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(fmt.Sprint(child.Process.Pid)), 0); err != nil {
		b.t.Fatal(err)
	}
	ref, err := target.Parse(fmt.Sprintf("pid:%d", child.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	if c, err = b.opt.Holder.Finder.Resolve(b.t.Context(), ref); err != nil {
		b.t.Fatal(err)
	}
	c.Kind, c.Engine, c.Namespace, c.ID, c.Name = target.Container, target.Containerd, namespace, id, id
	return c, filepath.Join(base(b.group), namespace, id), kill
}

// TestNamesakes: users choose containerd's ids, in each namespace and root anew: one that starts doesn't drive out another with its id, and
// its end is its own.
func TestNamesakes(t *testing.T) {
	b := newBench(t, Options{}, oneRule)
	a, groupA, killA := b.namesake("a", "web")
	c, groupC, _ := b.namesake("c", "web")
	a2, groupA2, _ := b.namesake("a2", "web")
	a2.Namespace = a.Namespace // Of another containerd.
	all := []target.Target{a, c, a2}
	held := func(want string, groups ...string) {
		t.Helper()
		for _, g := range groups {
			eventually(t, fmt.Sprintf("%s has %q", g, want), func() bool { return rate(g, b.number) == want })
		}
	}
	for range 2 {
		for _, x := range all {
			b.k.Started(x)
		}
		held("1048576", groupA, groupC, groupA2)
		eventually(t, "all three are held", func() bool {
			s := b.k.Status()
			n := 0
			for _, c := range s.Containers {
				n += len(c.Held)
			}
			return len(s.Containers) == 3 && n == 3
		})
	}
	// What was there before is what was there before any of it.
	for _, c := range b.k.Status().Containers {
		for _, h := range c.Held {
			if h.Was != "none" {
				t.Errorf("%s had %s before, want none", c.Target, h.Was)
			}
		}
	}
	killA()
	b.k.ended(a)
	eventually(t, "one is forgotten", func() bool { return len(b.k.Status().Containers) == 2 })
	b.load("rules: []\n")
	held("", groupC, groupA2)
}

// TestElsewhereEnds: a container whose process isn't on this machine is forgotten when its engine tells of its end, or doesn't list it any
// more, and is the same under another name.
func TestElsewhereEnds(t *testing.T) {
	b := newBench(t, Options{Sync: hour}, oneRule)
	far := func(host, id, name string) target.Target {
		return target.Target{Kind: target.Container, Engine: target.Docker, ID: id, Name: name, Host: host, Running: true, Elsewhere: "it is on another machine"}
	}
	known := func(n int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d are known", n), func() bool { return len(b.k.all()) == n })
	}
	eventually(t, "the engines were asked", func() bool { return b.k.listed.Load() })
	b.k.Started(far("tcp://one", "x", "web"))
	b.k.Started(far("tcp://two", "x", "web"))
	known(2)
	b.k.Started(far("tcp://one", "x", "renamed"))
	known(2)
	// A daemon tells less of what has ended.
	b.k.ended(target.Target{Kind: target.Container, Engine: target.Docker, ID: "x", Host: "tcp://one"})
	known(1)
	if e := b.k.all()[0]; e.target.Host != "tcp://two" {
		t.Errorf("left is that of %s", e.target.Host)
	}
	b.k.Sync(t.Context())
	known(0)
}
