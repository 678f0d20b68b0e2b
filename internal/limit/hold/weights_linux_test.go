package hold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/journaltest"
)

// loopScope is the scope of a group's limits on a loop device. It stops the test if weights would go on a disk that is not the test's own.
func loopScope(t *testing.T, h *Holder, g disktest.Group, loop string) *Scope {
	t.Helper()
	s, err := h.Scope(t.Context(), ref(t, g), Where{Device: loop}, true)
	if err != nil {
		t.Fatal(err)
	}
	if on := s.Weights(); len(on) != 1 || on[0].Name != filepath.Base(loop) {
		t.Fatalf("the weight would go on %+v, which is not the test's own", on)
	}
	return s
}

// TestWeights: a disk is divided by weight when that is asked for, noted, and restored when the last weight for
// which it was done has gone.
func TestWeights(t *testing.T) {
	one, two := disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
	// In memory, so that it stands on no disk of the machine's, on which the weight would go.
	loop, _ := disktest.Disk(t, disktest.Options{Memory: true})
	file := filepath.Join("/sys/block", filepath.Base(loop), "queue/scheduler")
	schedulers := func() string {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	disktest.KeepScheduler(t, loop)
	before := schedulers()
	if strings.Contains(before, "[bfq]") {
		t.Fatalf("a new loop device is scheduled by bfq: %s", before)
	}
	h := holder(t)
	machine := t.TempDir()
	w := h.Weights(machine)
	scope := func(g disktest.Group) *Scope {
		t.Helper()
		return loopScope(t, h, g, loop)
	}
	a, b := scope(one), scope(two)
	set := limit.Change{Set: limit.Limits{Weight: 300}}
	var fault *cgroup.Fault
	if _, err := h.Apply(t.Context(), a, set); !errors.As(err, &fault) || !strings.Contains(fault.Fix, "bfq") {
		t.Fatalf("a weight that does nothing: %v, want it refused with a fix", err)
	}
	if _, _, err := w.Enable(t.Context(), a, "iocost"); !errors.Is(err, cgroup.ErrUnsupported) || schedulers() != before {
		t.Errorf("iocost in version 1: %v; %s", err, schedulers())
	}
	on, _, err := w.Enable(t.Context(), a, "")
	if err != nil || len(on) != 1 {
		t.Fatalf("Enable() = %+v, %v, want one disk", on, err)
	}
	if by := on[0].By; by != "bfq" {
		t.Fatalf("Enable() divides by %q", by)
	}
	if text := on[0].String(); !strings.Contains(text, `write "bfq" to /sys/`) {
		t.Fatalf("Enable() did %q", text)
	}
	if s := schedulers(); !strings.Contains(s, "[bfq]") {
		t.Fatalf("after Enable() the schedulers are %s", s)
	}
	if on, _, err := w.Enable(t.Context(), b, ""); err != nil || len(on) != 0 {
		t.Errorf("Enable() of a second group = %+v, %v", on, err)
	}
	for _, s := range []*Scope{a, b} {
		if _, err := h.Apply(t.Context(), s, set); err != nil {
			t.Fatal(err)
		}
	}
	states, err := h.Groups.Read(a.GroupSets[0].Groups)
	if err != nil || len(states) != 1 || len(states[0].Devices) != 1 {
		t.Errorf("Read() = %+v, %v", states, err)
	}
	if _, err := h.Apply(t.Context(), a, limit.Clear(limit.Weight)); err != nil {
		t.Fatal(err)
	}
	// Another process undoes it: nothing but the notes is known of it.
	again := h.Weights(machine)
	if off, err := again.Undo(t.Context(), a); err != nil || len(off) != 0 || !strings.Contains(schedulers(), "[bfq]") {
		t.Errorf("Undo() while another has a weight = %+v, %v; %s", off, err, schedulers())
	}
	if _, err := h.Apply(t.Context(), b, limit.Clear(limit.Weight)); err != nil {
		t.Fatal(err)
	}
	if off, err := again.Undo(t.Context(), b); err != nil || len(off) != 1 || schedulers() != before {
		t.Errorf("Undo() of the last = %+v, %v; %s, want %s", off, err, schedulers(), before)
	}
	if left := journaltest.Entries(t, machine); len(left) > 0 {
		t.Errorf("left in the journal: %v", left)
	}

	// A setting that another program changed since stays, and a removed group needs nothing.
	if _, _, err := w.Enable(t.Context(), a, "bfq"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("mq-deadline"), 0); err != nil {
		t.Fatal(err)
	}
	if off, err := w.Undo(t.Context(), a); err != nil || len(off) != 0 || !strings.Contains(schedulers(), "[mq-deadline]") {
		t.Errorf("Undo() after a change = %+v, %v; %s", off, err, schedulers())
	}
	if _, _, err := w.Enable(t.Context(), a, "bfq"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(string(one)); err != nil {
		t.Fatal(err)
	}
	if off, err := w.Undo(t.Context(), b); err != nil || len(off) != 1 || !strings.Contains(schedulers(), "[mq-deadline]") {
		t.Errorf("Undo() by another, with the group gone = %+v, %v; %s", off, err, schedulers())
	}
	torn := journal.In(machine).Path(weightsKind, disktest.Number(t, loop))
	if err := os.WriteFile(torn, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Enable(t.Context(), b, ""); err == nil || !strings.Contains(err.Error(), torn) || strings.Contains(schedulers(), "[bfq]") {
		t.Errorf("with a record of the disk that can't be read: %v", err)
	}
}

// memoryDisks are n disks in memory, of which none is scheduled by bfq, and how to read their schedulers.
func memoryDisks(t *testing.T, n int) (loops []string, schedulers func() string) {
	t.Helper()
	for range n {
		loop, _ := disktest.Disk(t, disktest.Options{Memory: true})
		disktest.KeepScheduler(t, loop)
		loops = append(loops, loop)
	}
	return loops, func() string {
		t.Helper()
		var all []string
		for _, l := range loops {
			b, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(l), "queue/scheduler"))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.TrimSpace(string(b)))
		}
		return strings.Join(all, "|")
	}
}

