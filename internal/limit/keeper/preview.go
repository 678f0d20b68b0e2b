package keeper

import (
	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
)

// A Preview is what a policy gives to the containers that run now.
type Preview struct {
	// Policy is the file, and Rules how many it has.
	Policy string `json:"policy"`
	Rules  int    `json:"rules"`
	Looked
	// Unmatched are the rules that no container matches.
	Unmatched []string `json:"unmatched_rules"`
}

// Check looks at what the policy of a file gives to containers, and writes nothing.
func Check(h *hold.Holder, path string, p *policy.Policy, ceilings Ceilings, running []target.Target) Preview {
	return Preview{path, len(p.Rules), Look(h, p, ceilings, running), p.Unmatched(running)}
}
