package vm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
)

// fakeMonitor is a monitor whose QEMU is answer, which returns what is said to a command: an object's members. It returns the commands
// that it was given, once the monitor is closed.
func fakeMonitor(t *testing.T, answer func(command string) string) (m *monitor, commands func() []string) {
	t.Helper()
	m, end, err := newMonitor()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer end.Close()
		io.WriteString(end, `{"QMP": {}}`+"\n")
		in := bufio.NewScanner(end)
		for in.Scan() {
			var c struct {
				Execute string
				ID      int
			}
			if err := json.Unmarshal(in.Bytes(), &c); err != nil {
				t.Errorf("the monitor was told %q: %v", in.Text(), err)
				return
			}
			got = append(got, c.Execute)
			fmt.Fprintf(end, "{%s, \"id\": %d}\n{\"event\": \"X\"}\n", answer(c.Execute), c.ID)
		}
	}()
	commands = func() []string { m.close(); <-done; return slices.Compact(got) }
	t.Cleanup(func() { commands() })
	return m, commands
}

// saveTo has a monitor save a machine to a file that is of no interest.
func saveTo(t *testing.T, ctx context.Context, m *monitor) error {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "saved"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return m.save(ctx, f)
}

// begins are the commands before a machine is saved.
var begins = []string{"qmp_capabilities", "stop", "migrate-set-parameters", "getfd", "migrate", "query-migrate"}

const nothing = `"return": {}`

// TestSaveLate: to save a machine that takes too long is given up, and the machine goes on, once QEMU is done with the file.
func TestSaveLate(t *testing.T) {
	for name, late := range map[string]time.Duration{"it says that it goes on": 0, "it says nothing": 2100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cancelled, asked := false, 0
			m, commands := fakeMonitor(t, func(command string) string {
				switch command {
				case "migrate_cancel":
					cancelled = true
				case "query-migrate":
					switch {
					case !cancelled:
						time.Sleep(late)
						return `"return": {"status": "active"}`
					case asked < 2:
						asked++
						return `"return": {"status": "cancelling"}`
					}
					return `"return": {"status": "cancelled"}`
				case "query-status":
					return `"return": {"status": "running"}`
				}
				return nothing
			})
			m.patience = 2 * time.Second
			err := saveTo(t, t.Context(), m)
			if err == nil || err.Error() != "saving the machine took longer than 2s" || errors.As(err, new(*stoppedError)) {
				t.Errorf("save() = %v, want that it took too long, of a machine that goes on", err)
			}
			var s struct{ Status string }
			if err := m.do("query-status", nil, &s); err != nil || s.Status != "running" {
				t.Errorf("the answer to the next command is %q, %v, want its own", s.Status, err)
			}
			if got, want := commands(), append(slices.Clone(begins), "migrate_cancel", "query-migrate", "cont", "query-status"); !slices.Equal(got, want) {
				t.Errorf("QEMU was told %q, want %q", got, want)
			}
		})
	}
}

