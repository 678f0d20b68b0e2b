package procfs

import (
	"os/exec"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	self := Self()
	if self.Start == 0 || self.Boot == "" || self.Namespace == "" {
		t.Errorf("Self() = %+v, want all set", self)
	}
	if !self.Alive() {
		t.Errorf("Self() = %+v is not alive", self)
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := Of("/proc", cmd.Process.Pid)
	if !child.Alive() {
		t.Error("a living child is not alive")
	}
	cmd.Process.Kill()
	// It is a zombie until it is waited for.
	for deadline := time.Now().Add(time.Minute); child.Alive() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if child.Alive() {
		t.Error("a zombie is alive")
	}
	cmd.Wait()
	for name, row := range map[string]struct {
		change func(*Process)
		alive  bool
	}{
		"itself":                            {func(*Process) {}, true},
		"gone":                              {func(p *Process) { *p = child }, false},
		"another with its number":           {func(p *Process) { p.Start = 1 }, false},
		"of an earlier boot":                {func(p *Process) { p.Boot = "x" }, false},
		"none":                              {func(p *Process) { *p = Process{} }, true},
		"of another namespace":              {func(p *Process) { p.Start, p.Namespace = 1, "pid:[1]" }, true},
		"of another namespace, before boot": {func(p *Process) { p.Boot, p.Namespace = "x", "pid:[1]" }, false},
	} {
		p := self
		row.change(&p)
		if got := p.Alive(); got != row.alive {
			t.Errorf("%s: %+v alive: %v, want %v", name, p, got, row.alive)
		}
	}
}
