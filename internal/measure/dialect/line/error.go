package line

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/usage"
)

// lineError puts the error of a tool's line in the user's words and gives it its exit status. One that was
// interrupted says how far it got, and what else went wrong, as in cleaning up.
func lineError(ctx context.Context, tool string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		text := "interrupted"
		var te *agent.TrialError
		if errors.As(err, &te) && te.Progress() != "" {
			text += " after " + te.Progress()
		}
		return fmt.Errorf("%s: %w", tool, errors.Join(errors.New(text), beside(err)))
	}
	var wrong *dialect.UsageError
	if errors.As(err, &wrong) || errors.Is(err, workload.ErrOverwrite) || errors.Is(err, userfile.ErrBlockDevice) {
		return usage.Errorf("%s: %w", tool, err)
	}
	return fmt.Errorf("%s: %w", tool, err)
}

// beside is what err says beside that something was interrupted: nil for nothing.
func beside(err error) error {
	if err == nil || err == agent.ErrLost || err == context.Canceled {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, e := range many.Unwrap() {
			rest = append(rest, beside(e))
		}
		return errors.Join(rest...)
	}
	if errors.Is(err, context.Canceled) {
		return beside(errors.Unwrap(err))
	}
	return err
}
