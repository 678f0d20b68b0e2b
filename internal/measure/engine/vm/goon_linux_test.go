package vm

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/guest"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/internal/text/refusal"
)

// fakeQEMU is a script in place of QEMU: a machine that says what a worker says as far as Open listens. If it goes on and there is a file
// damaged beside it, it ends as QEMU does with a file that is no saved machine; a program before beside it is run first.
const fakeQEMU = `#!/bin/sh
here=$(dirname "$0")
case " $* " in *' --version '*) echo 'QEMU emulator version 7.0'; exit;; esac
echo "$*" >>"$here/asked"
[ ! -x "$here/before" ] || "$here/before" "$@" || exit
talk() {
	echo '{"QMP": {}}'
	while read -r line; do
		id=$(echo "$line" | sed -n 's/.*"id":\([0-9]*\).*/,"id":\1/p')
		case $line in
		*query-migrate*) echo '{"return": {"status": "completed"}'"$id}" ;;
		*query-status*) echo '{"return": {"status": "paused"}'"$id}" ;;
		*) echo '{"return": {}'"$id}" ;;
		esac
	done
}
case " $* " in
*' -incoming '*) [ ! -e "$here/damaged" ] || { echo 'load of migration failed' >&2; exit 1; } ;;
*) echo '{"booted": {}}' ;;
esac
talk <&4 >&4 3>&- &
read -r setup
echo '{"hello": {}}'
read -r more
`

// fakeVM is an engine whose QEMU is fakeQEMU, in a folder that it returns.
func fakeVM(t *testing.T) (v *Engine, dir string) {
	t.Helper()
	dir = t.TempDir()
	v, err := fakeVMIn(dir, t.TempDir())
	if err == nil {
		v.Worker, err = workertest.Source(t), v.ownCache()
	}
	if err != nil {
		t.Fatal(err)
	}
	return v, dir
}

// fakeVMIn is an engine with a state folder whose QEMU is fakeQEMU, which it writes to dir.
func fakeVMIn(dir, state string) (*Engine, error) {
	for name, text := range map[string]string{"qemu-system-x86_64": fakeQEMU, "modules.dep": "9p.ko:\n9pnet_virtio.ko:\n", "kernel": "", "initrd": ""} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			return nil, err
		}
	}
	v := New(Options{State: state, LookPath: exec.LookPath}).(*Engine)
	v.base = &bootFiles{
		qemu: filepath.Join(dir, "qemu-system-x86_64"), version: "7.0", kernel: guest.Kernel{Version: "6.0", Modules: dir},
		image: filepath.Join(dir, "kernel"), initrd: filepath.Join(dir, "initrd"), accel: AccelTCG,
	}
	return v, nil
}

// fakeSpec asks for a machine that needs no device.
func fakeSpec(id string) engine.Spec {
	return engine.Spec{ID: id, Place: place.Spec{Name: "p", Kind: place.Tmpfs, Size: 1 << 20}}
}

