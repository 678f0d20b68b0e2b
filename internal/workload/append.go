package workload

import (
	"context"
	"fmt"
	"os"
	"time"

	"plimsoll/hist"
	"plimsoll/load"
)

// appendRun is E2's loop: open, append a line, close.
type appendRun struct {
	spec Spec
	path string
}

// Run implements Runner.
func (a *appendRun) Run(ctx context.Context, onSample func(load.Sample)) (*Result, error) {
	line := make([]byte, a.spec.BS)
	for i := range line {
		line[i] = 'a' + byte(i%26)
	}
	line[len(line)-1] = '\n'
	if err := removeIfThere(a.path); err != nil {
		return nil, err
	}
	c := load.Class{Name: "append", Lat: &hist.Histogram{}}
	w := openWindow()
	m := newMeter(a.spec.Runtime, onSample)
	at := m.start
	for i := 0; a.more(i, at.Sub(m.start)); i++ {
		if err := appendOnce(a.path, line); err != nil {
			return nil, m.partial(fmt.Errorf("append %d: %w", i+1, err))
		}
		now := time.Now()
		c.Lat.Record(int64(now.Sub(at)))
		c.Ops++
		c.Bytes += a.spec.BS
		at = now
		m.done(now, a.spec.BS)
		if ctx.Err() != nil {
			return nil, m.partial(context.Cause(ctx))
		}
	}
	r := m.finish(c)
	w.close(r)
	return r, nil
}

// more reports whether another append is due: Count of them, or Runtime's worth.
func (a *appendRun) more(done int, elapsed time.Duration) bool {
	if a.spec.Runtime > 0 {
		return elapsed < a.spec.Runtime
	}
	return done < a.spec.Count
}

// appendOnce is what a shell's `echo >> file` does.
func appendOnce(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Close implements Runner. Removing the file also drops its dirty pages, so that
// they are not written in the next trial's window.
func (a *appendRun) Close() error { return removeIfThere(a.path) }

// removeIfThere removes a file; it is no error that there is none.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}
