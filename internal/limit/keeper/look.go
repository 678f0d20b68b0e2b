package keeper

import (
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
)

// A Looked is what a keeper would hold targets to, in the parts of a Status.
type Looked struct {
	Containers []Seen `json:"containers"`
	// RootGroup is what rules that are device-wide give.
	RootGroup *Seen `json:"root_group,omitempty"`
	// Together are the groups that several containers have in common, and TogetherFaults the rules that can't be kept for them.
	Together       []Seen  `json:"together"`
	TogetherFaults []Fault `json:"together_faults"`
}

// A Seen is what a policy would give a container, or a group of several.
type Seen struct {
	Target string `json:"target"`
	ID     string `json:"id,omitempty"`
	// Rules are the names of those that match, in their order.
	Rules  []string      `json:"rules"`
	Grants []GrantedSeen `json:"limits"`
	Faults []Fault       `json:"faults"`
	// Unlimited says of the data that rules are for which has no limit, and why.
	Unlimited []string `json:"unlimited"`
	// Escapes are what of the data would get past limits on writes, and not into one of the root group's.
	Escapes []hold.Escape `json:"escapes"`
}

// A GrantedSeen is a grant, and what is there now.
type GrantedSeen struct {
	Grant
	// Now is what the kernel holds it to, in a policy's words.
	Now string `json:"now"`
	// Same is set if that is what the grant says.
	Same bool `json:"same"`
}

// Look says what a policy gives to targets, and writes nothing: it is a keeper whose writes are only planned.
func Look(h *hold.Holder, p *policy.Policy, ceilings Ceilings, targets []target.Target) Looked {
	k := &Keeper{
		opt: Options{Ceilings: ceilings}, holder: h, loaded: loadedPolicy{policy: p}, plans: true, closed: true,
		entries: map[string]*entry{}, wides: map[string][]Grant{}, shares: map[string][]Grant{}, budgets: map[string]*entry{},
		root: &entry{held: map[Slot]*Held{}},
	}
	k.complete.Store(true)
	out := Looked{Containers: []Seen{}}
	for _, t := range targets {
		e := &entry{key: keyOf(t), id: t.ID, process: t, target: t, since: time.Now(), held: map[Slot]*Held{}}
		k.entries[e.key] = e
		if len(p.Of(t)) > 0 {
			err := k.find(e)
			if err == nil {
				_, err = k.settle(e)
			}
			if err != nil {
				e.broken = append(e.broken, Fault{Text: err.Error(), Err: err})
			}
		}
		out.Containers = append(out.Containers, e.planned())
	}
	k.applyRoot()
	if root := k.root.planned(); len(root.Grants)+len(root.Faults) > 0 {
		out.RootGroup = &root
	}
	root := k.inRoot()
	for i := range out.Containers {
		out.Containers[i].Escapes = escaping(out.Containers[i].Escapes, root)
	}
	k.applyBudgets()
	for _, e := range k.budgets {
		out.Together = append(out.Together, e.planned())
	}
	slices.SortFunc(out.Together, func(a, b Seen) int { return strings.Compare(a.Target, b.Target) })
	for _, rule := range slices.Sorted(maps.Keys(k.budgetFaults)) {
		out.TogetherFaults = append(out.TogetherFaults, Fault{Rule: rule, Text: k.budgetFaults[rule]})
	}
	return out
}

// planned is what an entry would be held to.
func (e *entry) planned() Seen {
	s := Seen{Target: e.name(), ID: e.id, Rules: e.rules, Faults: e.broken, Unlimited: e.unlimited, Escapes: e.escapes}
	for _, h := range e.slots() {
		s.Grants = append(s.Grants, GrantedSeen{h.Grant, h.Was, h.was == h.limits})
	}
	return s
}

// plan is hold for a keeper that writes nothing.
func (k *Keeper) plan(e *entry, grants []Grant) error {
	before, err := k.holder.Groups.Read(e.groups)
	if err != nil {
		return err
	}
	e.held, e.parts = map[Slot]*Held{}, nil
	for _, p := range parts(grants) {
		if err := tryPart(k.holder, e.groups, p); err != nil {
			e.broken = append(e.broken, Fault{Rule: p.rule, Text: err.Error(), Err: err})
			continue
		}
		e.parts = append(e.parts, p)
		for _, g := range grants {
			if g.Rule == p.rule {
				was := wasLimit(before, g.Slot)
				e.held[g.Slot] = &Held{Grant: g, Was: was.Text(g.Key), was: was}
			}
		}
	}
	return nil
}

// tryPart plans what one rule gives, and returns why that can't be had.
func tryPart(h *hold.Holder, groups *cgroup.Target, p part) error {
	for _, w := range p.wants {
		if _, err := h.Groups.Plan(groups, w); err != nil {
			return err
		}
	}
	return nil
}
