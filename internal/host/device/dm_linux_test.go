package device

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// spec is a record of struct dm_target_spec with a status after it.
func spec(next uint32, kind, status string) []byte {
	b := make([]byte, dmSpec, 128)
	binary.NativeEndian.PutUint32(b[20:], next)
	copy(b[24:], kind)
	return append(append(b, status...), 0)
}

func TestParseTargets(t *testing.T) {
	pad := func(b []byte, n int) []byte { return append(b, make([]byte, n-len(b))...) }
	for name, tt := range map[string]struct {
		answer []byte
		count  int
		want   []Target
		bad    bool
	}{
		"none":       {nil, 0, nil, false},
		"cut short":  {spec(0, "linear", "")[:39], 1, nil, true},
		"beyond":     {spec(4096, "linear", ""), 2, nil, true},
		"in circles": {spec(0, "linear", ""), 2, nil, true},
		"raid":       {spec(0, "raid", "raid5_ls 3 AAA 1/2 idle"), 1, []Target{{"raid", "raid5_ls"}}, false},
		"twice":      {append(pad(spec(64, "linear", ""), 64), spec(0, "linear", "")...), 2, []Target{{Type: "linear"}}, false},
		"two kinds":  {append(pad(spec(64, "linear", ""), 64), spec(0, "crypt", "")...), 2, []Target{{Type: "linear"}, {Type: "crypt"}}, false},
		"no status":  {spec(0, "striped", "")[:40], 1, []Target{{Type: "striped"}}, false},
	} {
		got, err := parseTargets(tt.answer, tt.count)
		if diff := cmp.Diff(tt.want, got); (err != nil) != tt.bad || !tt.bad && diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
