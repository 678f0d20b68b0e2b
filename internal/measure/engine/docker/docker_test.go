package docker

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/system"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/text/refusal"
)

func TestDockerCheck(t *testing.T) {
	here, there := &daemonInfo{}, &daemonInfo{dockerapi.Daemon{Elsewhere: "it is far away"}}
	ok := func(k place.Kind) engine.Spec { return engine.Spec{ID: "a-1", Place: place.Spec{Kind: k}} }
	with := func(l limit.Limits) engine.Spec { s := ok(place.Layer); s.Limits = l; return s }
	for _, x := range []struct {
		spec  engine.Spec
		d     *daemonInfo
		what  string // of a refusal
		error string
	}{
		{engine.Spec{}, here, "", "session id"},
		{engine.Spec{ID: "../a"}, here, "", "session id"},
		{engine.Spec{ID: strings.Repeat("a", 200)}, here, "", "session id"},
		{ok(place.Dir), here, "place dir", "bind"},
		{ok(place.Share), here, "place share", ""},
		{ok("moon"), here, `place "moon"`, "layer, bind"},
		{ok(""), here, `place ""`, ""},
		{ok(place.Bind), there, "place bind", "it is far away"},
		{engine.Spec{ID: "a", Place: place.Spec{Kind: place.Tmpfs, Size: -1}}, here, "", "negative"},
		{with(limit.Limits{ReadBPS: 1}), here, "", "write 2 to 1PiB"},
		{with(limit.Limits{ReadIOPS: 1 << 32}), here, "", "the kernel keeps IOPS in 32 bits"},
		{with(limit.Limits{WriteBPS: 1 << 20, Weight: 200, Latency: time.Millisecond}), here, "", ""},
		{with(limit.Limits{Memory: -1}), here, "", "negative"},
		{with(limit.Limits{CPUShares: -1}), here, "", "negative"},
		{with(limit.Limits{CPUs: math.NaN()}), here, "", "limits : cpus: NaN is not a number"},
		{with(limit.Limits{CPUs: math.Inf(1)}), here, "", "too much"},
		{with(limit.Limits{CPUs: -1}), here, "", "negative"},
		{with(limit.Limits{CPUs: 1.5, Memory: 1 << 30}), here, "", ""},
		{ok(place.Layer), there, "", ""},
		{ok(place.Volume), there, "", ""},
		{ok(place.Tmpfs), there, "", ""},
		{ok(place.Bind), here, "", ""},
	} {
		err := checkSpec(x.spec, x.d)
		var u *refusal.Error
		errors.As(err, &u)
		switch {
		case x.what == "" && x.error == "":
			if err != nil {
				t.Errorf("checkSpec(%+v) = %v", x.spec, err)
			}
		case err == nil || !strings.Contains(err.Error(), x.error):
			t.Errorf("checkSpec(%+v) = %v, want %q", x.spec, err, x.error)
		case (x.what != "") != (u != nil) || u != nil && u.What != x.what:
			t.Errorf("checkSpec(%+v) = %#v, want Unsupported %q", x.spec, err, x.what)
		}
	}
}

func TestDockerEndWords(t *testing.T) {
	test := func(e containerEnd, memory int64, want string) {
		t.Helper()
		if got := endWords(e, memory); got != want {
			t.Errorf("endWords(%+v, %d) = %q, want %q", e, memory, got, want)
		}
	}
	test(containerEnd{exit: -1}, 0, "ended, with an unknown status")
	test(containerEnd{exit: 137, oom: true}, 64<<20, "killed: out of memory (memory limit 64 MiB)")
	test(containerEnd{exit: 137, oom: true}, 0, "killed: out of memory")
	test(containerEnd{exit: 137, killed: "9"}, 1<<30, "killed: through the daemon, with signal 9")
	test(containerEnd{exit: 137}, 1536<<20, "killed: signal 9; perhaps out of memory (memory limit 1.5 GiB), but the daemon reported no such event")
	test(containerEnd{exit: 137}, 0, "killed: signal 9")
	test(containerEnd{exit: 139}, 0, "killed: signal 11")
	test(containerEnd{exit: 1, oom: true}, 64<<20, "exit status 1, after one of its processes was killed: out of memory (memory limit 64 MiB)")
	test(containerEnd{exit: 3}, 64<<20, "exit status 3")
	test(containerEnd{exit: 255}, 0, "exit status 255")
	test(containerEnd{}, 0, "exit status 0")
}

