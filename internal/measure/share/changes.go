package share

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"plimsoll/internal/measure/plan"
	"plimsoll/plans"
)

// A Change is a key of a plan that differs from the built-in plan of the same name.
type Change struct {
	// Key is the path of the key, such as workloads.wal.runtime. It is "plan" if no built-in plan has the name, "quick" if the plan's
	// quick section was merged over it, and "run" if not all of the plan was run.
	Key string `json:"key"`
	// BuiltIn and File are the two values in JSON; empty if there is none.
	BuiltIn string `json:"built_in,omitempty"`
	File    string `json:"file,omitempty"`
	// Text is the change in words, for keys that are not a plan's.
	Text string `json:"text,omitempty"`
}

// String is "blocks: 3, built in: 20".
func (c Change) String() string {
	if c.Text != "" {
		return c.Key + ": " + c.Text
	}
	value := func(s string) string {
		if s == "" {
			return "not set"
		}
		return s
	}
	return fmt.Sprintf("%s: %s, built in: %s", c.Key, value(c.File), value(c.BuiltIn))
}

// changesOf lists how a plan differs from the built-in one of its name. The quick form of that plan is taken if it is nearer.
func changesOf(p *plan.Plan) ([]Change, error) {
	if !slices.Contains(plans.Names(), p.Name) {
		return []Change{{Key: "plan", Text: "it is not a plan of Plimsoll's own"}}, nil
	}
	text, err := plans.Get(p.Name)
	if err != nil {
		return nil, err
	}
	var best []Change
	for _, quick := range []bool{false, true} {
		q, err := plan.ParseWith(plans.File(p.Name), text, plan.Options{Quick: quick})
		if err != nil {
			return nil, err
		}
		all, err := differences(q, p)
		if err != nil {
			return nil, err
		}
		if quick {
			all = append([]Change{{Key: "quick", Text: "the plan was shortened by its quick section (--quick)"}}, all...)
		}
		if !quick || len(all) < len(best) {
			best = all
		}
	}
	return best, nil
}

// differences lists the keys that differ between two plans, sorted.
func differences(builtIn, file *plan.Plan) ([]Change, error) {
	x, err := leaves(builtIn)
	if err != nil {
		return nil, err
	}
	y, err := leaves(file)
	if err != nil {
		return nil, err
	}
	keys := maps.Clone(x)
	maps.Copy(keys, y)
	var all []Change
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if x[k] != y[k] {
			all = append(all, Change{Key: k, BuiltIn: x[k], File: y[k]})
		}
	}
	return all, nil
}

// leaves are a plan's values in JSON by the paths of their keys. A list is one value.
func leaves(p *plan.Plan) (map[string]string, error) {
	b, err := plan.JSON("the plan", p.Marshal())
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		return nil, err
	}
	out := map[string]string{}
	return out, addLeaves(out, "", tree)
}

func addLeaves(out map[string]string, path string, v any) error {
	if m, ok := v.(map[string]any); ok && (len(m) > 0 || path == "") {
		for k, sub := range m {
			at := k
			if path != "" {
				at = path + "." + k
			}
			if err := addLeaves(out, at, sub); err != nil {
				return err
			}
		}
		return nil
	}
	b, err := encode(v)
	out[path] = string(b)
	return err
}
