package keeper

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
)

// newUnified is a bench whose group is one of version 2.
func newUnified(t *testing.T, policy string) *bench {
	t.Helper()
	b := &bench{group: disktest.NewUnifiedGroup(t, "io"), disk: disktest.Loop(t, disktest.Image(t, 32<<20), true)}
	b.number = disktest.Number(t, b.disk)
	b.running = start(t, Options{Holder: holderFor(t), Check: hour}, b.text(policy))
	return b
}

// max waits until io.max of a group has that for the disk, "" for nothing.
func (b *bench) max(g disktest.Group, want string) {
	b.t.Helper()
	got := ""
	defer func() {
		if got != want {
			b.t.Logf("io.max has %q", got)
		}
	}()
	eventually(b.t, fmt.Sprintf("%s has %q", g, want), func() bool {
		got = g.Line(b.t, "io.max", b.number)
		return got == want
	})
}

// released waits until the keeper has removed all its limits of the group. The keeper checks what it wrote once more, and
// until then restores what another program changes.
func (b *bench) released() {
	b.t.Helper()
	eventually(b.t, "the keeper is done with the removal", func() bool { return b.said("no rule limits it any more") })
}

// writes begins to write so many MiB to the disk directly, in a group. Its end is waited for with the function.
func (b *bench) writes(g disktest.Group, mib, at int) (wait func()) {
	b.t.Helper()
	cmd := exec.Command("sh", "-c", fmt.Sprintf(`echo $$ >"$0" && exec dd if=/dev/zero of=%s bs=64k count=%d seek=%d oflag=direct`, b.disk, mib*16, at*16), string(g)+"/cgroup.procs")
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	return func() {
		b.t.Helper()
		if err := cmd.Wait(); err != nil {
			b.t.Errorf("dd in %s: %v", g, err)
		}
	}
}