func TestDockerWatchNote(t *testing.T) {
	w := &eventWatch{died: make(chan struct{}), removed: make(chan struct{}), lost: make(chan struct{})}
	event := func(a events.Action, kv ...string) {
		m := events.Message{Action: a, Actor: events.Actor{Attributes: map[string]string{}}}
		for i := 0; i+1 < len(kv); i += 2 {
			m.Actor.Attributes[kv[i]] = kv[i+1]
		}
		w.note(m)
	}
	if got := w.end(); got != (containerEnd{}) {
		t.Errorf("before any event: %+v", got)
	}
	event(events.ActionOOM)
	event(events.ActionKill, "signal", "9")
	event(events.ActionDie)
	event(events.ActionDie, "containerExitCode", "3")
	event(events.ActionDie, "exitCode", "137")
	event(events.ActionDestroy)
	event(events.ActionRemove)
	event("something new")
	if got, want := w.end(), (containerEnd{died: true, exit: 137, oom: true, killed: "9"}); got != want {
		t.Errorf("after the events: %+v, want %+v", got, want)
	}
	select {
	case <-w.removed:
	default:
		t.Error("the container does not count as removed")
	}
}

func TestDockerOwner(t *testing.T) {
	self := thisProcess()
	labels := func(process, host string) map[string]string {
		return map[string]string{labelOwner: process, labelHost: host}
	}
	for _, l := range []map[string]string{nil, labels("", ""), labels(self.process, self.host), labels("x/1/1", "another"), labels("nonsense", self.host), labels("a/b/c", self.host)} {
		if self.dead(l) {
			t.Errorf("dead(%v) = true", l)
		}
	}
	if !self.mine(labels(self.process, self.host)) || self.mine(labels(self.process, "another")) || self.mine(nil) {
		t.Error("mine doesn't know its own")
	}
}

func TestDockerDaemonWords(t *testing.T) {
	d := &daemonInfo{dockerapi.Daemon{Name: "docker", Version: "20.10.24", APIVersion: "1.41", Elsewhere: "far", Info: system.Info{Name: "node2", Driver: "overlay2", DefaultRuntime: "runc"},
		Components: []system.ComponentVersion{{Name: "runc", Version: "1.1.5"}}}}
	p := &daemonInfo{dockerapi.Daemon{Info: system.Info{Driver: "overlayfs", DefaultRuntime: "runc", DriverStatus: [][2]string{{"driver-type", "io.containerd.snapshotter.v1"}}},
		Components: []system.ComponentVersion{{Name: "OCI Runtime (runc)", Version: "runc version 1.1.5+ds1\ncommit: x"}}}}
	here := &daemonInfo{dockerapi.Daemon{Info: system.Info{Name: "node1"}}}
	for _, x := range []struct{ got, want string }{
		{d.title(), "docker 20.10.24 (API 1.41)"},
		{d.host(), "node2"},
		{here.host(), ""},
		{d.storage(), "overlay2"},
		{d.runtime("runc"), "runc 1.1.5"},
		{d.runtime(""), "runc 1.1.5"},
		{d.runtime("kata"), "kata"},
		{p.storage(), "overlayfs (containerd snapshotter)"},
		{p.runtime("oci"), "runc 1.1.5+ds1"},
		{goArch("x86_64", ""), "amd64"},
		{goArch("aarch64", ""), "arm64"},
		{goArch("", "s390x"), "s390x"},
		{goArch("riscv64", ""), "riscv64"},
	} {
		if x.got != x.want {
			t.Errorf("got %q, want %q", x.got, x.want)
		}
	}
}

// TestDockerHeadline: an error of a daemon's is short, with its beginning and its end. This is Podman 4.3's of an image of 120 layers, whose
// names it lists.
func TestDockerHeadline(t *testing.T) {
	const begin = "connect to the container: Error response from daemon: mounting storage for container d5c54c3b7a73: creating overlay mount to "
	const end = `,upperdir=ae52bff2350e/diff,workdir=ae52bff2350e/work,,volatile": mountfrom re-exec output: invalid argument: error: exit status 1`
	words := begin + `ae52bff2350e/merged, mount_data="lowerdir=` + strings.Repeat("l/KO4IR5OIC4NZMKFRME2ROFGQTY:", 120) + end
	got := headline{errors.New(words)}.Error()
	if most := maxHeadline + len(" ... "); len(got) > most {
		t.Errorf("%d bytes, want %d at most", len(got), most)
	}
	if !strings.HasPrefix(got, begin) {
		t.Errorf("no beginning: %s", got)
	}
	if !strings.HasSuffix(got, end) {
		t.Errorf("no end: %s", got)
	}
}

