package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/text/layout"
	"plimsoll/internal/text/nearest"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/usage"
)

// A Level says how far a backend keeps a promise.
type Level string

// The levels.
const (
	// Enforced is what the backend makes true.
	Enforced Level = "enforced"
	// Advisory is what the backend knows of and nothing enforces, or of which isn't known whether it can.
	Advisory Level = "advisory"
	// Unsupported is what the backend can't do.
	Unsupported Level = "unsupported"
)

// An Ability is the answer of a backend to one key of a profile.
type Ability struct {
	Key string `json:"key"`
	// Value is the profile's, for people.
	Value string `json:"value"`
	Level Level  `json:"level"`
	// Optional says that the backend may leave the key out.
	Optional bool   `json:"optional"`
	Why      string `json:"why"`
	// Fix is what would help; it may be empty.
	Fix string `json:"fix,omitempty"`
}

// A Backend makes volumes. It answers for each key that a profile can have.
type Backend struct {
	Name string
	// here is nil if the backend works on a machine; else the reason why not.
	here  func(Machine) error
	rules map[string]rule
}

// A rule answers for one key.
type rule func(question) Ability

// A question is a profile, asked of a backend on a machine.
type question struct {
	p *Profile
	m Machine
	// folder is where the data would be kept.
	folder string
}

func enforced(why string) Ability         { return Ability{Level: Enforced, Why: why} }
func advisory(why string) Ability         { return Ability{Level: Advisory, Why: why} }
func unsupported(why, fix string) Ability { return Ability{Level: Unsupported, Why: why, Fix: fix} }

// always is the rule of a key whose answer never differs.
func always(a Ability) rule { return func(question) Ability { return a } }

// Backends are the kinds of backend.
func Backends() []Backend { return []Backend{local(), directory(), nfs()} }

// BackendNames lists them.
func BackendNames() []string {
	var names []string
	for _, b := range Backends() {
		names = append(names, b.Name)
	}
	return names
}

// BackendNamed returns a backend. The error is a *usage.Error.
func BackendNamed(name string) (Backend, error) {
	all := Backends()
	i := slices.IndexFunc(all, func(b Backend) bool { return b.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	near := ""
	if best := nearest.Word(name, BackendNames()); best != "" {
		near = ", did you mean " + best + "?"
	}
	return Backend{}, usage.Errorf("there is no backend %q%s (there are %s)", name, near, strings.Join(BackendNames(), ", "))
}

// A Report is what a backend answers to a profile.
type Report struct {
	Profile string `json:"profile"`
	Backend string `json:"backend"`
	// Refused says why a volume would be refused; "" if it would be made.
	Refused string    `json:"refused"`
	Keys    []Ability `json:"keys"`
	refusal error
}

// Refusal is the *refusal.Error with which a volume is refused, or nil.
func (r Report) Refusal() error { return r.refusal }

// Check asks a backend for each key of a profile, now and on this machine. folder is where the backend keeps its data if the profile names no
// directory.
func Check(p *Profile, b Backend, m Machine, folder string) Report {
	q := question{p: p, m: m, folder: cmp.Or(p.Directory, folder)}
	r := Report{Profile: p.Name, Backend: b.Name, Keys: []Ability{}}
	for _, promise := range promises {
		value := promise.value(p)
		if value == "" {
			continue
		}
		a := b.rules[promise.key](q)
		a.Key, a.Value, a.Optional = promise.key, value, slices.Contains(p.Optional, promise.key)
		r.Keys = append(r.Keys, a)
	}
	if r.refusal = refuse(r, b.here(m)); r.refusal != nil {
		r.Refused = r.refusal.Error()
	}
	return r
}

// refuse returns the refusal of a report, or nil.
func refuse(r Report, here error) error {
	what := strings.TrimSpace("profile "+r.Profile) + " on backend " + r.Backend
	if a, no := answered(here); no && a.Level == Unsupported {
		return &refusal.Error{What: what, Why: a.Why, Fix: a.Fix}
	}
	var keys, why []string
	for _, a := range r.Keys {
		if a.Level == Unsupported && !a.Optional {
			reason := a.Key + ": " + a.Why
			if a.Fix != "" {
				reason += " (" + a.Fix + ")"
			}
			keys, why = append(keys, a.Key), append(why, reason)
		}
	}
	if keys == nil {
		return nil
	}
	return &refusal.Error{What: what, Why: strings.Join(why, "; "), Fix: "to go without, write optional: [" + strings.Join(keys, ", ") + "] in the profile"}
}

// Text is the report for people, of a volume that is not made yet.
func (r Report) Text() string {
	text := r.Table()
	if r.Refused == "" {
		text += fmt.Sprintf("\nA volume would be made: %s.\n", r.sum())
	}
	return text
}

// Table is the answer to each key, for people.
func (r Report) Table() string {
	var b strings.Builder
	table := layout.Table{Head: []string{"KEY", "VALUE", "LEVEL", "WHY"}}
	for _, a := range r.Keys {
		level := string(a.Level)
		if a.Optional && a.Level == Unsupported {
			level += ", optional"
		}
		why := a.Why
		if a.Fix != "" {
			why += "; " + a.Fix
		}
		table.Add(a.Key, a.Value, level, why)
	}
	table.Write(&b)
	return b.String()
}

// sum counts the keys of each level.
func (r Report) sum() string {
	count := map[Level]int{}
	for _, a := range r.Keys {
		count[a.Level]++
	}
	var parts []string
	for _, l := range []Level{Enforced, Advisory, Unsupported} {
		if count[l] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[l], l))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "it asks for nothing")
}
