package hook

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// timeout is how long a runtime waits for the hook, in seconds.
const timeout = 30

// A Command is 'plimsoll limit hook' with its flags, as a bundle has it.
type Command struct {
	Policy, Run, State string
	BestEffort         bool
}

// Hook is the hook that calls the program self.
func (c Command) Hook(self string) specs.Hook {
	wait := timeout
	h := specs.Hook{
		Path: self, Args: []string{"plimsoll", "limit", "hook", "--policy", c.Policy, "--run", c.Run, "--state", c.State},
		Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: &wait,
	}
	if c.BestEffort {
		h.Args = append(h.Args, "--best-effort")
	}
	return h
}

// Add puts the hook into the bundle that a runtime's arguments create, if they create one.
func (c Command) Add(args []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	bundle, ok := Bundle(args, dir)
	if !ok {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := Add(bundle, c.Hook(self), IsCommand); err != nil {
		return fmt.Errorf("put the hook into the bundle: %w", err)
	}
	return nil
}

// IsCommand reports whether plimsoll put a hook into a bundle, with any flags and any path of the program. Hooks from
// Podman's folder have no environment, and a user's own have a different one.
func IsCommand(h specs.Hook) bool {
	if len(h.Args) < 9 || len(h.Args) > 10 || len(h.Env) != 1 || !strings.HasPrefix(h.Env[0], "PATH=") {
		return false
	}
	flags := []string{h.Args[3], h.Args[5], h.Args[7]}
	return slices.Equal(h.Args[:3], []string{"plimsoll", "limit", "hook"}) && slices.Equal(flags, []string{"--policy", "--run", "--state"})
}
