package plan

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// manual returns the pages about plans, as one.
func manual(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, page := range []string{"plan", "plan-workloads", "plan-limits"} {
		b, err := os.ReadFile("../../../docs/reference/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// TestManualExamples parses every YAML example of the manual. One without a name
// is a piece of a plan; it replaces its keys in a plan that has all others.
func TestManualExamples(t *testing.T) {
	schema := compileSchema(t)
	examples := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch([]byte(manual(t)), -1)
	if len(examples) < 8 {
		t.Fatalf("found %d examples, want at least 8", len(examples))
	}
	for _, m := range examples {
		example := m[1]
		if !bytes.HasPrefix(example, []byte("name:")) {
			example = complete(t, example)
		}
		if _, err := Parse("example", example); err != nil {
			t.Errorf("%v\n%s", err, example)
		}
		if err := validate(t, schema, example); err != nil {
			t.Errorf("%v\n%s", err, example)
		}
	}
}

// complete puts a piece of a plan into a whole one.
func complete(t *testing.T, piece []byte) []byte {
	t.Helper()
	var whole, part yaml.Node
	if err := yaml.Unmarshal([]byte("name: t\nengines: [host, oci]\nplaces: {dir: {}, layer: {}, bind: {}}\nworkloads: {rand: {kind: append}}\n"), &whole); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(piece, &part); err != nil {
		t.Fatalf("%v\n%s", err, piece)
	}
	for i := 0; i < len(part.Content[0].Content); i += 2 {
		put(whole.Content[0], part.Content[0].Content[i].Value, part.Content[0].Content[i+1])
	}
	out, err := yaml.Marshal(&whole)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestManualKeys checks that the manual's tables have every key of every
// section, and no other.
func TestManualKeys(t *testing.T) {
	text := manual(t)
	known := map[string]map[string]bool{}
	add := func(heading string, names []string) {
		if known[heading] == nil {
			known[heading] = map[string]bool{}
		}
		for _, n := range names {
			known[heading][n] = true
		}
	}
	add("The plan's keys", planSection().Names())
	for _, v := range workloads().Entry.Kinds {
		add("kind: "+v.Kind, v.Section.Names())
	}
	for _, v := range places().Entry.Kinds {
		add("places", append(v.Section.Names(), "kind"))
	}
	for _, v := range engineVariants().Kinds {
		add("engines", append(v.Section.Names(), "kind"))
	}
	add("limits", limits().Entry.Kinds[0].Section.Names())
	add("baseline", baselineSection().Names())
	for heading, names := range known {
		got := tableKeys(text, heading)
		for n := range names {
			if !got[n] {
				t.Errorf("the manual's section %q lacks %s", heading, n)
			}
		}
		for n := range got {
			if !names[n] {
				t.Errorf("the manual's section %q has %s, which is not a key", heading, n)
			}
		}
	}
	for _, n := range matchSection().Names() {
		if !strings.Contains(under(text, "include and exclude"), "`"+n+"`") {
			t.Errorf("the manual's section on matches lacks %s", n)
		}
	}
}

// under returns the text under a heading.
func under(text, heading string) string {
	_, after, _ := strings.Cut(text, "# "+heading+"\n")
	body, _, _ := strings.Cut(after, "\n## ") // Its own parts, too.
	return body
}

// tableKeys returns the first column of the tables of keys under a heading.
func tableKeys(text, heading string) map[string]bool {
	out := map[string]bool{}
	inTable := false
	for line := range strings.Lines(under(text, heading)) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		switch {
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case cell == "key":
			inTable = true
		case inTable && strings.HasPrefix(cell, "`"):
			for _, k := range strings.Split(cell, ", ") {
				out[strings.Trim(k, "`")] = true
			}
		}
	}
	return out
}
