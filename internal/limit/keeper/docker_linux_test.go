package keeper

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"plimsoll/internal/text/threshold"
)

// startGoal is how long a container may run unheld after its start event.
const startGoal = 100 * time.Millisecond

// TestDocker: what a keeper does for containers of a real Docker daemon.
func TestDocker(t *testing.T) {
	t.Parallel()
	needV1(t)
	l := newLab(t)
	t.Run("Start", l.testStart)
	t.Run("Policy", l.testPolicy)
	t.Run("Hostile", l.testHostile)
	t.Run("Dying", l.testDying)
	t.Run("Restarts", l.testRestarts)
}

// testStart: a container is held because of its start event: no regular check comes within the test.
func (l *lab) testStart(t *testing.T) {
	r := start(t, Options{Holder: holderFor(t, l.d.Host), ClearOnStop: true, Check: hour, Sync: hour}, "rules:\n"+ruleText("web", `{name: "web-*"}`, "{volume: data}", "{write_bps: 10MiB, read_iops: 500}"))
	eventually(t, "the daemon is connected", func() bool { return len(r.k.Status().Engines) == 1 && r.k.Status().Engines[0].Connected })
	ctx := t.Context()
	told := l.api.Events(ctx, client.EventsListOptions{Filters: make(client.Filters).Add("event", "start")})
	var took, seen []time.Duration
	for range 10 {
		id := l.create("web-1", nil)
		l.start(id)
		var at time.Time
		for at.IsZero() {
			select {
			case m := <-told.Messages:
				if m.Action == events.ActionStart && m.Actor.ID == id {
					at = time.Unix(0, m.TimeNano)
				}
			case err := <-told.Err:
				t.Fatal(err)
			}
		}
		eventually(t, "the container is held", func() bool { return rate(l.group(id), l.disk) == "10485760" })
		took = append(took, time.Since(at))
		eventually(t, "the state tells of it", func() bool {
			s := r.k.Status()
			return len(s.Containers) == 1 && len(s.Containers[0].Held) == 2
		})
		s := r.k.Status().Containers[0]
		seen = append(seen, s.Held[0].Since.Sub(at))
		if got := throttle(l.group(id), "read_iops", l.disk); got != "500" {
			t.Errorf("read_iops %q", got)
		}
		if s.Target != "docker:web-1" {
			t.Errorf("target %s", s.Target)
		}
		if held := s.Held[0]; held.Rule != "web" || held.Was != "none" {
			t.Errorf("%+v, want rule web, and none before", held)
		}
		if _, err := l.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the container is forgotten", func() bool { return len(r.k.Status().Containers) == 0 })
	}
	slices.Sort(took)
	t.Logf("from the start event to the limit in the kernel: median %v, longest %v of %d, goal <= %v: %s", took[len(took)/2], took[len(took)-1], len(took), startGoal, threshold.Verdict(took[len(took)-1] <= startGoal))
	t.Logf("from the start event to the first write: %v", seen)
	// A container that no rule matches is left alone.
	id := l.create("other", nil)
	l.start(id)
	eventually(t, "the other is seen", func() bool { return r.k.Status().Others == 1 })
	if got := rate(l.group(id), l.disk); got != "" {
		t.Errorf("a container that no rule matches has %q", got)
	}
}

