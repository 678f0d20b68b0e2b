// Package contracttest compares requests with the Docker Engine's published description of its API, which the API's module
// contains, so that tests can predict how a daemon that isn't on this machine would answer a request.
package contracttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// A Description is the Engine's published description of its API. It is safe for concurrent use.
type Description struct {
	doc map[string]any
	// compiled holds compiled schemas, by the address of their map.
	compiled sync.Map
}

// Read reads the description in the API's module.
func Read(t *testing.T) *Description {
	t.Helper()
	s, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read reads the description once: its half megabyte takes a second.
var read = sync.OnceValues(func() (*Description, error) {
	path, err := file()
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Description{}
	return s, yaml.Unmarshal(b, &s.doc)
})

// envFile names the description's file for tests on a machine without a go command.
const envFile = "PLIMSOLL_TEST_ENGINE_API"

// Export lets the programs that this test starts find the description, under Wine too.
func Export(t *testing.T) {
	t.Helper()
	path, err := file()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(envFile, path)
}

func file() (string, error) {
	if path := os.Getenv(envFile); path != "" {
		return path, nil
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/moby/moby/api").Output()
	if err != nil {
		return "", fmt.Errorf("where the API's module is: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "swagger.yaml"), nil
}

// At returns the part of the description at a path: "definitions", "Resources".
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

// Problems lists how a body violates a schema of the description, including keys at any depth that the schema doesn't have, which a
// daemon ignores silently. A null counts as a missing value, as it does for the daemon; its key must still be in the schema.
func (s *Description) Problems(schema map[string]any, body string) (problems []string, err error) {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	raw, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	v = withoutNull(v)
	compiled, err := s.compile(schema)
	if err != nil {
		return nil, err
	}
	if err := compiled.Validate(v); err != nil {
		problems = append(problems, err.Error())
	}
	problems = append(problems, s.unknown(schema, raw, "")...)
	return problems, nil
}

// compile compiles a schema, once, together with all definitions.
func (s *Description) compile(schema map[string]any) (*jsonschema.Schema, error) {
	at := reflect.ValueOf(schema).Pointer()
	if c, ok := s.compiled.Load(at); ok {
		return c.(*jsonschema.Schema), nil
	}
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
	s.compiled.Store(at, compiled)
	return compiled, nil
}

// Keys returns the properties of a schema and of all schemas that it includes.
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

// plainSchema converts Swagger's schema to a JSON schema: x-nullable becomes another type, examples and formats are dropped.
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
		if enum, ok := m["enum"].([]any); ok && m["type"] == "string" && !slices.Contains(enum, any("")) {
			m["enum"] = append(slices.Clip(enum), "") // The client sends it for an option that was not set, for which the daemon has a default.
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

// withoutNull removes keys without a value.
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
