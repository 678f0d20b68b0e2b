package key

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/lastbytes"
)

const (
	// commandTime is how long a command may take.
	commandTime = 30 * time.Second
	// messageBytes is how much of its messages is shown.
	messageBytes = 500
)

// open doesn't wait for the writer of a pipe.
func open(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) }

// print runs the command.
func (s Source) print(ctx context.Context, buffer []byte) (int, error) {
	ctx, stop := context.WithTimeoutCause(ctx, commandTime, fmt.Errorf("it took longer than %s", commandTime))
	defer stop()
	messages := lastbytes.Buffer{Max: messageBytes}
	c := exec.CommandContext(ctx, "sh", "-c", s.Command)
	c.Stderr = &messages
	// A group of its own, so that all of its processes end with it.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return unix.Kill(-c.Process.Pid, unix.SIGKILL) }
	c.WaitDelay = time.Second
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := c.Start(); err != nil {
		return 0, err
	}
	n, err := fill(out, buffer)
	if n == len(buffer) {
		stop() // The rest isn't read.
	}
	ended := c.Wait()
	switch {
	case n == len(buffer):
		return n, nil
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	}
	if err = errors.Join(err, ended); err != nil {
		return 0, fmt.Errorf("%w%s", err, said(messages.String(), buffer[:n]))
	}
	return n, nil
}

// said is the end of the command's messages, unless the key is in it.
func said(messages string, key []byte) string {
	printed := bytes.TrimSpace(key)
	messages = strings.TrimSpace(messages)
	switch {
	case messages == "":
		return ""
	case len(printed) > 0 && strings.Contains(messages, string(printed)):
		return " (its messages have the key in them, and are not shown)"
	}
	return ": " + clean.Text(messages)
}
