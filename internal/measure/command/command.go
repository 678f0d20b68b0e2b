// Package command runs the program of the workload command, in the worker, and times it.
//
// It is separate from package workload, because packages that must not be able to start programs import that one:
// records and reports.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/lastbytes"
	"plimsoll/load"
)

// run is one run of a command.
type run struct {
	spec     workload.CommandSpec
	source   workload.Source
	out      string
	prepared time.Duration
	cmd      *exec.Cmd
}

// Prepare creates the sources of a command, and an empty destination.
func Prepare(ctx context.Context, spec workload.Spec, f workload.Folders) (workload.Runner, error) {
	spec = spec.WithDefaults()
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	c := &run{spec: *spec.Command, out: filepath.Join(f.Work, "command", "out")}
	c.source = workload.Source{Dir: filepath.Join(f.SourceDir(), "command", "empty")}
	if s := spec.Command.Site; s != nil {
		c.source.Dir = filepath.Join(f.SourceDir(), "command", s.String())
		c.source.Write = s.Write
	}
	var err error
	if c.prepared, err = c.source.Prepare(ctx, spec.Reads); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(c.out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return nil, err
	}
	if err := c.command(); err != nil {
		return nil, err
	}
	return c, nil
}

// command builds the command.
func (c *run) command() error {
	fill := strings.NewReplacer("{source}", c.source.Dir, "{destination}", c.out).Replace
	dir := fill(c.spec.Dir)
	env := environment(c.spec.Variables(), dir)
	for i := range env {
		env[i] = fill(env[i])
	}
	path, err := find(c.spec.Argv[0], env)
	if err != nil {
		return err
	}
	c.cmd = &exec.Cmd{Path: path, Args: slices.Clone(c.spec.Argv), Env: env, Dir: dir}
	for i := range c.cmd.Args {
		c.cmd.Args[i] = fill(c.cmd.Args[i])
	}
	return nil
}

// defaultPath is the PATH if none is set, as in an image without one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment returns the environment of a command. It is small, so that it is the same in every place.
func environment(more []string, home string) []string {
	env := []string{"PATH=" + cmp.Or(os.Getenv("PATH"), defaultPath), "HOME=" + home, "LANG=C.UTF-8"}
	if runtime.GOOS == "windows" {
		env = append(os.Environ(), "LANG=C.UTF-8") // Without SystemRoot and the like, nothing starts on Windows.
	}
	return append(env, more...)
}

// find looks up the program of a command as the command's own process will: in the PATH of its environment.
func find(name string, env []string) (string, error) {
	old := os.Getenv("PATH")
	defer os.Setenv("PATH", old)
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			os.Setenv("PATH", v)
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, workload.ErrNoProgram)
	}
	return path, nil
}

// Find finds the program of spec from this process, without running it.
func Find(c *workload.CommandSpec) (string, error) {
	return find(c.Argv[0], environment(c.Variables(), "/"))
}

// Run implements Runner. The window lasts from the start of the program to its end.
func (c *run) Run(ctx context.Context, _ func(load.Sample)) (*workload.Result, error) {
	keep := int(c.spec.Output)
	stdout, stderr := &counted{Buffer: lastbytes.Buffer{Max: keep}}, &counted{Buffer: lastbytes.Buffer{Max: keep}}
	c.cmd.Stdout, c.cmd.Stderr = stdout, stderr
	read, written, _ := ownBytes()
	r, err := workload.Measure(func() error { return runToEnd(ctx, c.cmd) })
	r.Prepared = c.prepared
	e := workload.CommandEnd{Exit: -1, Stdout: stdout.String(), Stderr: stderr.String(), StdoutBytes: stdout.n, StderrBytes: stderr.n}
	if s := c.cmd.ProcessState; s != nil {
		e.Exit, e.Signal = s.ExitCode(), signalOf(s)
		r.Usage.User += s.UserTime()
		r.Usage.System += s.SystemTime()
	}
	e.Files, e.Bytes = filesIn(c.out)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay): // Its status says so; it left something running that had its output open.
		err = nil
	}
	if err != nil || e.Exit != 0 {
		return nil, &workload.PartialError{Done: load.Sample{At: r.Elapsed, Ops: e.Files, Bytes: e.Bytes}, Err: &workload.CommandError{Name: c.spec.Argv[0], End: e, Err: err}}
	}
	one := load.Class{Name: "command", Lat: &hist.Histogram{}, Ops: 1}
	one.Lat.Record(int64(r.Elapsed))
	r.Classes = []load.Class{one}
	// The command's own I/O, including the reading of its program and libraries: when a process ends, the kernel adds
	// its counts to those of the process that waited for it.
	if read2, written2, ok := ownBytes(); ok {
		r.Classes = append(r.Classes, load.Class{Name: "read", Bytes: read2 - read}, load.Class{Name: "write", Bytes: written2 - written})
	}
	r.Command, r.Source = &e, c.source.State
	return r, nil
}

// Close implements Runner. The sources stay for the next trial; the output is removed, with its dirty pages.
func (c *run) Close() error { return os.RemoveAll(c.out) }

// counted keeps the end of what is written, and counts all of it.
type counted struct {
	lastbytes.Buffer
	n int64
}

// Write implements io.Writer.
func (c *counted) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Buffer.Write(p)
}

var _ io.Writer = (*counted)(nil)

// filesIn counts the files in a folder, and their bytes, as far as they are visible.
func filesIn(dir string) (files, bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		files++
		if st, err := d.Info(); err == nil {
			bytes += st.Size()
		}
		return nil
	})
	return files, bytes
}
