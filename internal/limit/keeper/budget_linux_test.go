package keeper

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/treetest"
)

// v2Holder is a Holder of plain files that look like control groups of version 2 with the given groups, each with a
// process.
func v2Holder(t *testing.T, groups ...string) (h *hold.Holder, root string) {
	t.Helper()
	files := map[string]string{
		"proc/self/mountinfo":   "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg rw - cgroup2 cgroup2 rw\n",
		"cg/cgroup.controllers": "cpu io memory\n", "sys/dev/block/254:0/dev": "254:0\n", "cg/cgroup.procs": "1\n",
	}
	for _, g := range groups {
		for g, procs := g, "7\n"; g != "/"; g, procs = filepath.Dir(g), "" {
			for name, text := range map[string]string{"cgroup.procs": procs, "io.max": "", "cpu.max": "max 100000\n", "memory.max": "max\n"} {
				if path := "cg" + g + "/" + name; files[path] == "" {
					files[path] = text
				}
			}
		}
	}
	root = treetest.Make(t, files)
	h, err := holderIn(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Finder.Close() })
	return h, root
}

// holderIn is a Holder of the files in a folder.
func holderIn(root string) (*hold.Holder, error) {
	fs := device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	host, err := cgroup.Open(fs)
	if err != nil {
		return nil, err
	}
	e, err := explain.Look(fs)
	if err != nil {
		return nil, err
	}
	return &hold.Holder{FS: fs, Finder: target.New(target.Options{Proc: fs.Proc}), Groups: host, Explain: e}, nil
}

