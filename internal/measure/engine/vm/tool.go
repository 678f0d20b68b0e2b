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

// say runs a program to its end and returns the first of what it says. One that takes too long is killed, with all that it has started.
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

// tool runs a program whose work is not what it says.
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

// firstProgram is the path of the first program of names, below root, that is there and may be run; empty if none is. It is for those that
// are on nobody's PATH.
func firstProgram(root string, names ...string) string {
	for _, name := range names {
		path := filepath.Join(root, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// notRunning is the error of a program that did not say its version.
func notRunning(path, said string, err error) error {
	if err == nil {
		err = errors.New("it doesn't say its version")
	}
	if said == "" {
		return fmt.Errorf("%s doesn't run: %w", path, err)
	}
	return fmt.Errorf("%s doesn't run: %w; it says %.80q", path, err, said)
}
