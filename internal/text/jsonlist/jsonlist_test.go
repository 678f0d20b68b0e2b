package jsonlist

import (
	"encoding/json"
	"testing"
)

// TestOf: no list is null, and what a pointer leads to isn't changed.
func TestOf(t *testing.T) {
	type inner struct {
		List []int  `json:"list"`
		Text []byte `json:"text"`
	}
	before := struct {
		In   []inner          `json:"in"`
		By   map[string][]int `json:"by"`
		At   *inner           `json:"at"`
		None *inner           `json:"none"`
	}{By: map[string][]int{"a": nil}, At: &inner{}}
	const want = `{"in":[],"by":{"a":[]},"at":{"list":[],"text":null},"none":null}`
	if b, err := json.Marshal(Of(&before)); err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
	if before.In != nil || before.By["a"] != nil || before.At.List != nil {
		t.Error("what it points to was changed")
	}
}
