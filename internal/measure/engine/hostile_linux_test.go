package engine

import (
	"testing"
)

// TestRemoveCgroups: only groups of Plimsoll's own are removed.
func TestRemoveCgroups(t *testing.T) {
	for _, name := range []string{"", "docker", "../plimsoll-x", "system.slice"} {
		if err := RemoveGroups(name); err == nil {
			t.Errorf("RemoveGroups(%q) went ahead", name)
		}
	}
}
