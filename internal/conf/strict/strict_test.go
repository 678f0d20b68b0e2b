package strict_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
)

// A cup is what the test's files hold.
type cup struct {
	Name   string
	Volume int64
	Labels map[string]string
}

var cups = strict.Document{What: "cup", Empty: "it needs a name", MaxNodes: 100}

func cupSection() strict.Section[cup] {
	return strict.Section[cup]{
		What: "a cup",
		Fields: []strict.Field[cup]{
			strict.Must(strict.Key("name", "What it is called.", strict.Name(), func(c *cup) *string { return &c.Name })),
			strict.Key("volume", "What goes in.", strict.Size(1, 1<<20), func(c *cup) *int64 { return &c.Volume }),
			strict.Key("labels", "Free keys.", strict.TextMap{}, func(c *cup) *map[string]string { return &c.Labels }),
		},
		Check: func(d *strict.Decoder, path string, c *cup) {
			if c.Name == "sieve" {
				d.Fail(strict.Join(path, "name"), "a sieve is no cup")
			}
		},
	}
}

func readCup(text string) (c cup, err error) {
	d := strict.NewDecoder(&strict.Faults{File: "f"}, nil)
	if root := cups.Parse(d.Faults, []byte(text)); root != nil {
		cupSection().Decode(d, root, "", &c)
	}
	return c, d.Err()
}

// TestSection: each fault has its place, and all of them come at once.
func TestSection(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{"", "f:1:1: the cup is empty: it needs a name"},
		{"---\n", "f:1:1: the cup is empty"},
		{"{", "not YAML"},
		{strings.Repeat("#", strict.MaxSize+1), "too large for a cup"},
		{"name: a\n---\nname: b", "f:2:1: a second document starts here: a file holds one cup"},
		{"name: a\nvolum: 1KiB", "f:2:1: a cup has no key \"volum\", did you mean volume? (its keys: name, volume, labels)"},
		{"name: a\nname: b", "f:2:1: \"name\" is given twice: first at line 1"},
		{"name:", "f:1:1: name: has no value"},
		{"name: !x a", "f:1:7: the tag !x is not used in a cup"},
		{"volume: 1KiB", "f:1:1: a cup needs name (what it is called)"},
		{"name: a\nvolume: 2MiB", "f:2:9: volume: 2MiB is out of range: wants 1 to 1MiB"},
		{"name: sieve", "f:1:1: name: a sieve is no cup"},
		{"name: 1/2\nvolume: x\nfoot: y", "f:1:7: name: \"1/2\" is not a name: use up to 63 letters, digits, - and _, and begin with a letter or digit\nf:2:9: volume: \"x\" is not a size: write a number and a unit, like 4KiB or 10MB\nf:3:1: a cup has no key \"foot\" (its keys: name, volume, labels)"},
		{"a: &a [" + strings.Repeat("1,", 20) + "]\nb: [" + strings.Repeat("*a,", 20) + "]", "stand for too much (more than 100 values or 32 levels)"},
		{"name: *a", "not YAML"},
		{strings.Repeat("? ", 40) + "a", "more than 100 values or 32 levels"},
	} {
		_, err := readCup(row.in)
		var all strict.Errors
		if !errors.As(err, &all) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%.60q: %v, want %q", row.in, err, row.want)
		}
	}
	got, err := readCup("<<: {name: a, volume: 1KiB}\nname: b\nlabels: {on: yes, 4: 010}")
	if want := (cup{"b", 1024, map[string]string{"on": "yes", "4": "010"}}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("a cup is %v, %v; want %v", got, err, want)
	}
	text, err := yaml.Marshal(cupSection().Encode(&got))
	if back, err2 := readCup(string(text)); err != nil || err2 != nil || !cmp.Equal(back, got) {
		t.Errorf("%s is read back as %v: %v, %v", text, back, err, err2)
	}
}

// TestMap: keys without a table are as strict.
func TestMap(t *testing.T) {
	for in, want := range map[string]string{
		"[]":            "f:1:1: a lid is a map of keys and values, this is a list",
		"siz: 4":        "f:1:1: a lid has no key \"siz\", did you mean size? (its keys: form, size)",
		"size: ":        "f:1:1: size: has no value",
		"size: 4":       "size=4",
		"<<: {size: 4}": "size=4",
	} {
		d, got := strict.NewDecoder(&strict.Faults{File: "f"}, nil), ""
		root := strict.Document{What: "lid", MaxNodes: 10}.Parse(d.Faults, []byte(in))
		d.Map(root, "", "a lid", map[string]func(*yaml.Node, string){
			"size": func(v *yaml.Node, path string) { got = path + "=" + v.Value },
			"form": func(*yaml.Node, string) {},
		})
		if err := d.Err(); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestErrorsAreBounded: a file of another kind has no end of faults.
func TestErrorsAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 90 {
		fmt.Fprintf(&text, "k%d:\n", i)
	}
	big := cups
	big.MaxNodes = 1000
	d := strict.NewDecoder(&strict.Faults{File: "f"}, nil)
	cupSection().Decode(d, big.Parse(d.Faults, []byte(text.String())), "", new(cup))
	lines := strings.Split(d.Err().Error(), "\n")
	if len(lines) != strict.MaxErrors+1 || !strings.HasSuffix(lines[strict.MaxErrors], "and 41 more faults") {
		t.Errorf("91 faults end in %q", lines[len(lines)-1])
	}
}
