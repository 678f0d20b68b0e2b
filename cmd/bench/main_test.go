package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestSubcommands: each subcommand lists its flags; anything else is wrong usage.
func TestSubcommands(t *testing.T) {
	for name, flag := range map[string]string{"load": "-runtime", "limit": "-strict", "trial": "-machines"} {
		var stderr bytes.Buffer
		if err := run(t.Context(), nil, io.Discard, &stderr, []string{name, "-help"}); err != nil || !strings.Contains(stderr.String(), flag) {
			t.Errorf("bench %s -help: %v, want %s in\n%s", name, err, flag, stderr.String())
		}
		if err := run(t.Context(), nil, io.Discard, io.Discard, []string{name, "-rounds", "0"}); err == nil {
			t.Errorf("bench %s -rounds 0 was accepted", name)
		}
	}
	for _, args := range [][]string{nil, {"loads"}, {"-help"}} {
		if err := run(t.Context(), nil, io.Discard, io.Discard, args); !errors.Is(err, errUsage) {
			t.Errorf("bench %v: %v, want %v", args, err, errUsage)
		}
	}
}
