package hook

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// TestAddPipe: a named pipe in the place of the bundle's configuration is not waited for.
func TestAddPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "config.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Add(dir, specs.Hook{Path: "/usr/bin/plimsoll"}, never); err == nil || !strings.Contains(err.Error(), "config.json is a named pipe") {
		t.Errorf("Add() = %v", err)
	}
}
