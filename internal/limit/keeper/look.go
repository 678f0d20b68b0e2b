package keeper

import (
	"slices"

	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/limit/target"
)

// A Seen is what a policy would give a container.
type Seen struct {
	Target string `json:"target"`
	ID     string `json:"id,omitempty"`
	// Rules are the names of those that match, in their order.
	Rules  []string      `json:"rules,omitempty"`
	Grants []GrantedSeen `json:"limits,omitempty"`
	Faults []Fault       `json:"faults,omitempty"`
}

// A GrantedSeen is a grant, and what is there now.
type GrantedSeen struct {
	Grant
	// Now is what the kernel holds it to, in a policy's words.
	Now string `json:"now"`
	// Same is set if that is what the grant says.
	Same bool `json:"same"`
}

// Look says what a policy gives to targets, and writes nothing.
func Look(h *hold.Holder, p *policy.Policy, ceilings Ceilings, targets []target.Target) []Seen {
	out := []Seen{}
	for _, t := range targets {
		out = append(out, look(h, p, ceilings, t))
	}
	return out
}

func look(h *hold.Holder, p *policy.Policy, ceilings Ceilings, t target.Target) Seen {
	r := rule(h, p, ceilings, t)
	s := Seen{Target: t.Ref(), ID: t.ID, Rules: r.rules, Faults: r.faults}
	if len(r.grants) == 0 {
		return s
	}
	fail := func(err error) Seen {
		s.Faults = append(s.Faults, Fault{Text: err.Error(), Err: err})
		return s
	}
	scope, err := h.ScopeOf(t, hold.Where{}, false)
	if err != nil {
		return fail(err)
	}
	own, err := h.Groups.Read(scope.Parts[0].Groups)
	if err != nil {
		return fail(err)
	}
	var root []cgroup.State
	narrow := slices.DeleteFunc(slices.Clone(r.grants), func(g Grant) bool { return g.Wide || g.Together })
	for _, part := range parts(narrow) {
		if err := tryPart(h, scope.Parts[0].Groups, part); err != nil {
			s.Faults = append(s.Faults, Fault{Rule: part.rule, Text: err.Error(), Err: err})
		}
	}
	for _, g := range r.grants {
		states := own
		if g.Wide {
			if root == nil {
				if groups, err := h.Groups.Device(); err == nil {
					root, _ = h.Groups.Read(groups)
				}
			}
			states = root
		}
		if g.Together {
			states = nil // It is known when all containers are.
		}
		now := wasLimit(states, g.Slot)
		s.Grants = append(s.Grants, GrantedSeen{g, now.Text(g.Key), now == g.limits})
	}
	return s
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
