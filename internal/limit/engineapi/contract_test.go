package engineapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// A fake is a daemon that stores what it is asked to and notes each request.
type fake struct {
	*httptest.Server
	t *testing.T
	// version and os are what it says of itself; drops and warns what it does with an update.
	version, os string
	drops       bool
	warns       []string
	refuses     string

	mu       sync.Mutex
	host     map[string]any
	requests []string
}

func newFake(t *testing.T, version, osType string) *fake {
	f := &fake{t: t, version: version, os: osType, host: map[string]any{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Api-Version", f.version)
	w.Header().Set("Ostype", f.os)
	w.Header().Set("Content-Type", "application/json")
	answer := func(v any) { json.NewEncoder(w).Encode(v) }
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodPost {
		f.requests = append(f.requests, string(body))
	}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/_ping"):
	case strings.HasSuffix(path, "/version"):
		answer(map[string]any{"Version": "fake", "Os": f.os})
	case strings.HasSuffix(path, "/info"):
		answer(map[string]any{"OSType": f.os, "NCPU": 4, "CPUShares": true, "CpuCfsQuota": true, "MemoryLimit": true, "CgroupVersion": "2"})
	case strings.HasSuffix(path, "/containers/web/json"):
		answer(map[string]any{"Id": "web", "State": map[string]any{"Running": true}, "HostConfig": f.host})
	case strings.HasSuffix(path, "/containers/web/update"):
		if f.refuses != "" {
			w.WriteHeader(http.StatusInternalServerError)
			answer(map[string]any{"message": f.refuses})
			// Once: what was there before is taken back.
			f.refuses = ""
			return
		}
		var update map[string]any
		if err := json.Unmarshal(body, &update); err != nil {
			f.t.Errorf("update with %s: %v", body, err)
		}
		for k, v := range update {
			// As Docker does: null and 0 leave what there is, a list takes its place.
			if v != nil && v != 0.0 && v != "" && !(f.drops && strings.HasPrefix(k, "BlkioDevice")) {
				f.host[k] = v
			}
		}
		answer(map[string]any{"Warnings": f.warns})
	case strings.HasSuffix(path, "/containers/create"):
		w.WriteHeader(http.StatusCreated)
		answer(map[string]any{"Id": "web"})
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(map[string]any{"message": "no such thing: " + path})
	}
}

func (f *fake) open() *API {
	f.t.Helper()
	a, err := Open(f.t.Context(), "tcp://"+strings.TrimPrefix(f.URL, "http://"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { a.Close() })
	return a
}

func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

// A swagger is the Engine's published description of its API.
type swagger struct{ doc map[string]any }

// readSwagger reads the description that the API's module brings.
func readSwagger(t *testing.T) *swagger {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/moby/moby/api").Output()
	if err != nil {
		t.Fatalf("where the API's module is: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "swagger.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := &swagger{}
	if err := yaml.Unmarshal(b, &s.doc); err != nil {
		t.Fatal(err)
	}
	return s
}

// at walks down the description: "definitions", "Resources".
func (s *swagger) at(t *testing.T, keys ...string) map[string]any {
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

// problems says how a body is not as a schema of the description has it, or has keys that the schema
// doesn't know: a daemon passes over those without a word. A null is a key that is not there,
// as the daemon takes it.
func (s *swagger) problems(schema map[string]any, body string) (problems []string, err error) {
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
	s.keys(schema, known)
	for k := range v.(map[string]any) {
		if !known[k] {
			problems = append(problems, "unknown key "+k)
		}
	}
	return problems, nil
}

// check fails the test unless a body is as the description has it.
func (s *swagger) check(t *testing.T, schema map[string]any, body string) {
	t.Helper()
	if problems, err := s.problems(schema, body); err != nil || len(problems) > 0 {
		t.Errorf("the request %s is not as the Engine's API has it: %v %v", body, problems, err)
	}
}

// keys collects the properties of a schema and of all that it is made of.
func (s *swagger) keys(schema map[string]any, known map[string]bool) {
	if ref, ok := schema["$ref"].(string); ok {
		s.keys(s.doc["definitions"].(map[string]any)[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any), known)
	}
	if all, ok := schema["allOf"].([]any); ok {
		for _, a := range all {
			s.keys(a.(map[string]any), known)
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

// TestContract: the requests are as the Engine's published description has them.
func TestContract(t *testing.T) {
	s := readSwagger(t)
	update := s.at(t, "paths", "/containers/{id}/update", "post")["parameters"].([]any)[1].(map[string]any)["schema"].(map[string]any)
	f := newFake(t, "1.55", "linux")
	a := f.open()
	if o, err := a.Set(t.Context(), "web", Limits{Devices: []Device{sdb}, Weight: 300, CPUs: 1.5, CPUShares: 512, Memory: 1 << 30}); err != nil || !o.Live || !o.Stored {
		t.Fatalf("Set = %+v, %v", o, err)
	}
	if left, err := a.Forget(t.Context(), "web", Which{}); err != nil || len(left.Devices) > 0 {
		t.Fatalf("Forget = %+v, %v", left, err)
	}
	if len(f.asked()) != 2 {
		t.Errorf("requests %q, want two", f.asked())
	}
	for _, body := range f.asked() {
		s.check(t, update, body)
	}

	create := s.at(t, "definitions", "HostConfig")
	for _, x := range []struct {
		l       Limits
		windows bool
	}{
		{Limits{Devices: []Device{sdb}, Weight: 300, CPUs: 1.5, CPUShares: 512, Memory: 1 << 30}, false},
		{Limits{SystemBPS: 10 << 20, SystemIOPS: 500, CPUPercent: 50, Memory: 1 << 30, Isolation: "hyperv"}, true},
		{Limits{SystemBPS: 1<<64 - 1, CPUCount: 2, Isolation: "process"}, true},
	} {
		d := linux()
		if x.windows {
			d = windows()
		}
		host := &container.HostConfig{}
		if err := Create(d, x.l, host); err != nil {
			t.Fatal(err)
		}
		f := newFake(t, "1.55", d.OS)
		if _, err := f.open().client.ContainerCreate(t.Context(), client.ContainerCreateOptions{Config: &container.Config{Image: "x"}, HostConfig: host}); err != nil {
			t.Fatal(err)
		}
		var body struct{ HostConfig map[string]any }
		if err := json.Unmarshal([]byte(f.asked()[0]), &body); err != nil {
			t.Fatal(err)
		}
		// The client's own fields are no matter of ours; those with limits are.
		resources := map[string]any{}
		known := map[string]bool{"Isolation": true}
		s.keys(s.at(t, "definitions", "Resources"), known)
		for k, v := range body.HostConfig {
			if known[k] {
				resources[k] = v
			}
		}
		b, err := json.Marshal(resources)
		if err != nil {
			t.Fatal(err)
		}
		s.check(t, create, string(b))
	}
}

// TestContractCatches: the check of the contract finds what it is for.
func TestContractCatches(t *testing.T) {
	s := readSwagger(t)
	for _, bad := range []string{`{"BlkioWeight": 1001}`, `{"Memory": "1g"}`, `{"BlkioDeviceReadBps": [{"Path": 1}]}`, `{"BlkioDeviceReadBPS": []}`, `{"Isolation": "vm"}`} {
		if problems, err := s.problems(s.at(t, "definitions", "HostConfig"), bad); err != nil || len(problems) == 0 {
			t.Errorf("%s is taken for a request of the Engine's API: %v", bad, err)
		}
	}
}
