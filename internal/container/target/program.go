package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"plimsoll/internal/text/clean"
)

// A Program runs a program with arguments and returns its standard output. The error has its standard error.
type Program func(ctx context.Context, argv ...string) ([]byte, error)

// Exec is the Program of that name on the PATH, with these arguments first.
func Exec(name string, before ...string) Program {
	return func(ctx context.Context, argv ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, name, append(append([]string{}, before...), argv...)...)
		var out, words bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &words
		// A child of it may keep its output open.
		cmd.WaitDelay = time.Second
		err := cmd.Run()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) && words.Len() > 0 {
			return out.Bytes(), fmt.Errorf("%s: %s", name, clean.Short(words.String()))
		}
		if err != nil {
			return out.Bytes(), fmt.Errorf("%s: %w", name, err)
		}
		return out.Bytes(), nil
	}
}