// TestTogether: what containers have together goes on the group right above them, if that is theirs alone.
func TestTogether(t *testing.T) {
	h, root := v2Holder(t, "/shop/web", "/shop/db", "/shop/job", "/mixed/web", "/mixed/other", "/apart")
	r := start(t, Options{Holder: h, Check: hour}, "rules:\n"+
		"- {name: each, match: {name: \"/shop/*\"}, limits: {memory: 64MiB}}\n"+
		"- {name: shop, match: {name: \"/shop/*\"}, together: true, limits: {memory: 100MiB, cpus: 0.5}}\n"+
		"- {name: mixed, match: {name: [/mixed/web, /apart]}, together: true, limits: {memory: 50MiB}}\n")
	has := func(group, file, want string) {
		t.Helper()
		got := ""
		eventually(t, group+" "+file+" is "+want, func() bool {
			b, err := os.ReadFile(filepath.Join(root, "cg", group, file))
			got = strings.TrimSpace(string(b))
			return err == nil && got == want
		})
	}
	of := func(group string) target.Target {
		return target.Target{Kind: target.Cgroup, Name: group, Running: true}
	}
	end := func(group string) {
		r.k.mu.Lock()
		defer r.k.mu.Unlock()
		r.k.drop(r.k.entries[keyOf(of(group))])
	}
	// One alone is held itself, to the lower of both.
	r.k.Started(of("/shop/web"))
	has("shop/web", "memory.max", "67108864")
	has("shop/web", "cpu.max", "50000 100000")
	for _, g := range []string{"/shop/db", "/shop/job"} {
		r.k.Started(of(g))
	}
	has("shop", "memory.max", "104857600")
	has("shop", "cpu.max", "50000 100000")
	has("shop/db", "cpu.max", "50000 100000")
	for _, g := range []string{"shop/web", "shop/db", "shop/job"} {
		has(g, "memory.max", "67108864")
	}
	s := r.k.Status()
	if len(s.Together) != 1 {
		t.Fatalf("held together: %+v, want one group", s.Together)
	}
	if g := s.Together[0].Target; g != "the group /shop" {
		t.Errorf("held together is %s", g)
	}
	if held := s.Together[0].Held; len(held) != 2 {
		t.Errorf("the group has %+v, want two limits", held)
	}
	if len(s.TogetherFaults) != 0 {
		t.Errorf("faults of the group: %+v", s.TogetherFaults)
	}
	// A group with others in it isn't touched.
	r.k.Started(of("/mixed/web"))
	has("mixed/web", "memory.max", "52428800")
	r.k.Started(of("/apart"))
	eventually(t, "no group in common", func() bool {
		return r.said("rule mixed can't be kept: its 2 containers have no common control group")
	})
	has("mixed/web", "memory.max", "52428800")
	if n := r.k.Check().Writes; n != 0 {
		t.Errorf("%d writes without drift", n)
	}
	// Somebody changes it, and the next look restores it.
	if err := os.WriteFile(filepath.Join(root, "cg/shop/memory.max"), []byte("max\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.k.Check()
	has("shop", "memory.max", "104857600")
	// The next keeper knows it, and lets it go when its rule has gone meanwhile.
	r.stop()
	has("shop", "memory.max", "104857600")
	r.write("rules: []\n")
	r.begin()
	r.k.oldBudgets()
	has("shop", "memory.max", "max")
	has("shop", "cpu.max", "max 100000")
	// Who is in the group and not in the rule.
	if err := os.WriteFile(filepath.Join(root, "cg/shop/job/cgroup.procs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if left := notes(t, r.opt.Run, groupKind); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	// It ends with its last container.
	r.write("rules:\n- {name: shop, match: {name: \"/shop/*\"}, together: true, limits: {memory: 100MiB}}\n")
	r.k.Reload()
	r.k.Started(of("/shop/web"))
	r.k.Started(of("/shop/db"))
	has("shop", "memory.max", "104857600")
	// Somebody else comes into it: it is let go, said, and each has the limit alone.
	if err := os.WriteFile(filepath.Join(root, "cg/shop/job/cgroup.procs"), []byte("8\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.k.Started(of("/apart"))
	has("shop", "memory.max", "max")
	eventually(t, "the newcomer is named", func() bool {
		f := r.k.Status().TogetherFaults
		return len(f) == 1 && strings.Contains(f[0].Text, "(/shop/job)")
	})
	has("shop/db", "memory.max", "104857600")
	if err := os.WriteFile(filepath.Join(root, "cg/shop/job/cgroup.procs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.k.applyBudgets()
	has("shop", "memory.max", "104857600")
	end("/shop/db")
	has("shop", "memory.max", "max")
	has("shop/web", "memory.max", "104857600")
}

// TestTogetherRefused: a budget whose removal is refused stays noted, and the fault is told, until it is gone.
func TestTogetherRefused(t *testing.T) {
	h, root := v2Holder(t, "/shop/web", "/shop/db")
	var refuse atomic.Bool
	h.Groups = h.Groups.Through(func(path, text string, next func(string, string) error) error {
		if refuse.Load() && strings.HasSuffix(path, "/shop/memory.max") {
			return syscall.EIO
		}
		return next(path, text)
	})
	r := start(t, Options{Holder: h, Check: hour}, "rules:\n- {name: shop, match: {name: \"/shop/*\"}, together: true, limits: {memory: 100MiB}}\n")
	both := []target.Target{{Kind: target.Cgroup, Name: "/shop/web", Running: true}, {Kind: target.Cgroup, Name: "/shop/db", Running: true}}
	limit := func() string {
		b, err := os.ReadFile(filepath.Join(root, "cg/shop/memory.max"))
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(string(b))
	}
	noted := func() int { return len(notes(t, r.opt.Run, groupKind)) }
	for _, m := range both {
		r.k.Started(m)
	}
	eventually(t, "they are held together", func() bool { return limit() == "104857600" && noted() == 1 })
	refuse.Store(true)
	r.k.mu.Lock()
	for _, m := range both {
		r.k.drop(r.k.entries[keyOf(m)])
	}
	r.k.mu.Unlock()
	eventually(t, "the fault is told", func() bool {
		s := r.k.Status()
		return r.said("the group /shop: remove limits: ") && len(s.Together) == 1 && len(s.Together[0].Held) == 1 && len(s.Together[0].Faults) == 1
	})
	if noted() != 1 || limit() != "104857600" {
		t.Errorf("%d notes, want 1; the group has %s", noted(), limit())
	}
	refuse.Store(false)
	r.k.disks(nil) // It is tried again.
	eventually(t, "it is let go", func() bool { return limit() == "max" && noted() == 0 && len(r.k.Status().Together) == 0 })
}

// TestTogetherRate: rates, too, and strangers are named.
func TestTogetherRate(t *testing.T) {
	h, root := v2Holder(t, "/pod/a", "/pod/b", "/pod/cri-containerd-0123abcd.scope", "/pod/deep/stranger")
	r := start(t, Options{Holder: h, Check: hour}, "rules: []\n")
	share := func(group string, rank int) {
		e := r.k.enter(target.Target{Kind: target.Cgroup, Name: group, Running: true, Engine: target.Containerd, Labels: map[string]string{"io.kubernetes.cri.sandbox-id": "0123abcd"}})
		e.mu.Lock()
		err := r.k.find(e)
		e.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		bps := int64(1 << 20)
		r.k.setShares(e, []Grant{{Slot: Slot{Key: limit.WriteBPS, Device: device.Number{Major: 254}, Together: true}, Value: "1MiB", Rule: "pod", limits: limit.Limits{WriteBPS: bps}, rank: rank}})
	}
	share("/pod/a", 0)
	share("/pod/b", 0)
	eventually(t, "the stranger is named", func() bool {
		return r.said("the control group /pod also contains others (/pod/deep/stranger): start them with")
	})
	if err := os.WriteFile(filepath.Join(root, "cg/pod/deep/stranger/cgroup.procs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	share("/pod/a", 1)
	eventually(t, "the pod's rate is held", func() bool {
		b, err := os.ReadFile(filepath.Join(root, "cg/pod/io.max"))
		return err == nil && strings.Contains(string(b), "254:0") && strings.Contains(string(b), "wbps=1048576")
	})
}