// TestWeightsTakenBack: what a call has enabled can be undone, and that leaves alone what was enabled before, with its weights
// and those who have one.
func TestWeightsTakenBack(t *testing.T) {
	one, two := disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
	loops, schedulers := memoryDisks(t, 1)
	before := schedulers()
	h := holder(t)
	machine := t.TempDir()
	w := h.Weights(machine)
	scope := func(g disktest.Group) *Scope {
		t.Helper()
		return loopScope(t, h, g, loops[0])
	}
	a, b := scope(one), scope(two)
	on, undo, err := w.Enable(t.Context(), a, "bfq")
	if err != nil || len(on) != 1 {
		t.Fatalf("Enable() = %+v, %v", on, err)
	}
	if err := undo(t.Context()); err != nil || schedulers() != before {
		t.Errorf("undo() = %v; %s, want %s", err, schedulers(), before)
	}
	if left := journaltest.Entries(t, machine); len(left) > 0 {
		t.Errorf("left in the journal: %v", left)
	}

	if _, _, err = w.Enable(t.Context(), a, "bfq"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Apply(t.Context(), a, limit.Change{Set: limit.Limits{Weight: 300}}); err != nil {
		t.Fatal(err)
	}
	enabled := schedulers()
	weight := func() string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(string(one), "blkio.bfq.weight_device"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	has := weight()
	if !strings.Contains(has, " 300") {
		t.Fatalf("the weight is %q", has)
	}
	// The same target again, and another one, whose limits are then refused.
	for _, s := range []*Scope{a, b} {
		on, undo, err := w.Enable(t.Context(), s, "bfq")
		if err != nil || len(on) > 0 {
			t.Fatalf("Enable() again = %+v, %v", on, err)
		}
		if err := undo(t.Context()); err != nil || schedulers() != enabled || weight() != has {
			t.Errorf("undo() of nothing = %v; %s, want %s; weight %q", err, schedulers(), enabled, weight())
		}
	}
	// The second isn't waited for.
	if _, err := h.Apply(t.Context(), a, limit.Clear(limit.Weight)); err != nil {
		t.Fatal(err)
	}
	if off, err := w.Undo(t.Context(), a); err != nil || len(off) != 1 || schedulers() != before {
		t.Errorf("Undo() = %+v, %v; %s, want %s", off, err, schedulers(), before)
	}

	// One that another shares by now stays.
	if _, undo, err = w.Enable(t.Context(), a, "bfq"); err != nil {
		t.Fatal(err)
	}
	if _, _, err = w.Enable(t.Context(), b, "bfq"); err != nil {
		t.Fatal(err)
	}
	if err := undo(t.Context()); err != nil || schedulers() != enabled {
		t.Errorf("undo() of what another uses = %v; %s, want %s", err, schedulers(), enabled)
	}
	if off, err := w.Undo(t.Context(), b); err != nil || len(off) != 1 || schedulers() != before {
		t.Errorf("Undo() of the other = %+v, %v; %s, want %s", off, err, schedulers(), before)
	}
}

// TestWeightsOfOneDisk: where a weight was cleared on one disk, the others stay as they are: theirs is still in force.
func TestWeightsOfOneDisk(t *testing.T) {
	group := disktest.NewBlkioGroup(t)
	loops, schedulers := memoryDisks(t, 2)
	before := schedulers()
	h := holder(t)
	w := h.Weights(t.TempDir())
	var scopes []*Scope
	for _, l := range loops {
		s := loopScope(t, h, group, l)
		if on, _, err := w.Enable(t.Context(), s, "bfq"); err != nil || len(on) != 1 {
			t.Fatalf("Enable() = %+v, %v", on, err)
		}
		scopes = append(scopes, s)
	}
	first, second, _ := strings.Cut(schedulers(), "|")
	if !strings.Contains(first, "[bfq]") || !strings.Contains(second, "[bfq]") {
		t.Fatalf("enabled: %s, %s", first, second)
	}
	was, _, _ := strings.Cut(before, "|")
	if off, err := w.Undo(t.Context(), scopes[0]); err != nil || len(off) != 1 || schedulers() != was+"|"+second {
		t.Errorf("Undo() of the first = %+v, %v; %s, want %s", off, err, schedulers(), was+"|"+second)
	}
	// Without a place all that the group has is cleared.
	all, err := h.Scope(t.Context(), ref(t, group), Where{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if off, err := w.Undo(t.Context(), all); err != nil || len(off) != 1 || schedulers() != before {
		t.Errorf("Undo() of all = %+v, %v; %s, want %s", off, err, schedulers(), before)
	}
}

// TestWeightsAllOrNone: where the second disk refuses, the first is as it was, and nothing is noted.
func TestWeightsAllOrNone(t *testing.T) {
	loops, schedulers := memoryDisks(t, 2)
	before := schedulers()
	h := holder(t)
	group := disktest.NewBlkioGroup(t)
	s, other := loopScope(t, h, group, loops[0]), loopScope(t, h, group, loops[1])
	s.Places = append(s.Places, other.Places...)
	machine := t.TempDir()
	w := h.Weights(machine)
	count := 0
	w.Groups = h.Groups.Through(func(path, text string, next func(string, string) error) error {
		if count++; count == 2 {
			return syscall.EIO
		}
		return next(path, text)
	})
	if on, _, err := w.Enable(t.Context(), s, "bfq"); !errors.Is(err, syscall.EIO) || len(on) > 0 || count != 3 {
		t.Errorf("Enable() = %+v, %v after %d writes", on, err, count)
	}
	if now := schedulers(); now != before {
		t.Errorf("the schedulers are %s, want %s", now, before)
	}
	if left := journaltest.Entries(t, machine); len(left) > 0 {
		t.Errorf("left in the journal: %v", left)
	}
}

// TestWeightsRecordUntilRestored: a disk that can be neither enabled nor restored keeps its record, by which Undo restores it later.
func TestWeightsRecordUntilRestored(t *testing.T) {
	loops, schedulers := memoryDisks(t, 1)
	before := schedulers()
	h := holder(t)
	s := loopScope(t, h, disktest.NewBlkioGroup(t), loops[0])
	machine := t.TempDir()
	w := h.Weights(machine)
	count := 0
	w.Groups = h.Groups.Through(func(path, text string, next func(string, string) error) error {
		if count++; count == 1 {
			_ = next(path, text) // It takes effect, and fails all the same.
		}
		return syscall.EIO
	})
	if on, _, err := w.Enable(t.Context(), s, "bfq"); !errors.Is(err, syscall.EIO) || len(on) > 0 || schedulers() == before {
		t.Errorf("Enable() = %+v, %v; %s", on, err, schedulers())
	}
	w.Groups = h.Groups
	if off, err := w.Undo(t.Context(), s); err != nil || len(off) != 1 || schedulers() != before {
		t.Errorf("Undo() = %+v, %v; %s, want %s", off, err, schedulers(), before)
	}
	if left := journaltest.Entries(t, machine); len(left) > 0 {
		t.Errorf("left in the journal: %v", left)
	}
}
