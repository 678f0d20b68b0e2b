package hook

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
)

// Apply applies the policy to the container whose state is read, and prints messages. Without a policy nothing is limited. The error has a line for
// each limit that can't be had.
func Apply(opt keeper.Options, state io.Reader, messages io.Writer) error {
	t, err := opt.Holder.Finder.FromState(state)
	if err != nil {
		return oneLine{err}
	}
	if t.Sandbox {
		return nil // It keeps a pod's namespaces, and does no I/O.
	}
	if _, err := os.Stat(opt.Policy); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(messages, "there is no policy %s: %s is not limited\n", opt.Policy, clean.Line(t.Ref()))
		return nil
	}
	done, err := keeper.Once(opt, t)
	for _, n := range append(t.Notes, done.Notes...) {
		fmt.Fprintf(messages, "note: %s: %s\n", clean.Line(t.Ref()), clean.Text(n))
	}
	if err != nil {
		return oneLine{keeper.PolicyError(err)}
	}
	if len(done.Held) == 0 {
		done.Unnoted = nil
	} else if done.Unnoted != nil {
		done.Unnoted = fmt.Errorf("the limits are set, but plimsoll daemon doesn't know of them, and will take them for another program's: %w", done.Unnoted)
		fmt.Fprintf(messages, "note: %s: %s\n", clean.Line(t.Ref()), clean.Text(done.Unnoted.Error()))
	}
	// The container is held all the same, and this message may never be seen.
	for _, cause := range []error{done.Stale, done.Unnoted} {
		if cause == nil {
			continue
		}
		if err := Note(opt.Run, fmt.Errorf("%s: %w", t.Ref(), cause)); err != nil {
			fmt.Fprintf(messages, "note: %s\n", clean.Text(err.Error()))
		}
	}
	var faults []error
	for _, f := range done.Faults {
		// One line: a name with a line break in it may look like another message.
		faults = append(faults, refusal.New(clean.Line(fmt.Sprintf("%s: %s", t.Ref(), f))))
	}
	return errors.Join(faults...)
}

// A oneLine is an error that is printed on one line: it names a container, and a name with a line break in it may look like another
// message.
type oneLine struct{ error }

// Error implements error.
func (e oneLine) Error() string { return clean.Line(e.error.Error()) }

// Unwrap lets errors.As find the cause.
func (e oneLine) Unwrap() error { return e.error }