// TestSaveFails: a machine goes on, whatever QEMU answers to saving it. If it doesn't, the error is a stoppedError.
func TestSaveFails(t *testing.T) {
	const no = `"error": {"desc": "no"}`
	for name, tt := range map[string]struct {
		says    map[string]string
		want    string
		stopped bool
		ends    []string
	}{
		"nothing is wrong": {map[string]string{"query-migrate": `"return": {"status": "completed"}`}, "", false, append(slices.Clone(begins), "cont")},
		"it does not stop": {map[string]string{"stop": no}, "qemu's monitor: stop: no", false, []string{"qmp_capabilities", "stop", "cont"}},
		"no file":          {map[string]string{"getfd": no}, "qemu's monitor: getfd: no", false, append(slices.Clone(begins[:4]), "cont")},
		"it never begins":  {map[string]string{"migrate": no}, "qemu's monitor: migrate: no", false, append(slices.Clone(begins[:5]), "migrate_cancel", "query-migrate", "cont")},
		"no room": {map[string]string{"query-migrate": `"return": {"status": "failed", "error-desc": "no room"}`}, "qemu could not save the machine: no room", false,
			append(slices.Clone(begins), "migrate_cancel", "query-migrate", "cont")},
		"it does not go on": {map[string]string{"query-migrate": `"return": {"status": "completed"}`, "cont": no}, "the machine was saved, but does not resume: qemu's monitor: cont: no", true,
			append(slices.Clone(begins), "cont")},
	} {
		t.Run(name, func(t *testing.T) {
			m, commands := fakeMonitor(t, func(command string) string {
				if says, ok := tt.says[command]; ok {
					return says
				}
				return nothing
			})
			err := saveTo(t, t.Context(), m)
			if got := fmt.Sprint(err); got != tt.want && (err != nil || tt.want != "") {
				t.Errorf("save() = %v, want %q", err, tt.want)
			}
			if errors.As(err, new(*stoppedError)) != tt.stopped {
				t.Errorf("save() = %#v, which says that the machine goes on: %v", err, !tt.stopped)
			}
			if got := commands(); !slices.Equal(got, tt.ends) {
				t.Errorf("QEMU was told %q, want %q", got, tt.ends)
			}
		})
	}
}

// TestMonitorInterrupted: neither to save a machine nor to have one go on outlasts the caller's interrupt.
func TestMonitorInterrupted(t *testing.T) {
	for name, talk := range map[string]func(context.Context, *monitor) error{
		"save":  func(ctx context.Context, m *monitor) error { return saveTo(t, ctx, m) },
		"go on": func(ctx context.Context, m *monitor) error { return m.goOn(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			interrupt := errors.New("interrupt")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			m, _ := fakeMonitor(t, func(command string) string {
				switch command {
				case "query-migrate":
					cancel(interrupt)
					return `"return": {"status": "active"}`
				case "query-status":
					cancel(interrupt)
					return `"return": {"status": "inmigrate"}`
				}
				return nothing
			})
			m.patience = time.Hour
			got := make(chan error, 1)
			go func() { got <- talk(ctx, m) }()
			select {
			case err := <-got:
				if !errors.Is(err, interrupt) || errors.As(err, new(*stoppedError)) {
					t.Errorf("it said %v, want the interrupt", err)
				}
			case <-time.After(time.Minute):
				t.Error("it goes on")
			}
		})
	}
}

// TestVMSaveBlocked: a QEMU whose file takes nothing for longer than there is time has its machine run again as soon as it does.
func TestVMSaveBlocked(t *testing.T) {
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if os.Getenv("PLIMSOLL_TEST_VM") == "" || err != nil {
		t.Skip("virtual machines are booted by make test-guest")
	}
	m, end, err := newMonitor()
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	machine, err := engine.StartTied([]string{qemu, "-nodefaults", "-no-user-config", "-display", "none", "-accel", "tcg", "-m", "64M",
		"-chardev", "socket,id=monitor,fd=3", "-mon", "chardev=monitor,mode=control"}, end)
	end.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { machine.Kill(); machine.End(t.Context(), 0) }()
	// A pipe holds less than the empty machine's state, which nobody reads at first.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m.patience = 2 * time.Second
	read := make(chan int64, 1)
	go func() {
		time.Sleep(m.patience + 500*time.Millisecond)
		n, _ := io.Copy(io.Discard, r)
		read <- n
	}()
	err = m.save(t.Context(), w)
	w.Close()
	if err == nil || !strings.Contains(err.Error(), "saving the machine took longer than 2s") || errors.As(err, new(*stoppedError)) {
		t.Errorf("save() = %v, want that it took too long, of a machine that goes on; log: %s", err, machine.Log())
	}
	var s struct{ Status string }
	if err := m.during(t.Context(), func() error { return m.do("query-status", nil, &s) }); err != nil || s.Status != "running" {
		t.Errorf("the machine is %q, %v, want it to run", s.Status, err)
	}
	machine.Kill()
	t.Logf("QEMU wrote %d bytes", <-read)
}
