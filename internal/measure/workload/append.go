package workload

import (
	"context"
	"fmt"
	"os"
	"time"

	"plimsoll/load"
)

// appendRun opens a file, appends a line and closes it, again and again: the loop of a known comparison of mount modes.
type appendRun struct {
	spec Spec
	path string
	hang func(*Result)
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
	m := newMeter(a.spec.Runtime, onSample, a.hang, "append")
	m.step(m.start, 1)
	for i, now := 0, m.start; a.more(i, m.done(now)); i++ {
		if err := appendOnce(a.path, line); err != nil {
			return nil, m.partial(fmt.Errorf("append %d: %w", i+1, err))
		}
		now = time.Now()
		m.step(now, 1, ended{0, a.spec.BS})
		if ctx.Err() != nil {
			return nil, m.cancelled(ctx)
		}
	}
	return m.finish(), nil
}

// OnHang implements Hanger.
func (a *appendRun) OnHang(tell func(*Result)) { a.hang = tell }

// more reports whether another append is due, by Count or by Runtime.
func (a *appendRun) more(done int, over bool) bool {
	if a.spec.Runtime > 0 {
		return !over
	}
	return done < a.spec.Count
}

// appendOnce does what a shell's `echo >> file` does.
func appendOnce(path string, line []byte) error {
	return writeFile(path, os.O_APPEND, line)
}

// writeFile opens a file for writing, makes it if it isn't there, writes data and closes it.
func writeFile(path string, flag int, data []byte) error {
	f, err := openFile(path, os.O_WRONLY|os.O_CREATE|flag)
	if err != nil {
		return err
	}
	if err := f.write(data); err != nil {
		f.close()
		return err
	}
	return f.close()
}

// Close implements Runner. Removing the file also drops its dirty pages, so that
// they are not written in the next trial's window.
func (a *appendRun) Close() error { return removeIfThere(a.path) }

// removeIfThere removes a file, if it exists.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}