func TestDockerProgress(t *testing.T) {
	for text, want := range map[string]string{
		`{"status":"ok"}` + "\n" + `{"errorDetail":{"message":"no space left on device"},"error":"no space"}`: "no space left on device",
		`{"error":"old"}`:              "old",
		`{"status":`:                   "unexpected EOF",
		`<html>`:                       "invalid character",
		"":                             "",
		`{"status":"a"}{"status":"b"}`: "",
	} {
		err := readProgress(strings.NewReader(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("readProgress(%q) = %v, want %q", text, err, want)
		}
	}
}

// TestDockerTar: the same worker is the same layer.
func TestDockerTar(t *testing.T) {
	a, err := workerTar([]byte("abc"), workerPathInImage, dataPathInImage)
	if err != nil {
		t.Fatal(err)
	}
	b, err := workerTar([]byte("abc"), workerPathInImage, dataPathInImage)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two archives of the same worker differ")
	}
}

func TestDockerOwnImage(t *testing.T) {
	for _, tags := range [][]string{nil, {"plimsoll-worker:1"}, {"localhost/plimsoll-worker:1"}, {"docker.io/library/plimsoll-worker:1"}, {"<none>:<none>"}} {
		if !ownImage(tags) {
			t.Errorf("ownImage(%q) = false", tags)
		}
	}
	for _, tags := range [][]string{{"mine:1"}, {"plimsoll-worker:1", "mine:1"}, {"plimsoll-worker-of-mine:1"}, {"example.com/plimsoll-worker:1"}} {
		if ownImage(tags) {
			t.Errorf("ownImage(%q) = true", tags)
		}
	}
}

// TestDockerSweepsFolders: without a daemon Sweep still removes the folders of dead
// owners, and of the docker engine only.
func TestDockerSweepsFolders(t *testing.T) {
	state, data := t.TempDir(), t.TempDir()
	e := New(Options{Host: "unix://" + filepath.Join(state, "no.sock"), StateDir: state}).(*Engine)
	journaltest.Dead(t, state, e.journal.Kind, "mine", engine.SessionRecord{Paths: []string{filepath.Join(data, "plimsoll-mine")}})
	journaltest.Dead(t, state, engine.JournalIn(state, "host").Kind, "host", engine.SessionRecord{Paths: []string{filepath.Join(data, "plimsoll-host")}})
	if err := e.journal.Note(t.Context(), "living", engine.SessionRecord{Paths: []string{filepath.Join(data, "plimsoll-living")}}); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"plimsoll-living", "plimsoll-host", "plimsoll-mine/deep"} {
		if err := os.MkdirAll(filepath.Join(data, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	did, err := e.Sweep(t.Context())
	if diff := cmp.Diff([]string{"folder " + filepath.Join(data, "plimsoll-mine")}, did); diff != "" || err != nil {
		t.Errorf("Sweep did (-want +got):\n%s%v", diff, err)
	}
	for _, d := range []string{"plimsoll-living", "plimsoll-host"} {
		if !fileInContainer(filepath.Join(data, d)) {
			t.Errorf("%s is gone", d)
		}
	}
}

// fileInContainer reports whether path is there for this process.
func fileInContainer(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestDockerImageGone: both stores' words for an image that another plimsoll has removed, and for no other error.
func TestDockerImageGone(t *testing.T) {
	for text, row := range map[string]struct {
		kind error
		want bool
	}{
		"No such image: plimsoll-worker:0123":                                  {cerrdefs.ErrNotFound, true},
		"failed to read config content: content digest sha256:1a31: not found": {cerrdefs.ErrInternal, true},
		"No such container: web":                                               {cerrdefs.ErrNotFound, false},
		"no space left on the device":                                          {cerrdefs.ErrInternal, false},
	} {
		if got := imageGone(fmt.Errorf("%s: %w", text, row.kind)); got != row.want {
			t.Errorf("%q is told as gone: %v", text, got)
		}
	}
}
