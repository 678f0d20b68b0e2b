package keeper

import (
	"cmp"
	"slices"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/policy"
)

// recall reads the record that an earlier keeper, or a hook, made of a locked entry: its limits, and its names and
// labels for when its engine can't be asked.
func (k *Keeper) recall(e *entry) {
	if k.plans || e.recalled && (len(e.held) > 0 || e.stale) {
		return
	}
	held, known, err := k.store.load(e)
	if err != nil {
		text := "its earlier limits can't be read: " + err.Error()
		if !e.recalled {
			k.logf("%s: %s", e.name(), text)
		}
		e.unknown = text
	} else if len(held) > 0 {
		e.unknown = "" // A hook has recorded it again.
	}
	e.recalled, e.held = true, held
	if known != nil && e.target.Partial {
		e.target = known.as(e.target)
	}
}

// fuller reports whether t has no fewer names and labels than old: what a daemon reports is better than what its
// files show while it is down.
func fuller(t, old target.Target) bool {
	if t.Partial != old.Partial {
		return old.Partial
	}
	return t.Host != "" || old.Host == ""
}

// undecided reports whether it isn't known which limits an entry's rules set: its engine could not be asked about it in
// full, or a ceiling can't be read.
func (e *entry) undecided() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.gone && (e.target.Partial || e.unread)
}

// A known is what an engine told about a container, for matching rules.
type known struct {
	Engine    target.Engine     `json:"engine"`
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name"`
	Image     string            `json:"image,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Mounts    []target.Mount    `json:"mounts,omitempty"`
	Host      string            `json:"host,omitempty"`
	OS        string            `json:"os,omitempty"`
}

// knownOf is what is known of a target, nil where its engine knows more or needn't be asked.
func knownOf(t target.Target) *known {
	if t.Kind != target.Container || t.Partial {
		return nil
	}
	return &known{t.Engine, t.Namespace, t.Name, t.Image, t.Labels, t.Mounts, t.Host, t.OS}
}

// as is t with the recorded names and labels.
func (k *known) as(t target.Target) target.Target {
	t.Engine, t.Namespace, t.Name, t.Image, t.Labels, t.Mounts, t.Host, t.OS = k.Engine, k.Namespace, k.Name, k.Image, k.Labels, k.Mounts, k.Host, k.OS
	t.Partial = false
	return t
}

// standing returns grants that keep t's present limits where it isn't known whether their rules still match t, because
// its engine can't be asked.
func standing(p *policy.Policy, held map[Slot]*Limit, t target.Target) []Grant {
	var list []Grant
	for _, h := range held {
		i := ruleIndex(p, h.Rule)
		if i >= 0 && !p.Rules[i].Matches(t) && !p.Rules[i].Limits.IsZero() {
			g := h.Grant
			g.rank = i
			list = append(list, g)
		}
	}
	return list
}

// inherited returns grants that keep an earlier keeper's limits of the locked root group while it isn't known whether a
// container needs them. Until the engines have been asked, these are all limits; then, until the engines have listed all
// containers, the limits of the policy's rules.
func (k *Keeper) inherited() []Grant {
	if k.complete.Load() {
		return nil
	}
	k.mu.Lock()
	p := k.loaded.policy
	k.mu.Unlock()
	var list []Grant
	for _, h := range k.root.held {
		g := h.Grant
		g.rank = ruleIndex(p, h.Rule)
		if g.inherited && (g.rank >= 0 || !k.listed.Load()) {
			list = append(list, g)
		}
	}
	return k.withoutGone(list)
}

// ruleIndex is a rule's index in the policy, -1 without it.
func ruleIndex(p *policy.Policy, name string) int {
	return slices.IndexFunc(p.Rules, func(r policy.Rule) bool { return r.Name == name })
}

// merge merges two lists of grants: if both have a slot, the later rule decides. The result is in the rules' order.
func merge(grants, others []Grant) []Grant {
	for _, o := range others {
		i := slices.IndexFunc(grants, func(g Grant) bool { return g.Slot == o.Slot })
		switch {
		case i < 0:
			grants = append(grants, o)
		case grants[i].rank < o.rank:
			grants[i] = o
		}
	}
	slices.SortFunc(grants, func(a, b Grant) int { return cmp.Or(a.rank-b.rank, compareSlots(a.Slot, b.Slot)) })
	return grants
}

// remembered turns a record into a Limit.
func (h recordedLimit) remembered() *Limit {
	h.limits, h.was, h.identity, h.inherited, h.prior, h.unverified = h.Limits, h.Before, h.Identity, true, h.Prior, true
	return &h.Limit
}
