package hist

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestUnmarshalRefuses(t *testing.T) {
	for in, want := range map[string]string{
		``:                                "unexpected end",
		`null`:                            "null",
		`[]`:                              "cannot unmarshal",
		`{}`:                              "n is missing",
		`{"n":-1}`:                        "cannot unmarshal",
		`{"n":1.5}`:                       "cannot unmarshal",
		`{"n":1e400}`:                     "cannot unmarshal",
		`{"n":0,"x":1}`:                   "unknown field",
		`{"n":0,"min":1}`:                 "n is 0 but",
		`{"n":0,"bins":[[1,1]]}`:          "n is 0 but",
		`{"n":1,"min":1,"max":1,"sum":1}`: "buckets hold 0",
		one(`[[1]]`):                      "want index and count",
		one(`[[1,1,1]]`):                  "want index and count",
		one(`[[1856,1]]`):                 "index 1856 is over 1855",
		one(`[[18446744073709551615,1]]`): "is over 1855",
		one(`[[-1,1]]`):                   "cannot unmarshal",
		one(`[[1,-1]]`):                   "cannot unmarshal",
		one(`[[1,0]]`):                    "count is 0",
		one(`[[1,2]]`):                    "buckets hold 2",
		one(`[[2,1],[1,1]]`):              "index 1 comes after 2",
		one(`[[1,1],[1,1]]`):              "index 1 comes after 1",
		one(`[[2,1]]`):                    "not in the first and last bucket",
		`{"n":1,"min":2,"max":1,"sum":1,"bins":[[1,1]]}`:                          "no range",
		`{"n":1,"min":1,"max":9300000000000000000,"sum":1,"bins":[[1,1]]}`:        "no range",
		`{"n":2,"min":1,"max":3,"sum":1,"bins":[[1,1],[3,1]]}`:                    "less than n times min",
		`{"n":2,"min":1,"max":3,"sum":7,"bins":[[1,1],[3,1]]}`:                    "more than n times max",
		`{"n":1,"min":1,"max":3,"sum":3,"bins":[[1,18446744073709551615],[3,2]]}`: "overflows",
	} {
		h := Histogram{count: 1, min: 9, max: 9, sum: 9}
		before := h
		err := json.Unmarshal([]byte(in), &h)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Unmarshal(%s) = %v, want %q", in, err, want)
		}
		if h != before {
			t.Errorf("Unmarshal(%s) failed but changed the histogram", in)
		}
	}
	if err := new(Histogram).UnmarshalJSON([]byte(`{"n":0} {`)); err == nil || !strings.Contains(err.Error(), "after its end") {
		t.Errorf("text after the end: %v", err)
	}
}

func one(bins string) string { return `{"n":1,"min":1,"max":1,"sum":1,"bins":` + bins + `}` }

func TestJSONForm(t *testing.T) {
	var h Histogram
	for want, v := range map[string][]int64{`{"n":0}`: nil, `{"n":3,"min":100,"max":260,"sum":460,"bins":[[100,2],[193,1]]}`: {100, 100, 260}} {
		h.Reset()
		for _, ns := range v {
			h.Record(ns)
		}
		got, err := json.Marshal(&h)
		if err != nil || string(got) != want {
			t.Errorf("Marshal = %s, %v, want %s", got, err, want)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"n":0}`))
	f.Add([]byte(one(`[[1,1]]`)))
	f.Add([]byte(`{"n":2,"min":127,"max":99999999999,"sum":100000000126,"bins":[[127,1],[1855,1]]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var h, back Histogram
		if json.Unmarshal(in, &h) != nil {
			return
		}
		if p := h.Percentile(50); p < h.Min() || p > h.Max() {
			t.Errorf("Percentile(50) = %d, not in %d..%d", p, h.Min(), h.Max())
		}
		out, err := json.Marshal(&h)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("own output %s refused: %v", out, err)
		}
		if !back.Equal(&h) {
			t.Errorf("round trip of %s gave %s", in, out)
		}
		var sum Histogram
		sum.Merge(&h)
		if !sum.Equal(&h) {
			t.Error("merging into an empty histogram changed it")
		}
	})
}
