package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/state/paths"
	"plimsoll/internal/testkit/texttest"
)

// quickHost is a first look at the default plan that takes a second.
var quickHost = []string{"run", "--quick", "--blocks", "1", "--only", "workload=append"}

// TestFirstUseOfNobody: a user without rights and without a usual home measures the host
// nevertheless, and the output says where the records go and what root would add. If there is no folder for
// them, the error asks for one.
func TestFirstUseOfNobody(t *testing.T) {
	needRun(t)
	t.Parallel() // Its folders are its own.
	own := nobodysFolder(t)
	mustDo(t, os.Chown(own, 65534, 65534))
	foreign := nobodysFolder(t) // It is root's.
	none := "DOCKER_HOST=unix://" + own + "/none.sock"
	const noHome = "there is no home folder, so records go to plimsoll-state in the current folder; --state names another"
	const notRoot = "this user is not root: tmpfs on the host and engine oci will be skipped; run as root (sudo plimsoll run ...) to include them"
	for _, tt := range []struct {
		name, current string
		env           []string
		args          []string
		status        int
		// state is where the records must be, want what is said.
		state string
		want  []string
		never string
	}{
		{"at home", foreign, []string{"HOME=" + own}, quickHost, exitDone, filepath.Join(own, ".local/state/plimsoll"), []string{notRoot}, "no home"},
		{"XDG_STATE_HOME", foreign, []string{"XDG_STATE_HOME=" + filepath.Join(own, "xdg")}, quickHost, exitDone, filepath.Join(own, "xdg/plimsoll"), []string{notRoot}, "no home"},
		{"no HOME", own, nil, quickHost, exitDone, filepath.Join(own, paths.Homeless), []string{noHome, notRoot}, ""},
		{"HOME that isn't there", own, []string{"HOME=/nonexistent"}, quickHost, exitDone, filepath.Join(own, paths.Homeless), []string{noHome, notRoot}, ""},
		{"no HOME in a folder of root's", foreign, nil, quickHost, exitFailure, "", []string{foreign + "/plimsoll-state: permission denied", "--state"}, "run 20"},
		{"XDG_STATE_HOME of root's", own, []string{"HOME=" + own, "XDG_STATE_HOME=" + foreign}, quickHost, exitFailure, "", []string{foreign + "/plimsoll: permission denied", "--state"}, "run 20"},
		{"report in a folder of root's", foreign, []string{"HOME=" + own}, append(quickHost[:len(quickHost):len(quickHost)], "--out", "."), exitUsage, "", []string{"--out: the folder . can't be written: permission denied"}, "run 20"},
		{"a place in a folder of root's", own, []string{"HOME=" + own}, append(quickHost[:len(quickHost):len(quickHost)], "--set", "places.dir.path="+foreign), exitUsage, "", []string{"place dir: " + foreign + " can't be written: permission denied: name another folder"}, "trials"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := asNobodyIn(t, own, tt.current, append(tt.env, none), "", tt.args...)
			if status != tt.status {
				t.Fatalf("status %d, want %d\n%s", status, tt.status, errs)
			}
			texttest.Has(t, errs, tt.want)
			if tt.never != "" && strings.Contains(errs, tt.never) {
				t.Errorf("%q in\n%s", tt.never, errs)
			}
			if tt.state == "" {
				return
			}
			if !strings.Contains(out, "host dir") {
				t.Errorf("the host was not measured:\n%s", out)
			}
			_, trials := records(t, tt.state)
			wantDone(t, trials, 2)
			checkClean(t, tt.state)
			mustDo(t, os.RemoveAll(tt.state))
		})
	}
}

// TestNobodysCommands: a user without rights looks at the machine, checks a plan of his own and runs it, from
// its file, in a folder of his own and in memory that is everybody's.
func TestNobodysCommands(t *testing.T) {
	needRun(t)
	own := nobodysFolder(t)
	mustDo(t, os.Chown(own, 65534, 65534))
	env := []string{"HOME=" + own, "DOCKER_HOST=unix://" + own + "/none.sock"}
	mustDo(t, os.WriteFile(filepath.Join(own, "tiny.yaml"), []byte(`
name: tiny
workloads:
  randread: {rw: randread, bs: 4KiB, iodepth: 4, direct: true, size: 1MiB, number_ios: 200}
  append: {kind: append, count: 50}
engines: [host]
places: {dir: {path: `+own+`/data}, state: {kind: dir}}
blocks: 2
`), 0o644))
	mustDo(t, os.Mkdir(filepath.Join(own, "data"), 0o777))
	mustDo(t, os.Chown(filepath.Join(own, "data"), 65534, 65534))
	for _, tt := range []struct {
		args []string
		want []string // on standard output
	}{
		{[]string{"doctor"}, []string{"engine host", "engine oci: ", "root", "engine docker: "}},
		{[]string{"plan", "check", "tiny.yaml"}, []string{"ok: 2 workloads in 2 places", "12 trials"}},
		{[]string{"plan", "check", "places"}, []string{"ok: 9 workloads"}},
		{[]string{"run", "tiny.yaml"}, []string{"plan tiny", "host dir", "host state"}},
		{[]string{"results", "ls"}, []string{"tiny"}},
	} {
		status, out, errs := asNobodyIn(t, own, own, env, "", tt.args...)
		if status != exitDone {
			t.Errorf("plimsoll %s: status %d\n%s\n%s", strings.Join(tt.args, " "), status, out, errs)
		}
		texttest.Has(t, unwrap(out), tt.want, strings.Join(tt.args, " "))
	}
	state := filepath.Join(own, ".local/state/plimsoll")
	_, trials := records(t, state)
	wantDone(t, trials, 2*2*3)
	checkClean(t, state)
}

// TestNobodysDocker: a daemon's socket that this user may not use is not a daemon that is
// missing.
func TestNobodysDocker(t *testing.T) {
	needRun(t)
	dir := nobodysFolder(t)
	socket := filepath.Join(dir, "docker.sock")
	l, err := net.Listen("unix", socket)
	mustDo(t, err)
	defer l.Close()
	mustDo(t, os.Chmod(socket, 0o600))
	_, out, _ := asNobodyIn(t, dir, dir, []string{"HOME=" + dir, "DOCKER_HOST=unix://" + socket}, "", "doctor")
	if want := "engine docker: this user may not use the socket " + socket + ", which DOCKER_HOST names\n          fix: run as root"; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}
