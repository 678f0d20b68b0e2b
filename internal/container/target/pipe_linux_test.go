package target

import (
	"strings"
	"syscall"
	"testing"
)

// TestPipes: a named pipe in place of a runtime's file doesn't block, and the other containers are found.
func TestPipes(t *testing.T) {
	x := newFixture(t)
	x.process(77, "S", 500, "0::/good")
	x.write("runc/good/state.json", `{"id": "good", "init_process_pid": 77, "init_process_start": 500}`)
	x.write("runc/pipe/x", "")
	x.write("bundle/x", "")
	for _, name := range []string{"runc/pipe/state.json", "bundle/config.json", "init.pid"} {
		if err := syscall.Mkfifo(x.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := x.finder(Options{Runc: []string{x.path("runc")}})
	all, err := f.List(t.Context())
	if len(all) != 1 || err == nil || !strings.Contains(err.Error(), "pipe/state.json is a named pipe") {
		t.Errorf("List() = %+v, %v", all, err)
	}
	state := `{"id": "x", "pid": 77, "bundle": "` + x.path("bundle") + `"}`
	if _, err := f.FromState(strings.NewReader(state)); err == nil || !strings.Contains(err.Error(), "config.json is a named pipe") {
		t.Errorf("FromState() = %v", err)
	}
	if _, err := readPID(x.path("init.pid")); err == nil || !strings.Contains(err.Error(), "is a named pipe") {
		t.Errorf("readPID() = %v", err)
	}
}
