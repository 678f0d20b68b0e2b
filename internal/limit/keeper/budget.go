package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit/cgroup"
)

// A budget is a limit that all containers of a rule with together share: a group's limits in version 2 apply to all
// groups below it, so the budget goes on the group directly above the containers. That group may contain nothing
// else. Each container also has the limit itself (see rule): a single container needs nothing more, and where there
// is no such group, none is without a limit.

// setShares stores an entry's grants for shared budgets, and applies the budgets.
func (k *Keeper) setShares(e *entry, grants []Grant) {
	if k.setGrants(k.shares, e, grants) {
		k.budgetsSoon()
	}
}

// budgetDelay is how long the keeper waits for containers that start together.
const budgetDelay = 20 * time.Millisecond

// budgetsSoon calls applyBudgets once for several changes in quick succession.
func (k *Keeper) budgetsSoon() {
	if !k.plans && k.budgetsDue.CompareAndSwap(false, true) {
		time.AfterFunc(budgetDelay, func() {
			k.budgetsDue.Store(false)
			k.background(k.applyBudgets)
		})
	}
}

// newcomer applies budgets again, if there are any: a container that started may be in a shared group.
func (k *Keeper) newcomer() {
	k.mu.Lock()
	some := len(k.budgets) > 0
	k.mu.Unlock()
	if some {
		k.budgetsSoon()
	}
}

// members are the groups of the containers that share a budget, and the budget.
type members struct {
	groups []*hierarchy.Group
	grants map[Slot]Grant
	// pauses are the ids of the pods' pause containers, which hold the pods' namespaces. They do nothing and are not
	// targets.
	pauses []string
}

// sandboxLabels are annotations with the id of a pod's sandbox, which only containerd and CRI-O themselves write
// there.
var sandboxLabels = map[target.Engine]string{
	target.Containerd: "io.kubernetes.cri.sandbox-id",
	target.CRIO:       "io.kubernetes.cri-o.SandboxID",
}

// shared maps each rule to its members.
func (k *Keeper) shared() map[string]*members {
	k.mu.Lock()
	shares := maps.Clone(k.shares)
	k.mu.Unlock()
	rules := map[string]*members{}
	for _, e := range k.all() {
		grants := shares[e.key]
		if len(grants) == 0 {
			continue
		}
		e.mu.Lock()
		groups, gone, pause := e.groups, e.gone, e.target.Labels[sandboxLabels[e.target.Engine]]
		e.mu.Unlock()
		if groups == nil || gone {
			continue
		}
		for _, g := range grants {
			m := rules[g.Rule]
			if m == nil {
				m = &members{grants: map[Slot]Grant{}}
				rules[g.Rule] = m
			}
			m.grants[g.Slot] = g
			if pause != "" {
				m.pauses = append(m.pauses, pause)
			}
			group, err := groups.Group(controllerOf(g.Slot))
			if err == nil && !slices.ContainsFunc(m.groups, func(o *hierarchy.Group) bool { return o.Path == group.Path }) {
				m.groups = append(m.groups, group)
			}
		}
	}
	return rules
}

// controllerOf is the controller of a slot's limit.
func controllerOf(s Slot) hierarchy.Controller {
	switch {
	case s.Key.IO():
		return hierarchy.IO
	case s.Key == "memory":
		return hierarchy.Memory
	}
	return hierarchy.CPU
}

// place is the group for a budget: the one directly above all of its containers. It is nil for a single container.
func (m *members) place() (*hierarchy.Group, error) {
	groups := m.groups
	if len(groups) == 0 {
		return nil, errors.New("its containers have no control groups")
	}
	for _, g := range groups {
		if g.Version != 2 {
			return nil, errors.New("one limit for several containers together needs control groups of version 2: with version 1 a group's limit doesn't hold the groups below it; leave out together")
		}
	}
	if len(groups) == 1 {
		return nil, nil
	}
	above := groups[0].Parent()
	for above != nil && slices.ContainsFunc(groups, func(g *hierarchy.Group) bool {
		return !strings.HasPrefix(g.Path, strings.TrimSuffix(above.Path, "/")+"/")
	}) {
		above = above.Parent()
	}
	const own = "start them with a parent group of their own (docker run --cgroup-parent, cgroup_parent in a compose file)"
	if above == nil || above.IsRoot() {
		return nil, fmt.Errorf("its %d containers have no common control group: %s", len(groups), own)
	}
	stranger, err := m.strangerIn(above)
	if err != nil {
		return nil, err
	}
	if stranger != "" {
		return nil, fmt.Errorf("the control group %s also contains others (%s): %s", above.Path, stranger, own)
	}
	return above, nil
}

