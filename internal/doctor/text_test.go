package doctor

import (
	"bytes"
	"testing"
)

func TestWriteText(t *testing.T) {
	var out bytes.Buffer
	r := Report{Items: []Item{
		{ID: "a", Group: Provide, Status: No, What: "thing", Why: "it is missing", Fix: "get it"},
		{ID: "b", Group: Measure, Status: OK, What: "other"},
	}}
	r.Machine.Hostname, r.Machine.CPUs = "box", 2
	if err := r.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	want := `box: unnamed CPU, 2 CPUs, 0 MiB, / 

measure
  ok      other

limit

provide
  no      thing: it is missing
          fix: get it
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}
