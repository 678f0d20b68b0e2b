package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/measure/engine"
)

// toolPatience is how long a program that makes a disk, or only says its version, may take.
const toolPatience = 20 * time.Second

// say runs a program to its end and returns the first part of its output. If it takes too long, it is killed with all that
// it has started.
func say(ctx context.Context, argv ...string) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, toolPatience, fmt.Errorf("it took longer than %v", toolPatience))
	defer cancel()
	said := &engine.FirstBytes{Enough: true}
	cmd := engine.Command(limited, argv...)
	cmd.Stdout, cmd.Stderr = said, said
	err := cmd.Run()
	if err != nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	return strings.TrimSpace(string(said.Kept)), err
}

// tool runs a program whose output matters only in errors.
func (v *Engine) tool(ctx context.Context, name string, args ...string) error {
	path, err := v.LookPath(name)
	if err != nil {
		return err
	}
	said, err := say(ctx, append([]string{path}, args...)...)
	if err != nil {
		return fmt.Errorf("%s: %w: %.500s", name, err, said)
	}
	return nil
}

// firstProgram is the path of the first program of names below root that exists and may be run; empty if there is none. It
// is for programs outside of PATH.
func firstProgram(root string, names ...string) string {
	for _, name := range names {
		path := filepath.Join(root, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// notRunning is the error of a program that did not print its version.
func notRunning(path, said string, err error) error {
	if err == nil {
		err = errors.New("it doesn't print its version")
	}
	if said == "" {
		return fmt.Errorf("%s doesn't run: %w", path, err)
	}
	return fmt.Errorf("%s doesn't run: %w; it prints %.80q", path, err, said)
}
