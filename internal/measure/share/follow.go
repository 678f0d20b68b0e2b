package share

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// follows checks that a run of a file is the one that its trials make, with nothing else in it. Between two versions of Plimsoll only
// figures and verdicts are compared, as words and keys may have changed.
func follows(g *given, made *Run, words bool) error {
	d := differ{words}
	for i := range made.Report.Workloads {
		w := &made.Report.Workloads[i]
		if i >= len(g.Report.Workloads) || g.Report.Workloads[i].Name != w.Name || len(g.Report.Workloads[i].Cells) != len(w.Cells) {
			return invalid("the cells of its report are not those of its trials")
		}
		for j := range w.Cells {
			if at := d.find(g.Report.Workloads[i].Cells[j], w.Cells[j]); at != "" {
				return invalid("the verdict of %s does not follow from its trials: %s", w.Cells[j].Key, at)
			}
		}
	}
	if at := d.find(g.tree, made); at != "" {
		return invalid("it is not what its trials make: %s", at)
	}
	return nil
}

// A differ looks for the first difference between two values by their JSON.
type differ struct {
	// words compares texts of all keys, and not only verdicts.
	words bool
}

// judged are the keys whose texts are verdicts or identify what they are about.
var judged = []string{"kind", "key", "name", "status", "severity", "unit", "workload", "engine", "place", "limits", "plan", "id"}

// find describes the first difference; empty if there is none.
func (d differ) find(given, made any) string {
	x, err := plain(given)
	if err != nil {
		return err.Error()
	}
	y, err := plain(made)
	if err != nil {
		return err.Error()
	}
	return d.at("", "", x, y)
}

// plain is a value as JSON has it.
func plain(v any) (out any, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(b, &out)
}

// at compares two values below a path; key is the last key of it.
func (d differ) at(path, key string, given, made any) string {
	switch made := made.(type) {
	case map[string]any:
		given, ok := given.(map[string]any)
		if !ok {
			return path + " is missing"
		}
		return d.maps(path, given, made)
	case []any:
		given, _ := given.([]any)
		if len(given) != len(made) {
			return fmt.Sprintf("%s has %d entries and should have %d", path, len(given), len(made))
		}
		for i := range made {
			if s := d.at(fmt.Sprintf("%s[%d]", path, i), key, given[i], made[i]); s != "" {
				return s
			}
		}
		return ""
	case float64:
		if given, ok := given.(float64); ok && near(given, made) {
			return ""
		}
	case string:
		if !d.words && !slices.Contains(judged, key) || given == made {
			return ""
		}
	default:
		if given == made {
			return ""
		}
	}
	return fmt.Sprintf("%s is %s and should be %s", path, short(given), short(made))
}

// maps compares the values of two objects. A version may have keys that another one lacks.
func (d differ) maps(path string, given, made map[string]any) string {
	keys := slices.Collect(maps.Keys(made))
	for k := range given {
		if _, ok := made[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		x, inGiven := given[k]
		y, inMade := made[k]
		if inGiven != inMade && !d.words {
			continue
		}
		at := k
		if path != "" {
			at = path + "." + k
		}
		switch {
		case !inGiven:
			return fmt.Sprintf("%s is missing and should be %s", at, short(y))
		case !inMade:
			return fmt.Sprintf("%s is %s and should not be there", at, short(x))
		}
		if s := d.at(at, k, x, y); s != "" {
			return s
		}
	}
	return ""
}

// short is a value for a message.
func short(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > 60 {
		return string(b[:57]) + "..."
	}
	return string(b)
}
