package plan

import "encoding/json"

// SchemaID names the schema of plans.
const SchemaID = "https://plimsoll.invalid/plan.schema.json"

// Schema returns the JSON schema (draft 2020-12) of plans, for editors and for programs that write plans. It is made from
// the same table of keys as Parse. It can't express everything that Parse refuses: keys given twice, two names for the same
// cell, names that don't exist, an empty matrix, settings that contradict each other, and sums that overflow.
func Schema() []byte {
	o := planSection().Schema(false)
	o["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	o["$id"] = SchemaID
	o["title"] = "A plan of Plimsoll"
	b, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		panic("plan: its own schema can't be written: " + err.Error())
	}
	return append(b, '\n')
}
