package volume

import (
	"os/exec"
	"syscall"
)

// group gives a command a process group of its own, which is killed as a whole when its context ends.
func group(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
