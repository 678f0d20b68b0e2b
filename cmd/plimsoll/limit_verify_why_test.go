package main

import (
	"strings"
	"testing"
)

// TestWholeMachineNamesRootOnce: what else is on the device of / is named, and / itself once.
func TestWholeMachineNamesRootOnce(t *testing.T) {
	for _, c := range []struct {
		others []string
		want   string
	}{
		{[]string{"/"}, "vda is the device of /: a limit"},
		{[]string{"/", "/srv"}, "vda is the device of / and of /srv: a limit"},
	} {
		if got := wholeMachine("vda", c.others); !strings.HasPrefix(got, c.want) {
			t.Errorf("wholeMachine(%q) = %q, want %q", c.others, got, c.want)
		}
	}
}
