package hook

import (
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// TestIsCommand: a hook that Plimsoll put into a bundle is known again, whatever its flags; a user's isn't.
func TestIsCommand(t *testing.T) {
	own := Command{Policy: "/p", Run: "/r", State: "/s"}
	best := Command{BestEffort: true}
	user := own.Hook("/bin/plimsoll")
	user.Env = nil
	for _, tt := range []struct {
		name string
		h    specs.Hook
		want bool
	}{
		{"own", own.Hook("/bin/plimsoll"), true},
		{"with best effort, elsewhere", best.Hook("/opt/plimsoll"), true},
		{"a user's", user, false},
		{"another", specs.Hook{Path: "/bin/true", Args: []string{"true"}, Env: []string{"PATH=/bin"}}, false},
	} {
		if got := IsCommand(tt.h); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if h := own.Hook("/bin/plimsoll"); h.Timeout == nil || *h.Timeout != timeout {
		t.Errorf("the hook has no time limit: %+v", h)
	}
}
