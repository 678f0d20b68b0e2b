package profile

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// schema compiles the schema.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate runs YAML through the schema.
func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return err
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	for _, tt := range bad {
		if !tt.beyond && validate(t, s, []byte(tt.yaml)) == nil {
			t.Errorf("the schema accepts %s", tt.yaml)
		}
	}
}

// TestBuiltIn: each built-in profile is sound, in the one spelling, and the same after it was written and read, as YAML and as JSON.
func TestBuiltIn(t *testing.T) {
	want := []string{"BASIC", "BRONZE", "GOLD", "LARGE", "MEDIUM", "MINIO", "MYSQL", "NGINX", "POSTGRES", "SHARED", "SILVER", "SMALL"}
	if d := cmp.Diff(want, BuiltIn()); d != "" {
		t.Errorf("BuiltIn() (-want +got):\n%s", d)
	}
	s, store := schema(t), In(t.TempDir())
	list, err := store.List()
	if err != nil || len(list) != len(want) {
		t.Fatalf("List() = %d profiles, %v, want %d", len(list), err, len(want))
	}
	for _, l := range list {
		p, name := &l.Profile, l.Name
		if !l.BuiltIn || p.Description == "" || p.Capacity == 0 || !slices.Contains(want, name) {
			t.Errorf("List() has %+v", l)
		}
		checkRoundTrip(t, p)
		_, text := builtIn(name)
		for _, text := range [][]byte{text, p.Marshal()} {
			if err := validate(t, s, text); err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
		}
	}
}
