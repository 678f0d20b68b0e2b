package share

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

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

// String is "blocks: 3, built in: 20". Of two lists it has the entries that only one of them has.
func (c Change) String() string {
	if c.Text != "" {
		return c.Key + ": " + c.Text
	}
	if more, fewer, ok := c.entries(); ok {
		text := c.Key + ":"
		for _, e := range more {
			text += " with " + e + ","
		}
		for _, e := range fewer {
			text += " without " + e + ","
		}
		return strings.TrimSuffix(text, ",")
	}
	return fmt.Sprintf("%s: %s, built in: %s", c.Key, cmp.Or(c.File, "not set"), cmp.Or(c.BuiltIn, "not set"))
}

// entries are those that only the file's list has, and only the built-in one. ok is false if the values are no lists, or lists that
// differ in their order alone.
func (c Change) entries() (more, fewer []string, ok bool) {
	var x, y []json.RawMessage
	if json.Unmarshal([]byte(cmp.Or(c.BuiltIn, "[]")), &x) != nil || json.Unmarshal([]byte(cmp.Or(c.File, "[]")), &y) != nil {
		return nil, nil, false
	}
	more, fewer = without(y, x), without(x, y)
	return more, fewer, len(more)+len(fewer) > 0
}

// without are the entries of a list that another one lacks.
func without(list, other []json.RawMessage) (out []string) {
	for _, e := range list {
		if !slices.ContainsFunc(other, func(o json.RawMessage) bool { return bytes.Equal(o, e) }) {
			out = append(out, string(e))
		}
	}
	return out
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
	x, err := tree(builtIn)
	if err != nil {
		return nil, err
	}
	y, err := tree(file)
	if err != nil {
		return nil, err
	}
	return addDifferences(nil, "", x, y)
}

// tree is a plan as JSON has it.
func tree(p *plan.Plan) (out any, err error) {
	b, err := plan.JSON("the plan", p.Marshal())
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(b, &out)
}

// addDifferences adds the differences of two values below a path. A key that one of them lacks is one difference with all below it,
// and so is a list.
func addDifferences(all []Change, path string, builtIn, file any) ([]Change, error) {
	x, isMap := builtIn.(map[string]any)
	y, both := file.(map[string]any)
	if isMap && both {
		keys := maps.Clone(x)
		maps.Copy(keys, y)
		var err error
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			if all, err = addDifferences(all, strings.TrimPrefix(path+"."+k, "."), x[k], y[k]); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	if reflect.DeepEqual(builtIn, file) {
		return all, nil
	}
	c := Change{Key: path}
	for _, v := range []struct {
		text  *string
		value any
	}{{&c.BuiltIn, builtIn}, {&c.File, file}} {
		if v.value == nil {
			continue
		}
		b, err := encode(v.value)
		if err != nil {
			return nil, err
		}
		*v.text = string(b)
	}
	return append(all, c), nil
}
