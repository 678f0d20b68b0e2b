package profile

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
)

// document is the form of a profile's file.
var document = strict.Document{What: "profile", Empty: "it needs a capacity, for example", MaxNodes: 2000}

// Parse reads a profile in any spelling; filename is for messages only. The error is of type strict.Errors and holds every fault. The profile
// has no name yet.
func Parse(filename string, data []byte) (*Profile, error) {
	f := &strict.Faults{File: filename}
	root := document.Parse(f, data)
	if root == nil {
		return nil, f.Err()
	}
	return decode(f, root, nil)
}

// decode reads a tree. flags names the options that made some of its nodes.
func decode(f *strict.Faults, root *yaml.Node, flags map[*yaml.Node]string) (*Profile, error) {
	d := strict.NewDecoder(f, flags)
	if root.Kind != yaml.MappingNode {
		d.FailAt(root, "", "a profile is a map of keys and values, this is %s", strict.Describe(root))
		return nil, f.Err()
	}
	if flags == nil {
		root = speller{f}.spell(root)
	}
	d.Nodes[""] = root
	var p Profile
	section().Decode(d, root, "", &p)
	if err := f.Err(); err != nil {
		return nil, err
	}
	return &p, nil
}

// Marshal writes the profile as YAML, in the one spelling. Parse reads the same profile from it, but for the name. It has no comments.
func (p *Profile) Marshal() []byte {
	root := section().Encode(p)
	root.Style = 0
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "service" {
			root.Content[i+1].Style = 0 // One service a line.
		}
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		panic("profile: its own tree can't be written: " + err.Error())
	}
	if err := enc.Close(); err != nil {
		panic("profile: its own tree can't be written: " + err.Error())
	}
	return buf.Bytes()
}

// SchemaID names the schema of profiles.
const SchemaID = "https://plimsoll.invalid/profile.schema.json"

// Schema returns the JSON schema (draft 2020-12) of profiles in the one spelling. It is made from the same table of keys as Parse. It can't
// express a min above its max, a size out of range, and a service without the setting that it needs.
func Schema() []byte {
	o := section().Schema(false)
	o["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	o["$id"] = SchemaID
	o["title"] = "A profile of Plimsoll"
	b, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		panic("profile: its own schema can't be written: " + err.Error())
	}
	return append(b, '\n')
}
