package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/provide/volume"
	"plimsoll/internal/testkit/killtest"
)

// A lab is a plugin at a socket of the test's own.
type lab struct {
	testing.TB
	volumes *volume.Volumes
	socket  string
	client  *http.Client
	mu      sync.Mutex
	log     []string
}

func newLab(t testing.TB) *lab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	l := &lab{TB: t, volumes: volume.New(dir), socket: filepath.Join(dir, "s")}
	listener, err := Listen(l.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	p := &Plugin{Volumes: l.volumes, Log: func(line string) { l.mu.Lock(); defer l.mu.Unlock(); l.log = append(l.log, line) }}
	go func() { served <- p.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve() = %v", err)
		}
		if _, err := os.Lstat(l.socket); !os.IsNotExist(err) {
			t.Errorf("the socket outlives the plugin: %v", err)
		}
	})
	l.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", l.socket)
	}}}
	t.Cleanup(l.client.CloseIdleConnections)
	return l
}

// ask sends a request, and returns the status and the body.
func (l *lab) ask(method, path string, body io.Reader) (int, string) {
	l.Helper()
	r, err := http.NewRequestWithContext(l.Context(), method, "http://plugin"+path, body)
	if err != nil {
		l.Fatal(err)
	}
	answer, err := l.client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		l.Error(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(b))
}

// do sends a request of Docker's.
func (l *lab) do(verb string, q any) (int, string) {
	l.Helper()
	b, err := json.Marshal(q)
	if err != nil {
		l.Fatal(err)
	}
	return l.ask("POST", "/"+verb, bytes.NewReader(b))
}

// TestHostile: whatever is sent gets an answer, and the plugin goes on.
func TestHostile(t *testing.T) {
	l := newLab(t)
	for _, row := range []struct {
		method, path, body string
		status             int
		words              string
	}{
		{"POST", "/VolumeDriver.Create", "", 500, "a volume needs a name"},
		{"POST", "/VolumeDriver.Create", "null", 500, "a volume needs a name"},
		{"POST", "/VolumeDriver.Create", "{", 500, "not JSON"},
		{"POST", "/VolumeDriver.Create", "\x00\xff", 500, "not JSON"},
		{"POST", "/VolumeDriver.Create", `{"Name": 7}`, 500, "not JSON of Docker's volume plugins"},
		{"POST", "/VolumeDriver.Create", `{"Name": "a", "Opts": {"capacity": 20}}`, 500, "not JSON"},
		{"POST", "/VolumeDriver.Create", `["a"]`, 500, "not JSON"},
		{"POST", "/VolumeDriver.Create", strings.Repeat("[", 1<<19), 500, "not JSON"},
		{"POST", "/VolumeDriver.Create", `{"Name": "` + strings.Repeat("a", 2<<20) + `"}`, 500, "more than 1048576 bytes"},
		{"POST", "/VolumeDriver.Create", `{"Name": "../../etc"}`, 500, "not a volume's name"},
		{"POST", "/VolumeDriver.Create", `{"Name": "a\u0000b"}`, 500, "not a volume's name"},
		{"POST", "/VolumeDriver.Mount", `{"Name": "none", "ID": "x"}`, 500, "there is no volume"},
		{"POST", "/VolumeDriver.Unmount", `{"Name": "none", "ID": "x"}`, 200, "{}"},
		{"POST", "/VolumeDriver.Get", `{"Name": "none"}`, 500, "there is no volume"},
		{"POST", "/VolumeDriver.Path", `{"Name": "none"}`, 500, "there is no volume"},
		{"POST", "/VolumeDriver.Remove", `{"Name": "none"}`, 500, "there is no volume"},
		{"POST", "/VolumeDriver.List", `{"Name": "x", "New": {"a": [1, 2]}} trailing`, 200, `{"Volumes":[]}`},
		{"GET", "/VolumeDriver.List", "", 405, ""},
		{"PUT", "/Plugin.Activate", "", 405, ""},
		{"POST", "/VolumeDriver.Format", "{}", 404, ""},
		{"POST", "/VolumeDriver.List/../../x", "{}", 0, ""},
		{"POST", "/Plugin.Activate", "", 200, `{"Implements":["VolumeDriver"]}`},
		{"POST", "/VolumeDriver.Capabilities", "{}", 200, `{"Capabilities":{"Scope":"local"}}`},
	} {
		status, body := l.ask(row.method, row.path, strings.NewReader(row.body))
		if row.status != 0 && status != row.status || !strings.Contains(body, row.words) {
			t.Errorf("%s %s %.40q = %d %.200s, want %d with %q", row.method, row.path, row.body, status, body, row.status, row.words)
		}
		if len(body) > 1000 {
			t.Errorf("%s %.40q: the answer has %d bytes", row.path, row.body, len(body))
		}
	}
	c, err := net.Dial("unix", l.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST /VolumeDriver.List HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{") // And nothing more.
	if status, body := l.do("VolumeDriver.List", nil); status != 200 {
		t.Errorf("List beside a client that stops = %d %s", status, body)
	}
	c.Close()
	if list, err := l.volumes.List(); len(list) > 0 || err != nil {
		t.Errorf("volumes: %v, %v", list, err)
	}
	for _, line := range l.log {
		if len(line) > 1000 {
			t.Errorf("a line of the log has %d bytes", len(line))
		}
	}
}

// TestStatus: inspect shows what is kept of each promise, who has mounted the volume, its space, and what is wrong.
func TestStatus(t *testing.T) {
	l := newLab(t)
	if code, body := l.do("VolumeDriver.Create", request{Name: "db", Opts: map[string]string{"capacity": "32MiB", "iops.min": "100"}}); code != 200 {
		t.Fatal(body)
	}
	get := func() (v listed) {
		t.Helper()
		var a answer
		code, body := l.do("VolumeDriver.Get", request{Name: "db"})
		if err := json.Unmarshal([]byte(body), &a); err != nil || code != 200 || a.Volume == nil || a.Volume.Status == nil {
			t.Fatalf("Get: %d %s: %v", code, body, err)
		}
		return *a.Volume
	}
	v := get()
	if v.Mountpoint != "" || v.Status.Backend != "local" || v.Status.Profile != "BASIC" || v.Status.Promises["enforced"]["capacity"] != "32MiB" || v.Status.Error != "" || v.Status.Space.Disk == 0 {
		t.Errorf("a new volume: %+v", v.Status)
	}
	if _, err := time.Parse(time.RFC3339, v.CreatedAt); err != nil {
		t.Error(err)
	}
	code, body := l.do("VolumeDriver.Mount", request{Name: "db", ID: "x"})
	root := filepath.Join(filepath.Dir(l.socket), "volumes/db/mount/data")
	if diff := cmp.Diff(fmt.Sprintf(`{"Mountpoint":%q}`, root), body); code != 200 || diff != "" {
		t.Errorf("Mount: %d\n%s", code, diff)
	}
	if v = get(); v.Mountpoint != root || len(v.Status.Mounts) != 1 || v.Status.Mounts[0].ID != "x" || v.Status.Space.Size == 0 {
		t.Errorf("a mounted volume: %+v", v)
	}
	if code, body := l.do("VolumeDriver.Unmount", request{Name: "db", ID: "x"}); code != 200 {
		t.Error(body)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(root), "../db.img")); err != nil {
		t.Fatal(err)
	}
	if v = get(); !strings.Contains(v.Status.Error, "missing") {
		t.Errorf("a damaged volume: %+v", v.Status)
	}
	if code, body := l.do("VolumeDriver.List", nil); code != 200 || !strings.Contains(body, `"db"`) {
		t.Errorf("List: %d %s", code, body)
	}
	if code, body := l.do("VolumeDriver.Remove", request{Name: "db"}); code != 200 {
		t.Error(body)
	}
}

// TestRemove: a removed volume's data stays for a while, that of an anonymous one goes.
func TestRemove(t *testing.T) {
	l := newLab(t)
	for name, kept := range map[string]int{"db": 1, strings.Repeat("0f", 32): 0} {
		if code, body := l.do("VolumeDriver.Create", request{Name: name, Opts: map[string]string{"capacity": "32MiB"}}); code != 200 {
			t.Fatal(body)
		}
		if code, body := l.do("VolumeDriver.Remove", request{Name: name}); code != 200 {
			t.Fatal(body)
		}
		list, err := l.volumes.Trash()
		if err != nil || len(list) != kept {
			t.Errorf("after the removal of %.10s: %d volumes in the trash, %v; want %d", name, len(list), err, kept)
		}
		if _, err := l.volumes.Empty(t.Context(), true); err != nil {
			t.Error(err)
		}
	}
}

// TestListen: a socket without a process is replaced; one with a process, or another file, is not.
func TestListen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder", "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("Listen() beside another process = %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // As after a kill.
	l.Close()
	l, err = Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", st, err)
	}
	l.Close()
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("Listen() on a file = %v", err)
	}
}

