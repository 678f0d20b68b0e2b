package worker

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// stuckAfter is how long a trial may go on after it was told to stop before it reports what it is doing. It is well below
// stopPatience, after which it is killed.
const stuckAfter = stopPatience / 2

// Bounds of that report: the agent keeps the end of a log.
const (
	mostRoutines = 8
	mostCalls    = 16
)

// watchEnd writes to out what the trial's goroutines are doing if the trial is told to stop, by the end of ctx, and the
// returned function isn't called soon after.
func watchEnd(ctx context.Context, out io.Writer) (ended func()) {
	over := make(chan struct{})
	go func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		late := time.NewTimer(stuckAfter)
		defer late.Stop()
		select {
		case <-over:
		case <-late.C:
			buf := make([]byte, 64<<10)
			io.WriteString(out, routines(string(buf[:runtime.Stack(buf, true)])))
		}
	}()
	return func() { close(over) }
}

// routines makes a line of each goroutine in a trace of package runtime: its state, and its functions, the innermost first.
// It leaves out the first goroutine, which asks for the trace.
func routines(trace string) string {
	var out strings.Builder
	for n, routine := range strings.Split(strings.TrimSpace(trace), "\n\n") {
		if n == 0 {
			continue
		}
		if n > mostRoutines {
			out.WriteString("and more goroutines\n")
			break
		}
		head, rest, _ := strings.Cut(routine, "\n")
		var calls []string
		for line := range strings.Lines(rest) {
			// A call's second line is its file, and the last call started the goroutine.
			if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "created by ") || len(calls) == mostCalls {
				continue
			}
			if i := strings.LastIndexByte(line, '('); i > 0 {
				line = line[:i]
			}
			calls = append(calls, line[strings.LastIndexByte(line, '/')+1:])
		}
		fmt.Fprintf(&out, "still at work: %s %s\n", head, strings.Join(calls, " < "))
	}
	return out.String()
}
