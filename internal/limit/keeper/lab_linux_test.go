package keeper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/paralleltest"
)

// Most tests wait, for engines and for the keeper.
func TestMain(m *testing.M) { paralleltest.Main(m, 4) }

// needV1 skips where rates are not those of version 1, which the tests read.
func needV1(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err != nil {
		t.Skip("needs the blkio controller of version 1")
	}
}

// A running is a keeper of a test's own.
type running struct {
	t    *testing.T
	k    *Keeper
	opt  Options
	stop func()

	mu  sync.Mutex
	log []string
}

// holderFor is a Holder that asks the given daemons, and nobody else.
func holderFor(t *testing.T, hosts ...string) *hold.Holder {
	t.Helper()
	o := target.Options{Proc: "/proc"}
	for _, h := range hosts {
		o.Daemons = append(o.Daemons, dockerapi.Address{Host: h, Source: "the test"})
	}
	f := target.New(o)
	t.Cleanup(func() { f.Close() })
	h, err := hold.New(device.Host(), f)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// start runs a keeper with a policy until its stop or the test's end.
func start(t *testing.T, opt Options, policy string) *running {
	t.Helper()
	r := &running{t: t, opt: opt}
	if opt.Run == "" {
		r.opt.Run = t.TempDir()
	}
	if opt.Policy == "" {
		r.opt.Policy = filepath.Join(t.TempDir(), "policy.yaml")
	}
	if policy != "" {
		r.write(policy)
	}
	r.opt.Log = func(line string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.log = append(r.log, line)
		t.Log(line)
	}
	r.begin()
	return r
}

// begin starts the keeper, also again after a stop.
func (r *running) begin() {
	r.t.Helper()
	k, err := New(r.opt)
	if err != nil {
		r.t.Fatal(err)
	}
	r.k = k
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run() = %v", err)
		}
		if err := k.Close(); err != nil {
			r.t.Errorf("Close() = %v", err)
		}
	})
	r.t.Cleanup(r.stop)
}

// notes lists the files of records of a kind in a folder, and what is written or left beside them.
func notes(t *testing.T, run, kind string) (files []string) {
	t.Helper()
	for _, pattern := range []string{"*", ".[!.]*"} {
		list, err := filepath.Glob(filepath.Join(run, "journal", kind, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	return files
}

// write replaces the policy as editors do.
func (r *running) write(policy string) {
	r.t.Helper()
	if err := os.WriteFile(r.opt.Policy+".new", []byte(policy), 0o644); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(r.opt.Policy+".new", r.opt.Policy); err != nil {
		r.t.Fatal(err)
	}
}

// said reports whether a line of the log has words in it.
func (r *running) said(words string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(strings.Join(r.log, "\n"), words)
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for end := began.Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if is() {
			return time.Since(began)
		}
	}
	t.Fatalf("not within a minute: %s", what)
	return 0
}

// rate reads a device's limit on bytes written a second in a group of version 1, "" for none.
func rate(group, device string) string { return throttle(group, "write_bps", device) }

func throttle(group, key, device string) string {
	b, err := os.ReadFile(filepath.Join("/sys/fs/cgroup/blkio", group, "blkio.throttle."+key+"_device"))
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), device+" "); ok {
			return v
		}
	}
	return ""
}

// A lab is a Docker daemon with a volume on a disk of its own.
type lab struct {
	t    *testing.T
	d    *dockertest.Daemon
	api  *client.Client
	disk string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	d := dockertest.Start(t)
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	dockertest.ImportSleeper(t, api)
	image := disktest.Image(t, 64<<20)
	loop := disktest.Loop(t, image, true)
	disktest.Format(t, loop, "ext4")
	if _, err := api.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: "data", DriverOpts: map[string]string{"type": "ext4", "device": loop}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.VolumeRemove(context.Background(), "data", client.VolumeRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
		disktest.Detach(t, image)
	})
	return &lab{t, d, api, disktest.Number(t, loop)}
}

// create makes a container with the volume, and returns its id.
func (l *lab) create(name string, labels map[string]string) string {
	l.t.Helper()
	res, err := l.api.ContainerCreate(l.t.Context(), client.ContainerCreateOptions{
		Name:   name,
		Config: &container.Config{Image: dockertest.SleeperImage, Cmd: []string{"/sleeper"}, Labels: labels},
		HostConfig: &container.HostConfig{
			NetworkMode: "host", Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "data", Target: "/data"}},
			Resources: container.Resources{CgroupParent: l.d.CgroupParent},
		},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if _, err := l.api.ContainerRemove(context.Background(), res.ID, client.ContainerRemoveOptions{Force: true}); err != nil && !strings.Contains(err.Error(), "No such container") {
			l.t.Error(err)
		}
	})
	return res.ID
}

// start starts a container.
func (l *lab) start(id string) {
	l.t.Helper()
	if _, err := l.api.ContainerStart(l.t.Context(), id, client.ContainerStartOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// group is a container's.
func (l *lab) group(id string) string { return l.d.CgroupParent + "/" + id }

// ruleText is a rule of a policy.
func ruleText(name, match, where, limits string) string {
	s := fmt.Sprintf("  - name: %s\n    match: %s\n", name, match)
	if where != "" {
		s += "    where: " + where + "\n"
	}
	return s + "    limits: " + limits + "\n"
}
