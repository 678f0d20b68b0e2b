package target

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGroups(t *testing.T) {
	for _, bad := range []string{"nonsense", "1:cpu", "1:cpu:relative", "::"} {
		if g, err := parseGroups(strings.NewReader(bad)); err == nil {
			t.Errorf("parseGroups(%q) = %+v", bad, g)
		}
	}
	got, err := parseGroups(strings.NewReader("12:cpu,cpuacct:/docker/a:b\n9:name=systemd:/x (deleted)\n3::/lost\n0::/../outside\n"))
	want := []Group{
		{Version: 1, Controllers: []string{"cpu", "cpuacct"}, Path: "/docker/a:b"},
		{Version: 1, Controllers: []string{"name=systemd"}, Path: "/x"},
		{Version: 2, Path: "/../outside"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("parseGroups: %v: %s", err, diff)
	}
}
