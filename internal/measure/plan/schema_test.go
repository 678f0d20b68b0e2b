package plan

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"plimsoll/plans"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
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

// validate runs a plan's YAML through the schema.
func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	b, err := JSON("f", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return s.Validate(v)
}

// TestSchemaRefuses checks the schema on the table that the parser refuses too.
func TestSchemaRefuses(t *testing.T) {
	s := compileSchema(t)
	for _, tt := range bad {
		if validate(t, s, []byte(tt.yaml)) == nil {
			t.Errorf("%s: the schema accepts\n%s", tt.name, tt.yaml)
		}
	}
}

func TestSchemaAccepts(t *testing.T) {
	s := compileSchema(t)
	for name, text := range soundPlans(t) {
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p, err := Parse(name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := validate(t, s, p.Marshal()); err != nil {
			t.Errorf("%s, marshalled: %v\n%s", name, err, p.Marshal())
		}
	}
}

// soundPlans are the built-in plans and some others.
func soundPlans(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{
		"sound": []byte(sound),
		"rich": []byte(head + `
workloads: {a: {rw: read, size: 1048576, offset: 0, ramp_time: 0}, s: {rw: randrw, size: 1MiB, runtime: 5s, bssplit: "4 KiB/33.5:8KiB/66.5,512/100", steady_state: {round: 1s}},
  v: {rw: randread, size: 1MiB, runtime: 1s, percentage_random: 0, blockalign: 512, bssplit: 1KiB/100, verify: crc32c, thinktime: 1ms, thinktime_blocks: 2, thinktime_spin: 1us},
  m: {rw: randwrite, size: 1MiB, runtime: 1s, random_map: true, zero_buffers: true, rate: 1MiB/s, rate_process: poisson}, l: {rw: write, size: 1MiB, loops: 2, zero_buffers: false}, "4": {kind: tree, bs: 2 KiB}}
limits: {none: , x: {read_bps: 10 MB/s, cpus: 2}}
clients: 2
exclude: []
include: [{workload: "4"}, {engine: [h*]}]
seed: 18446744073709551615
quick: {engines: [{name: docker, seccomp: unconfined}, {name: h, kind: host}], workloads: {a: {iodepth: 2}}, places: {bind: {path: /srv}}, limits: {x: {cpus: 1}}}
`),
	}
	for _, name := range plans.Names() {
		text, err := plans.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		out[plans.File(name)] = text
	}
	return out
}

func TestJSON(t *testing.T) {
	got, err := JSON("f", []byte("z: &a {b: [1, 1.5, true, ~, text, '1', 0x10, .inf]}\na: *a\n\"q\\\"\": \"\\x01\"\n"))
	want := `{"z":{"b":[1,1.5,true,null,"text","1","0x10",".inf"]},"a":{"b":[1,1.5,true,null,"text","1","0x10",".inf"]},"q\"":"\u0001"}`
	if err != nil || string(got) != want || !json.Valid(got) {
		t.Errorf("JSON = %s, %v, want %s", got, err, want)
	}
	if got, err := JSON("f", []byte("a: 1\na: 2\n")); err == nil {
		t.Errorf("JSON = %s for a key given twice, want an error", got)
	}
}
