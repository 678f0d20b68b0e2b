package hold

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/text/refusal"
)

// A daemon is Docker's API with some containers, each in a group of the test's. It stores what an update says, and sets it as a
// runtime does.
type daemon struct {
	*httptest.Server
	t          *testing.T
	mu         sync.Mutex
	containers map[string]*container
	// refuse is asked before each update.
	refuse func(id string) bool
}

type container struct {
	group disktest.Group
	pid   int
	// start is when it started, as in target.Target.
	start uint64
	host  map[string]any
}

func newDaemon(t *testing.T) *daemon {
	d := &daemon{t: t, containers: map[string]*container{}, refuse: func(string) bool { return false }}
	d.Server = httptest.NewUnstartedServer(http.HandlerFunc(d.serve))
	d.Listener.Close()
	dir, err := os.MkdirTemp("", "hold") // A socket's path must be short.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if d.Listener, err = net.Listen("unix", filepath.Join(dir, "sock")); err != nil {
		t.Fatal(err)
	}
	d.Start()
	t.Cleanup(d.Close)
	return d
}

// host is its address, as in DOCKER_HOST.
func (d *daemon) host() string { return "unix://" + d.Listener.Addr().String() }

// add starts a process in a group of its own, and tells of it as a container.
func (d *daemon) add(id string) *container {
	d.t.Helper()
	return d.addIn(id, id)
}

// addIn is add with a name for the group.
func (d *daemon) addIn(id, name string) *container {
	d.t.Helper()
	c := &container{group: disktest.NewBlkioGroup(d.t), host: map[string]any{}}
	dir := filepath.Join(string(c.group), name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		d.t.Fatal(err)
	}
	c.group = disktest.Group(dir)
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		// It may be in there for a moment yet.
		for range 500 {
			if os.Remove(dir) == nil {
				return
			}
		}
	})
	if err := c.group.Put("cgroup.procs", fmt.Sprint(cmd.Process.Pid)); err != nil {
		d.t.Fatal(err)
	}
	c.pid = cmd.Process.Pid
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid))
	if err != nil {
		d.t.Fatal(err)
	}
	_, fields, _ := strings.Cut(string(stat), ") ")
	if c.start, err = strconv.ParseUint(strings.Fields(fields)[19], 10, 64); err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.containers[id] = c
	return c
}

// stored is what is stored of a container, as text.
func (d *daemon) stored(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, err := json.Marshal(d.containers[id].host)
	if err != nil {
		d.t.Error(err)
	}
	return string(b)
}

func (d *daemon) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Header().Set("Api-Version", "1.55")
	w.Header().Set("Ostype", "linux")
	w.Header().Set("Content-Type", "application/json")
	answer := func(v any) {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			d.t.Error(err)
		}
	}
	body, _ := io.ReadAll(r.Body)
	parts := strings.Split(r.URL.Path, "/")
	id := parts[max(0, len(parts)-2)]
	c := d.containers[id]
	switch what := parts[len(parts)-1]; {
	case what == "_ping":
	case what == "version":
		answer(map[string]any{"Version": "29.6.0", "ApiVersion": "1.55", "Os": "linux"})
	case what == "info":
		answer(map[string]any{"OSType": "linux", "NCPU": 4, "CPUShares": true, "CpuCfsQuota": true, "MemoryLimit": true, "CgroupVersion": "1"})
	case c != nil && what == "json":
		answer(map[string]any{"Id": id, "Name": "/" + id, "State": map[string]any{"Running": true, "Status": "running", "Pid": c.pid}, "Config": map[string]any{}, "HostConfig": c.host})
	case c != nil && what == "update":
		if d.refuse(id) {
			w.WriteHeader(http.StatusInternalServerError)
			answer(map[string]any{"message": "this daemon refuses"})
			return
		}
		var update map[string]any
		if err := json.Unmarshal(body, &update); err != nil {
			d.t.Errorf("update with %s: %v", body, err)
		}
		for k, v := range update {
			// null and 0 leave what there is, a list takes its place.
			if list, ok := v.([]any); ok && len(list) == 0 {
				delete(c.host, k)
			} else if v != nil && v != 0.0 && v != "" {
				c.host[k] = v
			}
		}
		d.run(c)
		answer(map[string]any{"Warnings": nil})
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(map[string]any{"message": "no such thing: " + r.URL.Path})
	}
}

// run writes the stored rates into the group. What has no limit any more stays, as with runc.
func (d *daemon) run(c *container) {
	for key, file := range map[string]string{"BlkioDeviceReadBps": "read_bps", "BlkioDeviceWriteBps": "write_bps"} {
		list, _ := c.host[key].([]any)
		for _, x := range list {
			m := x.(map[string]any)
			line := fmt.Sprintf("%s %.0f", disktest.Number(d.t, m["Path"].(string)), m["Rate"])
			if err := c.group.Put("blkio.throttle."+file+"_device", line); err != nil {
				d.t.Error(err)
			}
		}
	}
}

// ids of containers, as engines make them.
var (
	firstID  = strings.Repeat("ab", 32)
	secondID = strings.Repeat("cd", 32)
)

