package plan

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/conf/strict"
)

// FuzzParse checks that nothing panics or runs away, that faults are of the
// promised type, and that a plan survives Marshal.
func FuzzParse(f *testing.F) {
	for _, tt := range bad {
		f.Add([]byte(tt.yaml))
	}
	for _, tt := range badForParser {
		if len(tt.yaml) < 10_000 {
			f.Add([]byte(tt.yaml))
		}
	}
	f.Add([]byte(base))
	f.Add([]byte(sound + "description: \"a\\n b\\u2028\\u0085 \"\nlimits: {none: {}, 'null': {cpus: 1e-1}}\nexclude: [{limits: 'null'}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("f", data)
		if b, err := JSON("f", data); err == nil && !json.Valid(b) {
			t.Fatalf("JSON = %s", b)
		}
		if err != nil {
			var list strict.Errors
			if p != nil || !errors.As(err, &list) || len(list) == 0 {
				t.Fatalf("Parse = %v, %T", p, err)
			}
			return
		}
		if len(p.Cells()) == 0 || p.Estimate() < 0 {
			t.Fatalf("a plan without cells, or of negative length: %+v", p)
		}
		text := p.Marshal()
		back, err := Parse("marshal", text)
		if err != nil {
			t.Fatalf("Parse(Marshal): %v\n%s", err, text)
		}
		if diff := cmp.Diff(p, back); diff != "" {
			t.Fatalf("Parse(Marshal) differs: %s\n%s", diff, text)
		}
	})
}

// FuzzFlags checks the same for what flags hold.
func FuzzFlags(f *testing.F) {
	f.Add("blocks=3", "engine=host", true)
	f.Add("workloads.append={<<: {a: b}}", "place=[", false)
	f.Add("engines.docker.image=x", "clients=*|2,workload=rand-*", false)
	f.Add("places.layer.x.y=*a", "a=b", true)
	f.Fuzz(func(t *testing.T, set, only string, quick bool) {
		p, err := ParseWith("f", []byte(base), Options{Set: []string{set}, Only: only, Quick: quick})
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a word")
			}
			return
		}
		if _, err := Parse("marshal", p.Marshal()); err != nil {
			t.Fatalf("Parse(Marshal): %v\n%s", err, p.Marshal())
		}
	})
}
