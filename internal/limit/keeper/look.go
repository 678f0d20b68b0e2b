package keeper

import (
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
)

// A Preview is the limits that a keeper would set for the containers that run now, in the parts of a Status.
type Preview struct {
	// Policy is the file, and Rules how many it has.
	Policy     string `json:"policy"`
	Rules      int    `json:"rules"`
	Containers []Seen `json:"containers"`
	// RootGroup is the limits of device-wide rules.
	RootGroup *Seen `json:"root_group,omitempty"`
	// Together are the groups that several containers share, and TogetherFaults the rules that can't be applied to
	// them.
	Together       []Seen  `json:"together"`
	TogetherFaults []Fault `json:"together_faults"`
	// Unmatched are the rules that no container matches.
	Unmatched []string `json:"unmatched_rules"`
}

// A Seen is what a policy would give a container, or a group that several share.
type Seen struct {
	Target string `json:"target"`
	ID     string `json:"id,omitempty"`
	// Rules are the names of the matching rules, in order.
	Rules  []string      `json:"rules"`
	Grants []GrantedSeen `json:"limits"`
	Faults []Fault       `json:"faults"`
	// Unlimited describes data that rules select and that has no limit, with the reason.
	Unlimited []string `json:"unlimited"`
	// Escapes are the writes that would get past the limits, including those of the root group.
	Escapes []hold.Escape `json:"escapes"`
}

// A GrantedSeen is a grant, and the present value.
type GrantedSeen struct {
	Grant
	// Now is the kernel's present value, in a policy's words.
	Now string `json:"now"`
	// Same is set if the grant has the same value.
	Same bool `json:"same"`
}

// Look reports what a policy gives targets, and writes nothing: it is a keeper with these options that only plans its writes.
func Look(opt Options, p *policy.Policy, targets []target.Target) Preview {
	opt.Log = nil
	k := &Keeper{
		opt: opt, holder: opt.Holder, store: &store{}, loaded: loadedPolicy{policy: p}, plans: true, closed: true,
		entries: map[string]*entry{}, deviceWide: map[string][]Grant{}, shares: map[string][]Grant{}, budgets: map[string]*entry{},
		root: &entry{held: map[Slot]*Limit{}},
	}
	k.complete.Store(true)
	out := Preview{Policy: opt.Policy, Rules: len(p.Rules), Containers: []Seen{}, Unmatched: p.Unmatched(targets)}
	for _, t := range targets {
		e := &entry{key: keyOf(t), id: t.ID, process: t, target: t, since: time.Now(), held: map[Slot]*Limit{}}
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

// planned is the entry's part of a Preview.
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
	e.held, e.parts = map[Slot]*Limit{}, nil
	for _, p := range parts(grants) {
		if _, err := k.differs(e, p); err != nil {
			e.broken = append(e.broken, Fault{Rule: p.rule, Text: err.Error(), Err: err})
			continue
		}
		e.parts = append(e.parts, p)
		for _, g := range grants {
			if g.Rule == p.rule {
				was := wasLimit(before, g.Slot)
				e.held[g.Slot] = &Limit{Grant: g, Was: was.Text(g.Key), was: was}
			}
		}
	}
	return nil
}