// testPolicy: containers are told apart by what their engine says of them.
func (l *lab) testPolicy(t *testing.T) {
	id := l.create("shop-db-1", map[string]string{"com.docker.compose.project": "shop", "com.docker.compose.service": "db", "tier": "gold",
		"io.kubernetes.pod.namespace": "prod", "io.kubernetes.pod.name": "db-0", "io.kubernetes.container.name": "postgres"})
	l.start(id)
	r := start(t, Options{Holder: holderFor(t, l.d.Host), ClearOnStop: true}, "rules: []\n")
	for i, match := range []string{"all", "{engine: docker}", "{name: [x, shop-*]}", "{image: plimsoll-sleeper}", "{image: \"plimsoll-*:1\"}", "{label: {tier: gold}}",
		"{project: shop, service: \"d?\"}", "{volume: da*}", "{namespace: prod, pod: db-*, container: postgres}"} {
		r.write("rules:\n" + ruleText("one", match, "{path: /data}", fmt.Sprintf("{write_bps: %d}", 1000+i)))
		r.k.Reload()
		eventually(t, match, func() bool { return rate(l.group(id), l.disk) == fmt.Sprint(1000+i) })
	}
	for _, match := range []string{"{engine: podman}", "{name: shop}", "{label: {tier: gold, more: \"*\"}}", "{volume: date}", "{project: shop, service: web}"} {
		r.write("rules:\n" + ruleText("one", match, "{path: /data}", "{write_bps: 10MiB}"))
		r.k.Reload()
		eventually(t, "not "+match, func() bool { return rate(l.group(id), l.disk) == "" })
		r.write("rules:\n" + ruleText("one", "all", "{path: /data}", "{write_bps: 10MiB}"))
		r.k.Reload()
		eventually(t, "all again", func() bool { return rate(l.group(id), l.disk) == "10485760" })
	}
	// Without a place it is the container's own layer as well, and CPUs and memory need none.
	r.write("rules:\n" + ruleText("one", "all", "", "{write_bps: 9MiB, cpus: 0.5, memory: 64MiB, cpu_shares: 512}"))
	r.k.Reload()
	eventually(t, "CPUs and memory", func() bool {
		for _, s := range r.k.Status().Containers {
			if s.ID == id {
				return len(s.Held) >= 4 && len(s.Faults) == 0
			}
		}
		return false
	})
	if got := file(t, "memory", l.group(id), "memory.limit_in_bytes") + " " + file(t, "cpu", l.group(id), "cpu.cfs_quota_us") + " " + rate(l.group(id), l.disk); got != "67108864 50000 9437184" {
		t.Errorf("memory, CPUs and rate are %s", got)
	}
	if got := file(t, "cpu", l.group(id), "cpu.shares"); got != "512" {
		t.Errorf("cpu_shares: %s, want 512", got)
	}
	// What Docker itself changes is restored, as far as the policy says.
	if _, err := l.api.ContainerUpdate(t.Context(), id, client.ContainerUpdateOptions{Resources: &container.Resources{Memory: 128 << 20, MemorySwap: 128 << 20}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "memory is restored", func() bool { return file(t, "memory", l.group(id), "memory.limit_in_bytes") == "67108864" })
}

// file reads a control file of version 1.
func file(t *testing.T, controller, group, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", controller, group, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// testRestarts: limits outlive the keeper and the daemon, and both find what was started meanwhile.
func (l *lab) testRestarts(t *testing.T) {
	r := start(t, Options{Holder: holderFor(t, l.d.Host), ClearOnStop: true, Check: hour, Sync: hour}, "rules:\n"+ruleText("web", `{name: "web-*"}`, "{volume: data}", "{write_bps: 10MiB}"))
	first, second := l.create("web-1", nil), l.create("web-2", nil)
	l.start(first)
	held := func(id, want string) {
		t.Helper()
		eventually(t, "held to "+want, func() bool { return rate(l.group(id), l.disk) == want })
	}
	held(first, "10485760")
	// The keeper is away.
	r.opt.ClearOnStop = false
	r.k.opt.ClearOnStop = false
	r.stop()
	l.start(second)
	held(first, "10485760")
	r.opt.Holder = holderFor(t, l.d.Host)
	r.opt.ClearOnStop = true
	r.begin()
	held(second, "10485760")
	// A container that is restarted gets them again.
	timeout := 0
	if _, err := l.api.ContainerRestart(t.Context(), second, client.ContainerRestartOptions{Timeout: &timeout}); err != nil {
		t.Fatal(err)
	}
	held(second, "10485760")
	// The daemon dies. Its containers go on, and their limits.
	l.d.Kill()
	eventually(t, "the daemon is missed", func() bool { s := r.k.Status(); return len(s.Engines) == 1 && !s.Engines[0].Connected })
	held(first, "10485760")
	if got := len(r.k.Status().Containers); got != 2 {
		t.Errorf("%d containers are held without the daemon, want 2", got)
	}
	l.d.Restart(t)
	eventually(t, "the daemon is back", func() bool { return r.k.Status().Engines[0].Connected })
	third := l.create("web-3", nil)
	l.start(third)
	held(third, "10485760")
}
