package target

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// field encodes a field with a length.
func field(n byte, v string) string { return string([]byte{n<<3 | 2, byte(len(v))}) + v }

func TestParseContainers(t *testing.T) {
	label := field(2, field(1, "team")+field(2, "blue"))
	// created_at and a number are skipped; a label may be empty.
	answer := field(1, field(1, "web")+label+field(2, field(1, "empty"))+field(3, "image:1")+field(8, "x")+"\x48\x96\x01") +
		field(1, field(1, "bare")) + "\x11 12345678"[:9] + "\x15 123"[:5]
	got, err := parseContainers([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]containerdContainer{"web": {image: "image:1", labels: map[string]string{"team": "blue", "empty": ""}}, "bare": {}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(containerdContainer{}), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("parseContainers (-want +got):\n%s", d)
	}
	for _, bad := range []string{"\x0a", "\x0a\x7f", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x00", "\x0b", "\x08", "\x09123", "\xff", field(1, "\x0a\x05a")} {
		if got, err := parseContainers([]byte(bad)); !errors.Is(err, errProto) {
			t.Errorf("parseContainers(%q) = %+v, %v", bad, got, err)
		}
	}
	// An answer that was cut off gives an error or fewer containers, never a panic.
	for i := range answer {
		if got, err := parseContainers([]byte(answer[:i])); err == nil && len(got) > 2 {
			t.Errorf("cut at %d: %+v", i, got)
		}
	}
}