// strangerIn names a group with processes below above that is not a member's, "" if there is none.
func (m *members) strangerIn(above *hierarchy.Group) (stranger string, err error) {
	err = filepath.WalkDir(above.Dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // It has just been removed.
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case slices.ContainsFunc(m.groups, func(g *hierarchy.Group) bool { return g.Dir == p }),
			slices.ContainsFunc(m.pauses, func(id string) bool { return strings.Contains(d.Name(), id) }):
			return filepath.SkipDir
		}
		b, err := os.ReadFile(filepath.Join(p, "cgroup.procs"))
		if err == nil && len(b) > 0 {
			stranger = path.Join(above.Path, filepath.ToSlash(strings.TrimPrefix(p, above.Dir)))
			return filepath.SkipAll
		}
		return nil
	})
	return stranger, err
}

// applyBudgets applies the rules to each shared group. It removes limits that no rule sets any more last, so that no
// container is without limits in between.
func (k *Keeper) applyBudgets() {
	k.budgeting.Lock()
	defer k.budgeting.Unlock()
	wanted := map[string]map[Slot]Grant{}
	faults := map[string]string{}
	for rule, m := range k.shared() {
		at, err := m.place()
		if err != nil {
			faults[rule] = err.Error()
			continue
		}
		if at == nil {
			continue
		}
		if wanted[at.Path] == nil {
			wanted[at.Path] = map[Slot]Grant{}
		}
		for _, g := range m.grants {
			// If several rules limit one group, the last one decides.
			s := Slot{Key: g.Key, Device: g.Device, Together: true}
			if old, ok := wanted[at.Path][s]; !ok || g.rank > old.rank {
				wanted[at.Path][s] = g
			}
		}
	}
	k.mu.Lock()
	for rule, text := range faults {
		if k.budgetFaults[rule] != text {
			defer k.logf("%s", Fault{Rule: rule, Text: text})
		}
	}
	k.budgetFaults = faults
	for p := range wanted {
		k.addBudget(p)
	}
	budgets := maps.Clone(k.budgets)
	k.mu.Unlock()
	for p, e := range budgets {
		if wanted[p] != nil {
			k.applyBudget(e, wanted[p])
		}
	}
	for p, e := range budgets {
		if wanted[p] == nil {
			k.applyBudget(e, nil)
		}
	}
}

// addBudget adds the entry of a shared group, unless there is one; k.mu is held. recall reads what an earlier keeper
// recorded of it.
func (k *Keeper) addBudget(p string) {
	if k.budgets[p] == nil {
		t := target.Target{Kind: target.Cgroup, Name: p, Running: true}
		k.budgets[p] = &entry{key: "budget " + p, budget: true, target: t, process: t, since: time.Now()}
	}
}

// applyBudget sets or removes the limits of one group.
func (k *Keeper) applyBudget(e *entry, wanted map[Slot]Grant) {
	e.mu.Lock()
	defer e.unlock()
	k.recall(e)
	grants := merge(slices.Collect(maps.Values(wanted)), nil)
	old := faultTexts(e.broken)
	e.broken = nil
	err := k.find(e)
	if err == nil {
		var n int
		n, err = k.hold(e, grants)
		k.writes.Add(int64(n))
		if n > 0 && len(grants) > 0 {
			k.logf("%s: held to %s", e.name(), names(e.slots()))
		}
	}
	// The group may be gone, and its limits with it.
	gone := errors.Is(err, cgroup.ErrGone) || e.groups == nil && errors.Is(err, fs.ErrNotExist)
	if len(grants) == 0 && (err == nil || gone) {
		e.gone = true
		k.watch.remove(e)
		if e.unknown == "" {
			_ = k.store.forget(e)
		}
		k.mu.Lock()
		delete(k.budgets, e.target.Name)
		k.mu.Unlock()
		return
	}
	if err != nil {
		e.broken = append(e.broken, Fault{Text: err.Error(), Err: err})
	}
	k.schedule(e, old)
	k.follow(e)
}

// oldBudgets removes an earlier keeper's limits that no rule sets any more. All containers must be known by then.
func (k *Keeper) oldBudgets() {
	paths, _ := k.store.groups()
	for _, p := range paths {
		k.mu.Lock()
		k.addBudget(p)
		k.mu.Unlock()
	}
	k.applyBudgets()
	k.tellLost()
}

// every lists all entries: containers, shared groups and the root group.
func (k *Keeper) every() []*entry {
	list := append(k.all(), k.root)
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.AppendSeq(list, maps.Values(k.budgets))
}
