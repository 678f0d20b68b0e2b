package fio

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// The unified report is the sum of the separate ones.
func TestUnifiedReportingSumsUp(t *testing.T) {
	args := []string{"--name=u", "--rw=randrw", "--size=1m", "--rate_iops=300,100", "--unified_rw_reporting="}
	type direction struct {
		Bytes    int64           `json:"io_bytes"`
		IOs      int64           `json:"total_ios"`
		Response json.RawMessage `json:"response_ns"`
	}
	outputs := map[string]map[string]direction{}
	for _, value := range []string{"none", "mixed", "2"} {
		line := append(args[:len(args)-1:len(args)-1], args[len(args)-1]+value)
		test, all := made(t, line...)
		r := test.report(all, nil, 0)
		var out struct{ Jobs []map[string]json.RawMessage }
		if err := json.Unmarshal(r.json(false), &out); err != nil {
			t.Fatal(err)
		}
		outputs[value] = map[string]direction{}
		for _, name := range []string{"read", "write", "trim", "mixed"} {
			if raw, ok := out.Jobs[0][name]; ok {
				var d direction
				if err := json.Unmarshal(raw, &d); err != nil {
					t.Fatal(err)
				}
				outputs[value][name] = d
			}
		}
		text := r.text()
		for word, want := range map[string]bool{"   READ: ": value != "mixed", "  read: ": value != "mixed", "  MIXED: ": value != "none", "  mixed: ": value != "none"} {
			if bytes.Contains(text, []byte(word)) != want {
				t.Errorf("%s: %q in the text is not %v:\n%s", value, word, want, text)
			}
		}
		if want, got := map[string]int{"none": 2, "mixed": 1, "2": 3}[value], strings.Count(string(r.terse(3)), ";1.000000%="); got != want {
			t.Errorf("%s: %d directions in the terse output, want %d", value, got, want)
		}
	}
	apart, mixed := outputs["none"], outputs["mixed"]["mixed"]
	if n := apart["read"].IOs + apart["write"].IOs; n == 0 || mixed.IOs != n || outputs["2"]["mixed"].IOs != n {
		t.Errorf("%d I/Os, as one %d, as both %d; want the same", n, mixed.IOs, outputs["2"]["mixed"].IOs)
	}
	if n := apart["read"].Bytes + apart["write"].Bytes; mixed.Bytes != n {
		t.Errorf("%d bytes, as one %d", n, mixed.Bytes)
	}
	if len(outputs["mixed"]) != 1 || len(outputs["2"]) != 4 || len(apart) != 3 {
		t.Errorf("directions: %v", outputs)
	}
	if len(mixed.Response) == 0 {
		t.Error("a rate has response times")
	}
}

// A file with nothing but [global] is one that others add jobs to: fio finds nothing wrong with it, and nothing to run.
func TestOnlyGlobal(t *testing.T) {
	src := memory(map[string]string{"g.fio": "[global]\nrw=randrw\n"}, nil)
	if _, err := Parse([]string{"--parse-only", "g.fio"}, src); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"g.fio"}, {"--parse-only"}} {
		if _, err := Parse(args, src); err == nil || !strings.Contains(err.Error(), "no job") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
