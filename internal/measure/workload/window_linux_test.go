package workload

import "testing"

// TestUnifiedGroup: the group of version 2 is found among those of version 1, and only one that has a folder here is named.
func TestUnifiedGroup(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "/",
		"nonsense\n0:\n":                  "/",
		"3:cpu,cpuacct:/a\n0::/\n":        "/",
		"0::/plimsoll\n":                  "/plimsoll",
		"1:name=systemd:/x\n0::/a.b/c d ": "/a.b/c d",
		"0::/../other\n":                  "/",
		"0::/a/..":                        "/",
		"0::/a..b\n":                      "/a..b",
	} {
		if got := unifiedGroup(text); got != want {
			t.Errorf("unifiedGroup(%q) = %q, want %q", text, got, want)
		}
	}
}