// two is a scope of two containers of a daemon.
func (d *daemon) two(loop string) (*Holder, *Scope) {
	d.t.Helper()
	f := target.New(target.Options{Proc: "/proc", Daemons: []dockerapi.Address{{Host: d.host(), Source: "the test"}}})
	d.t.Cleanup(func() { f.Close() })
	h := holder(d.t)
	h.Finder = f
	s, err := h.Scope(d.t.Context(), target.Ref{Kind: target.Container, Name: firstID}, Where{Device: loop}, true)
	if err != nil {
		d.t.Fatal(err)
	}
	other, err := h.Scope(d.t.Context(), target.Ref{Kind: target.Container, Name: secondID}, Where{Device: loop}, true)
	if err != nil {
		d.t.Fatal(err)
	}
	s.GroupSets = append(s.GroupSets, other.GroupSets...)
	return h, s
}

// TestKeep: limits are set and stored, in all containers or in none: also where an engine refuses the second, or the kernel
// refuses a value afterwards.
func TestKeep(t *testing.T) {
	d := newDaemon(t)
	one, two := d.add(firstID), d.add(secondID)
	loop, _ := disktest.Disk(t, disktest.Options{})
	h, s := d.two(loop)
	set := func(n int64) limit.Change { return limit.Change{Set: limit.Limits{ReadBPS: n, WriteBPS: n}} }
	done, err := h.Keep(t.Context(), s, set(1<<20))
	if err != nil || len(done) != 2 {
		t.Fatalf("Keep() = %+v, %v, want two", done, err)
	}
	if kept := done[1].Kept; !strings.Contains(kept, "29.6.0") {
		t.Fatalf("Keep() kept the second in %q", kept)
	}
	if stored := done[0].Stored; stored != nil {
		t.Fatalf("Keep() has the first stored as %+v, want nothing", stored)
	}
	if stored := d.stored(secondID); !strings.Contains(stored, "1048576") {
		t.Fatalf("Keep() stored %s", stored)
	}
	// The first has another limit, and none of reading.
	first := *s
	first.GroupSets = s.GroupSets[:1]
	if _, err := h.Keep(t.Context(), &first, limit.Change{Set: limit.Limits{WriteBPS: 3 << 20}}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Apply(t.Context(), &first, limit.Clear(limit.ReadBPS)); err != nil || strings.Contains(d.stored(firstID), "BlkioDeviceReadBps") {
		t.Fatalf("Apply() = %v; stored %s", err, d.stored(firstID))
	}
	before := []string{d.stored(firstID), d.stored(secondID)}
	kernel := []map[string]string{rateFiles(t, string(one.group)), rateFiles(t, string(two.group))}
	same := func(when string) {
		t.Helper()
		for i, id := range []string{firstID, secondID} {
			if now := d.stored(id); now != before[i] {
				t.Errorf("%s: container %d has stored %s, want %s", when, i, now, before[i])
			}
			if now := rateFiles(t, string([]*container{one, two}[i].group)); !maps.Equal(now, kernel[i]) {
				t.Errorf("%s: the group of container %d has %v, want %v", when, i, now, kernel[i])
			}
		}
	}

	d.refuse = func(id string) bool { return id == secondID }
	if _, err = h.Keep(t.Context(), s, set(2<<20)); err == nil || !strings.Contains(err.Error(), "this daemon refuses") || strings.Contains(err.Error(), "NOT restored: what docker 29.6.0 (API 1.55) has stored of container "+firstID) {
		t.Errorf("Keep() with one refused = %v", err)
	}
	d.refuse = func(string) bool { return false }
	same("one refused")

	// Something is removed, which an engine forgets first, and the second container's write is refused.
	if _, err = through(h, refuse(2)).Apply(t.Context(), s, limit.Clear(limit.WriteBPS)); err == nil || !strings.Contains(err.Error(), "the earlier writes were undone") {
		t.Errorf("Apply() with a write refused = %v", err)
	}
	same("nothing forgotten")
}

// TestKeepRefused: what no engine stores is refused before anything is written.
func TestKeepRefused(t *testing.T) {
	container := func(e target.Engine, host string) *target.Target {
		return &target.Target{Kind: target.Container, Engine: e, Host: host, ID: firstID, Name: "web"}
	}
	for _, tt := range []struct {
		target *target.Target
		set    limit.Limits
		want   string
	}{
		{&target.Target{Kind: target.Cgroup, Name: "/x"}, limit.Limits{CPUs: 1}, "this is not a container"},
		{container(target.Containerd, ""), limit.Limits{CPUs: 1}, "containerd stores no limits; Docker and Podman do"},
		{container(target.Docker, ""), limit.Limits{CPUs: 1}, "the API of docker, which stores limits, could not be asked"},
		{container(target.Docker, "unix:///x"), limit.Limits{Weight: 200}, "weight: engines store weights on a scale of their own"},
		{container(target.Podman, "unix:///x"), limit.Limits{Latency: 5e6}, "latency: no engine stores it"},
	} {
		h := &Holder{}
		_, err := h.Keep(t.Context(), &Scope{GroupSets: []GroupSet{{Name: "it", Target: tt.target}}}, limit.Change{Set: tt.set})
		var u *refusal.Error
		if !errors.As(err, &u) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Keep() = %v, want %q", err, tt.want)
		}
	}
}
