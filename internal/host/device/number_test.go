package device

import (
	"encoding/json"
	"testing"
)

func TestNumber(t *testing.T) {
	for _, bad := range []string{"", "8", "8:", ":8", "a:b", "-1:0", "+8:0", "08:0", "8:0:0", "4294967296:0", "8: 0", " 8:0"} {
		if n, err := ParseNumber(bad); err == nil {
			t.Errorf("ParseNumber(%q) = %v", bad, n)
		}
	}
	in := map[Number]Number{{259, 1048575}: {}}
	b, err := json.Marshal(in)
	if err != nil || string(b) != `{"259:1048575":"0:0"}` {
		t.Errorf("JSON has %s, %v", b, err)
	}
	var back map[Number]Number
	if err := json.Unmarshal(b, &back); err != nil || len(back) != 1 || back[Number{259, 1048575}] != (Number{}) {
		t.Errorf("read back %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`"x"`), new(Number)); err == nil {
		t.Error("x is a number")
	}
}
