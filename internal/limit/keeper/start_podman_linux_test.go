package keeper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/text/threshold"
)

// TestStartPodman: a container of Podman's is held right after the time that its start event bears, before Podman delivers that:
// its folder tells of the start, and Podman is asked at once (TestPodman/LateEvents of package target is the proof; this has the figures).
func TestStartPodman(t *testing.T) {
	needV1(t)
	d := dockertest.Podman(t, dockertest.PodmanOptions{})
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	dockertest.ImportSleeper(t, api)
	disk := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	number := disktest.Number(t, disk)
	storage := target.Storage{Graph: filepath.Join(d.Dir, "root"), Run: filepath.Join(d.Dir, "run")}
	options := target.Options{Daemons: []dockerapi.Address{{Host: d.Host, Source: "the test"}}, Storage: []target.Storage{storage}}
	r := start(t, Options{Holder: finderOf(t, options), Check: hour}, fmt.Sprintf("rules:\n- {name: gold, match: {engine: podman, label: {tier: gold}}, where: {device: %s}, limits: {write_bps: 10MiB}}\n", disk))
	eventually(t, "both tell", func() bool {
		e := r.k.Status().Engines
		return len(e) == 2 && !slices.ContainsFunc(e, func(e Engine) bool { return !e.Connected })
	})
	told := api.Events(t.Context(), client.EventsListOptions{Filters: make(client.Filters).Add("event", "start")})
	var took, event, noted []time.Duration
	for i := range starts {
		name := fmt.Sprintf("plimsoll-keeper-start-%d", i)
		c, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Name: name, Config: &container.Config{Image: dockertest.SleeperImage, Entrypoint: []string{"/sleeper"}, Labels: map[string]string{"tier": "gold"}},
			HostConfig: &container.HostConfig{NetworkMode: "host"},
		})
		if err != nil {
			t.Fatal(err)
		}
		remove := func() {
			_, _ = api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true})
		}
		t.Cleanup(remove)
		// The program of the test is asked when it is held, and no engine.
		held := make(chan time.Time, 1)
		go func() {
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
				if rate("/libpod_parent/libpod-"+c.ID, number) == "10485760" {
					held <- time.Now()
					return
				}
			}
			close(held)
		}()
		if _, err := api.ContainerStart(t.Context(), c.ID, client.ContainerStartOptions{}); err != nil {
			t.Fatal(err)
		}
		var at time.Time
		for at.IsZero() {
			select {
			case m := <-told.Messages:
				if m.Action == events.ActionStart && m.Actor.ID == c.ID {
					at = time.Unix(0, m.TimeNano)
					event = append(event, time.Since(at))
				}
			case err := <-told.Err:
				t.Fatal(err)
			}
		}
		when, ok := <-held
		if !ok {
			res, _ := api.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{})
			t.Fatalf("%s is not held within 20 s: it is in %s", name, blkioOf(t, res.Container.State.Pid))
		}
		took = append(took, when.Sub(at))
		files, _ := filepath.Glob(filepath.Join(storage.Run, "*-containers", c.ID, "userdata", "pidfile"))
		if len(files) != 1 {
			t.Fatalf("%d files tell the process of %s", len(files), c.ID)
		}
		st, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		noted = append(noted, at.Sub(st.ModTime()))
		remove()
	}
	for _, list := range [][]time.Duration{took, event, noted} {
		slices.Sort(list)
	}
	t.Logf("from the time that the start event bears: Podman delivers it after %v to %v, median %v; the process was noted %v to %v before it", event[0], event[len(event)-1], event[len(event)/2], noted[0], noted[len(noted)-1])
	t.Logf("from that time to the limit in the kernel: median %v, longest %v of %d, goal <= %v: %s", took[len(took)/2], took[len(took)-1], len(took), startGoal, threshold.Verdict(took[len(took)-1] <= startGoal))
}