func init() {
	killtest.Life("activated", func(dir string) error {
		if os.Getenv("LISTEN_FDS") == "" {
			return errors.New("there is no socket")
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		l, err := Listen("/nowhere")
		if err != nil {
			return err
		}
		return (&Plugin{Volumes: volume.New(dir), Log: func(string) {}}).Serve(ctx, l)
	})
}

// TestActivated: the plugin takes the socket that systemd passes, and leaves its path.
func TestActivated(t *testing.T) {
	activate, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Skip("needs systemd-socket-activate: apt-get install systemd")
	}
	dir := t.TempDir()
	l := &lab{TB: t, socket: filepath.Join(dir, "s")}
	l.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", l.socket)
	}}}
	c := killtest.Command("activated", dir, activate, "--listen="+l.socket, "--setenv=PLIMSOLL_TEST_LIFE", "--setenv=PLIMSOLL_TEST_LIFE_FOLDER")
	out := &bytes.Buffer{}
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill() // It has become the plugin.
	for range 1000 {
		if _, err := os.Lstat(l.socket); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if status, body := l.ask("POST", "/VolumeDriver.List", strings.NewReader("{}")); status != 200 || body != `{"Volumes":[]}` {
		t.Errorf("List = %d %s: %s", status, body, out)
	}
	l.client.CloseIdleConnections()
}

// TestActivatedTwice: more than one passed socket is an error.
func TestActivatedTwice(t *testing.T) {
	t.Setenv("LISTEN_PID", fmt.Sprint(os.Getpid()))
	t.Setenv("LISTEN_FDS", "2")
	if _, err := Listen(filepath.Join(t.TempDir(), "s")); err == nil || !strings.Contains(err.Error(), "2 sockets") {
		t.Errorf("Listen() = %v", err)
	}
}