// openFake opens a session and closes it.
func openFake(t *testing.T, v *Engine, spec engine.Spec) {
	t.Helper()
	s, err := v.Open(t.Context(), spec)
	if err != nil {
		t.Fatalf("Open(%s) = %v", spec.ID, err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// touch makes a file.
func touch(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// starts counts how often the fake QEMU was started, and how often from where a machine was saved.
func starts(t *testing.T, dir string) (all, saved int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "asked"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n"), strings.Count(string(b), " -incoming ")
}

// savedFiles lists the saved machines of an engine.
func savedFiles(t *testing.T, v *Engine) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(v.cacheDir(), savedPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestSavedDamaged: a saved machine that doesn't go on is removed and costs a boot, which saves another; also if others were faster, who
// have removed it or put a new one in its place.
func TestSavedDamaged(t *testing.T) {
	for name, before := range map[string]string{
		"alone":        "",
		"it is gone":   "rm -f CACHE/saved-*",
		"there is new": "for f in CACHE/saved-*; do echo new >$f.new; mv $f.new $f; done",
	} {
		t.Run(name, func(t *testing.T) {
			v, dir := fakeVM(t)
			openFake(t, v, fakeSpec("first"))
			if got := savedFiles(t, v); len(got) != 1 {
				t.Fatalf("saved are %v, want one", got)
			}
			openFake(t, v, fakeSpec("second"))
			if all, saved := starts(t, dir); all != 2 || saved != 1 {
				t.Fatalf("%d starts, %d from where one was saved, want 2 and 1", all, saved)
			}
			touch(t, filepath.Join(dir, "damaged"), "")
			touch(t, filepath.Join(dir, "before"), "#!/bin/sh\ncase \" $* \" in *' -incoming '*) "+strings.ReplaceAll(cmp.Or(before, ":"), "CACHE", v.cacheDir())+";; esac\n")
			openFake(t, v, fakeSpec("third"))
			if all, saved := starts(t, dir); all != 4 || saved != 2 {
				t.Errorf("%d starts, %d from where one was saved, want 4 and 2", all, saved)
			}
			if got := savedFiles(t, v); len(got) != 1 {
				t.Errorf("saved are %v, want one", got)
			}
		})
	}
}

// TestSavedDamagedAtOnce: all machines that meet a damaged file at once boot.
func TestSavedDamagedAtOnce(t *testing.T) {
	v, dir := fakeVM(t)
	openFake(t, v, fakeSpec("first"))
	touch(t, filepath.Join(dir, "damaged"), "")
	// They wait for each other, so that all have the same file.
	touch(t, filepath.Join(dir, "before"), "#!/bin/sh\ncase \" $* \" in *' -incoming '*) echo >>"+dir+"/met; while [ $(wc -l <"+dir+"/met) -lt 4 ]; do sleep 0.01; done;; esac\n")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			s, err := v.Open(t.Context(), fakeSpec("machine-"+strconv.Itoa(i)))
			if err == nil {
				err = s.Close(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if all, saved := starts(t, dir); all != 9 || saved != 4 {
		t.Errorf("%d starts, %d from where one was saved, want 9 and 4", all, saved)
	}
}

// TestLaunchTouches: what a machine boots from is noted as used, for a plimsoll that has others.
func TestLaunchTouches(t *testing.T) {
	v, _ := fakeVM(t)
	v.base.image, v.base.initrd = filepath.Join(v.cacheDir(), "kernel-1"), filepath.Join(v.cacheDir(), "initramfs-1")
	long := time.Now().Add(-100 * time.Hour)
	for _, path := range []string{v.base.image, v.base.initrd} {
		touch(t, path, "")
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	openFake(t, v, fakeSpec("touches"))
	for _, path := range []string{v.base.image, v.base.initrd} {
		if st, err := os.Stat(path); err != nil || time.Since(st.ModTime()) > time.Hour {
			t.Errorf("%s was last used at %v, %v", path, st.ModTime(), err)
		}
	}
}

// TestDropFile: only the file that was opened is removed.
func TestDropFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "saved-1")
	for _, again := range []bool{false, true} {
		touch(t, path, "old")
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if again {
			touch(t, path+".new", "new")
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := dropFile(f); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(path); (err == nil) != again {
			t.Errorf("put there again: %v; Stat() = %v", again, err)
		}
	}
}

// TestSavedNotEnclosed: where a machine can't be put into a group, that is said, and neither costs a boot nor the saved machine.
func TestSavedNotEnclosed(t *testing.T) {
	v, dir := fakeVM(t)
	v.Limits = LimitsOutside
	openFake(t, v, fakeSpec("first"))
	spec := fakeSpec(tryID())
	spec.Limits = limit.Limits{Name: "l", CPUs: 1}
	if groups, err := cgroup.Open(device.Host()); err != nil {
		t.Logf("no group can be made: %v", err)
	} else if own, err := groups.Make(engine.FolderPrefix+spec.ID, hierarchy.CPU); err != nil {
		t.Logf("no group can be made: %v", err)
	} else {
		// A second one of that name can't.
		defer own.Close()
	}
	if s, err := v.Open(t.Context(), spec); !errors.Is(err, refusal.ErrRefused) || !strings.Contains(err.Error(), "gets no control group of its own here") {
		t.Errorf("Open() = %v, want it unsupported", err)
		if err == nil {
			s.Close(t.Context())
		}
	}
	// It may have ended before it could tell that it was started.
	if all, saved := starts(t, dir); all-saved != 1 {
		t.Errorf("%d machines booted, want the first alone", all-saved)
	}
	if got := savedFiles(t, v); len(got) != 1 {
		t.Errorf("saved are %v, want one", got)
	}
}

// sleeping is a process that ends when the test does.
func sleeping(t *testing.T, script string) *engine.Process {
	t.Helper()
	p, err := engine.StartTied([]string{"sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); p.End(t.Context(), 0) })
	return p
}

// TestWatchDaemon: a daemon that ends takes its machine along, and no other one; one that ends because its machine has is not to blame.
func TestWatchDaemon(t *testing.T) {
	daemon, machine, next := sleeping(t, "exit 3"), sleeping(t, "exec sleep 1000"), sleeping(t, "exec sleep 1000")
	orphan := new(atomic.Pointer[engine.Process])
	watchDaemon(daemon, machine, orphan)
	<-machine.Waited
	if orphan.Load() != daemon {
		t.Error("the daemon's end is not noted")
	}
	select {
	case <-next.Waited:
		t.Error("another machine was killed")
	case <-time.After(50 * time.Millisecond):
	}
	orphan = new(atomic.Pointer[engine.Process])
	// As if nobody had asked yet how the machine ended.
	late := &engine.Process{Cmd: machine.Cmd, Waited: make(chan struct{})}
	watched := make(chan struct{})
	go func() { defer close(watched); watchDaemon(daemon, late, orphan) }()
	time.Sleep(50 * time.Millisecond)
	close(late.Waited)
	<-watched
	if orphan.Load() != nil {
		t.Error("the daemon is told to have ended before its machine")
	}
}

// TestAgainEndsDaemons: before a machine is started again the daemons of its shares end, and what led to them is closed.
func TestAgainEndsDaemons(t *testing.T) {
	v, _ := fakeVM(t)
	s := &session{vm: v, base: v.base, id: "again", dir: engine.OwnFolder(filepath.Join(v.State, "vm"), "again"), data: []string{""}}
	s.own = []string{s.dir}
	daemon := sleeping(t, "exec sleep 1000")
	s.Process = sleeping(t, "exec sleep 1000")
	socket, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	s.places = []*placeDevice{{daemon: daemon, socket: socket}}
	if err := s.again(t.Context(), fakeSpec("again")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-daemon.Waited:
	default:
		t.Error("the daemon still runs")
	}
	if err := socket.Close(); !errors.Is(err, os.ErrClosed) {
		t.Error("the socket was open")
	}
	if len(s.places) != 1 || s.daemons() != nil || s.Process != nil {
		t.Errorf("the session has %d places, %d daemons, want what its next start needs", len(s.places), len(s.daemons()))
	}
}
