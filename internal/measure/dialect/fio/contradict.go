package fio

import (
	"reflect"
	"strings"

	"plimsoll/internal/measure/dialect"
)

// rivals are options of different names that set the same thing. In fio the last one wins.
var rivals = map[string]string{
	"direct": "the page cache", "buffered": "the page cache",
	"rwmixread": "the mix", "rwmixwrite": "the mix",
	"cpus_allowed": "the processors", "cpumask": "the processors",
	"bsrange": "the sizes", "bssplit": "the sizes",
}

// contradictions refuses rivals with different values in one section. An option that is repeated with another value
// gets a note: the last one wins, as in fio, because appending an option is the usual way to change a command line. A
// section may override [global].
func (t *Test) contradictions(section string, all []assignment) error {
	last, own := map[string]assignment{}, map[string]assignment{}
	noted := map[*Option]bool{}
	for _, a := range all {
		if b, ok := own[a.opt.Name]; ok && b.value != a.value && !noted[a.opt] && a.opt.Name != "name" && !partial(a.value) {
			noted[a.opt] = true
			t.note("%s: %s=%s takes the place of %s=%s, as in fio", section, a.key, a.value, b.key, b.value)
		}
		own[a.opt.Name] = a
		what := rivals[a.opt.Name]
		if what == "" {
			continue
		}
		if b, ok := last[what]; ok && b.opt != a.opt && ordered(a, b) {
			return dialect.Usagef(a.where, "%s contradicts %s (%s): both set %s", a.key, b.key, b.where, what)
		}
		last[what] = a
	}
	for _, name := range []string{"bssplit", "bsrange"} {
		bs, one := own["bs"]
		if s, ok := own[name]; ok && one && strings.Trim(s.value, ",") == s.value {
			t.note("%s: %s=%s has no effect beside %s, as in fio", section, bs.key, bs.value, s.key)
		}
	}
	return nil
}

// partial reports whether a value sets only reads or only writes, and leaves the other as it was.
func partial(value string) bool {
	return strings.HasPrefix(value, ",") || strings.HasSuffix(value, ",")
}

// ordered reports whether the order of two options matters. An option with an invalid value doesn't count: it is
// refused later with its own error.
func ordered(a, b assignment) bool {
	x, y := newJob(), newJob()
	for _, o := range []struct {
		j             *job
		first, second assignment
	}{{x, a, b}, {y, b, a}} {
		if o.first.apply(o.j) != nil || o.second.apply(o.j) != nil {
			return false
		}
	}
	return !reflect.DeepEqual(x, y)
}
