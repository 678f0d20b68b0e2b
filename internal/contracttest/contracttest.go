// Package contracttest compares requests with the Docker Engine's published description of its API, which the API's module
// brings: so that tests can say of a request what a daemon that isn't here would.
package contracttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// A Description is the Engine's published description of its API.
type Description struct{ doc map[string]any }

// Read reads the description that the API's module brings.
func Read(t *testing.T) *Description {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/moby/moby/api").Output()
	if err != nil {
		t.Fatalf("where the API's module is: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "swagger.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Description{}
	if err := yaml.Unmarshal(b, &s.doc); err != nil {
		t.Fatal(err)
	}
	return s
}

// At walks down the description: "definitions", "Resources".
func (s *Description) At(t *testing.T, keys ...string) map[string]any {
	t.Helper()
	m := s.doc
	for _, k := range keys {
		var ok bool
		if m, ok = m[k].(map[string]any); !ok {
			t.Fatalf("the description has no %v", keys)
		}
	}
	return m
}

// Problems says how a body is not as a schema of the description has it, or has keys that the schema
// doesn't know: a daemon passes over those without a word. A null is a key that is not there,
// as the daemon takes it.
func (s *Description) Problems(schema map[string]any, body string) (problems []string, err error) {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	v = withoutNull(v)
	root := map[string]any{"$schema": "http://json-schema.org/draft-04/schema#", "allOf": []any{plainSchema(schema)}, "definitions": plainSchema(s.doc["definitions"])}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(root); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("engine.json", doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile("engine.json")
	if err != nil {
		return nil, err
	}
	if err := compiled.Validate(v); err != nil {
		problems = append(problems, err.Error())
	}
	known := map[string]bool{}
	s.Keys(schema, known)
	for k := range v.(map[string]any) {
		if !known[k] {
			problems = append(problems, "unknown key "+k)
		}
	}
	return problems, nil
}

// Check fails the test unless a body is as the description has it.
func (s *Description) Check(t *testing.T, schema map[string]any, body string) {
	t.Helper()
	if problems, err := s.Problems(schema, body); err != nil || len(problems) > 0 {
		t.Errorf("the request %s is not as the Engine's API has it: %v %v", body, problems, err)
	}
}

// Keys collects the properties of a schema and of all that it is made of.
func (s *Description) Keys(schema map[string]any, known map[string]bool) {
	if ref, ok := schema["$ref"].(string); ok {
		s.Keys(s.doc["definitions"].(map[string]any)[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any), known)
	}
	if all, ok := schema["allOf"].([]any); ok {
		for _, a := range all {
			s.Keys(a.(map[string]any), known)
		}
	}
	if p, ok := schema["properties"].(map[string]any); ok {
		for k := range p {
			known[k] = true
		}
	}
}

// plainSchema makes a JSON schema of Swagger's: x-nullable is a type more, examples and formats go.
func plainSchema(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, x := range v {
			if _, isText := x.(string); k == "example" || k == "format" && isText || k == "examples" {
				continue
			}
			m[k] = plainSchema(x)
		}
		if typ, ok := m["type"].(string); ok && v["x-nullable"] == true {
			m["type"] = []any{typ, "null"}
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i := range v {
			l[i] = plainSchema(v[i])
		}
		return l
	case map[any]any:
		m := map[string]any{}
		for k, x := range v {
			m[fmt.Sprint(k)] = plainSchema(x)
		}
		return m
	}
	return v
}

// withoutNull drops keys without a value.
func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x == nil {
				delete(v, k)
			} else {
				v[k] = withoutNull(x)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNull(v[i])
		}
	}
	return v
}