// took is how long something takes.
func took(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

const (
	oneMax  = "rbps=max wbps=1048576 riops=max wiops=max"
	riopsOf = "rbps=max wbps=max riops=500 wiops=max"
	bothMax = "rbps=max wbps=1048576 riops=500 wiops=max"
)

// TestUnified: version 2's own files hold what a rule says. What other programs change is restored and counted, a group below needs no
// write to be bound, and another program's limits stay when the keeper's limit goes.
func TestUnified(t *testing.T) {
	b := newUnified(t, oneRule)
	b.k.Started(targetOf(b.group))
	b.max(b.group, oneMax)
	eventually(t, "the keeper is done with it", func() bool { return b.said("held to") })
	// Another key of the same line is nobody's business.
	if err := b.group.Put("io.max", b.number+" riops=500"); err != nil {
		t.Fatal(err)
	}
	if n := b.k.Check().Writes; n != 0 {
		t.Errorf("%d writes for a limit of somebody else's", n)
	}
	b.max(b.group, bothMax)
	for i, text := range []string{"wbps=5000000", "wbps=max"} {
		if err := b.group.Put("io.max", b.number+" "+text); err != nil {
			t.Fatal(err)
		}
		b.max(b.group, bothMax)
		eventually(t, "the drift is counted", func() bool { s := b.k.Status(); return s.Drift == int64(i+1) && s.Containers[0].Drift == i+1 })
		time.Sleep(2 * firstBackoff) // A second change is answered later.
	}
	below := b.group.Child(t, "io")
	time.Sleep(300 * time.Millisecond) // All is told by now.
	before := b.k.Status()
	if n := b.k.Check().Writes; n != 0 || below.Line(t, "io.max", b.number) != "" {
		t.Errorf("%d writes for a group below, which has %q", n, below.Line(t, "io.max", b.number))
	}
	if s := b.k.Status(); s.Drift != before.Drift || s.Drift != 2 {
		t.Errorf("drift %d, before %d, want 2", s.Drift, before.Drift)
	}
	d := took(b.writes(below, 4, 0))
	t.Logf("4 MiB were written below a limit of 1 MiB/s in %v", d)
	if d < 3*time.Second {
		t.Errorf("4 MiB were written below a limit of 1 MiB/s in %v", d)
	}

	// What is changed while no keeper runs is restored by the next one.
	b.stop()
	if err := b.group.Put("io.max", b.number+" wbps=7000000"); err != nil {
		t.Fatal(err)
	}
	b.begin()
	b.k.Started(targetOf(b.group))
	b.max(b.group, bothMax)
	eventually(t, "it is counted", func() bool { return b.k.Status().Drift == 1 })

	b.write("rules: []\n")
	b.k.Reload()
	// By then it was another program's, and it comes back.
	b.max(b.group, "rbps=max wbps=7000000 riops=500 wiops=max")
	b.released()
	if err := b.group.Put("io.max", b.number+" wbps=max riops=max"); err != nil {
		t.Fatal(err)
	}
	b.max(b.group, "")
	var free time.Duration
	for range 10 { // The machine may be busy.
		if free = took(b.writes(below, 4, 0)); free < 2*time.Second {
			return
		}
	}
	t.Errorf("4 MiB without a limit took %v", free)
}

// TestUnifiedNone: the word none in a rule removes, and a rule's end restores what was there.
func TestUnifiedNone(t *testing.T) {
	b := newUnified(t, "rules:\n- {name: none, match: all, where: {device: DISK}, limits: {write_bps: none}}\n")
	if err := b.group.Put("io.max", b.number+" wbps=5000000 riops=500"); err != nil {
		t.Fatal(err)
	}
	b.k.Started(targetOf(b.group))
	b.max(b.group, riopsOf)
	b.write("rules: []\n")
	b.k.Reload()
	b.max(b.group, "rbps=max wbps=5000000 riops=500 wiops=max")
	b.released()
	// Nothing was there before: the keeper's own goes with max.
	if err := b.group.Put("io.max", b.number+" wbps=max riops=max"); err != nil {
		t.Fatal(err)
	}
	b.write(b.text(oneRule))
	b.k.Reload()
	b.max(b.group, oneMax)
	b.write("rules: []\n")
	b.k.Reload()
	b.max(b.group, "")
}

// TestUnifiedTogether: writers of two containers have one rate in common.
func TestUnifiedTogether(t *testing.T) {
	b := newUnified(t, "rules:\n- {name: shop, match: all, where: {device: DISK}, together: true, limits: {write_bps: 2MiB}}\n")
	const most = "rbps=max wbps=2097152 riops=max wiops=max"
	web, db := b.group.Child(t, "io"), b.group.Child(t, "io")
	end := func(g disktest.Group) {
		b.k.mu.Lock()
		defer b.k.mu.Unlock()
		b.k.drop(b.k.entries[keyOf(targetOf(g))])
	}
	for _, x := range []target.Target{targetOf(web), targetOf(db)} {
		b.k.Started(x)
	}
	for _, g := range []disktest.Group{b.group, web, db} {
		b.max(g, most)
	}
	if s := b.k.Status(); len(s.Together) != 1 || len(s.TogetherFaults) != 0 {
		t.Errorf("the state: %+v, %+v", s.Together, s.TogetherFaults)
	}
	d := took(func() {
		one, other := b.writes(web, 4, 0), b.writes(db, 4, 16)
		one()
		other()
	})
	t.Logf("two wrote 4 MiB each in %v, at 2 MiB/s together", d)
	if d < 3*time.Second { // Apart, each would need 2 s.
		t.Errorf("two wrote 4 MiB each in %v, at 2 MiB/s together", d)
	}
	// What is changed there is restored, too.
	if err := b.group.Put("io.max", b.number+" wbps=max"); err != nil {
		t.Fatal(err)
	}
	b.max(b.group, most)
	eventually(t, "the drift is counted", func() bool { return b.k.Status().Drift == 1 })
	// One alone is held by itself.
	end(db)
	b.max(b.group, "")
	b.max(web, most)
}
