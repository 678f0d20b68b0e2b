package profile

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestManual: the page about profiles has each key, and its examples are sound.
func TestManual(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/profile.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, path := range paths() {
		if _, inner := sectionShort[path]; inner || path == "iops" || path == "bandwidth" {
			path += "." // The page has the keys inside.
		} else {
			path += "`"
		}
		if !strings.Contains(text, "`"+path) {
			t.Errorf("the page lacks %s", path)
		}
	}
	for _, name := range append(BuiltIn(), promiseKeys()...) {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("the page lacks %s", name)
		}
	}
	s := schema(t)
	examples := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch(b, -1)
	for _, m := range examples {
		if _, err := Parse("example", m[1]); err != nil {
			t.Errorf("%v\n%s", err, m[1])
		}
		if err := validate(t, s, m[1]); err != nil {
			t.Errorf("%v\n%s", err, m[1])
		}
	}
	if len(examples) == 0 {
		t.Error("the page has no example")
	}
}

// TestManualSpellings: each spelling of the page's table is read.
func TestManualSpellings(t *testing.T) {
	for other, path := range map[string]string{"iopsMin": "iops.min", "iops-min": "iops.min", "iops.min": "iops.min", "bandwidthmax": "bandwidth.max", "nodeid": "node",
		"label": "labels", "interval": "service.snapshot.interval", "snapshotmax": "service.snapshot.max", "autoexpand": "service.autoexpand", "Key_File": ""} {
		if got := spelled(other); got != path {
			t.Errorf("spelled(%q) = %q, want %q", other, got, path)
		}
	}
}
