package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// held is what a daemon holds, but for the worker's image.
type held struct{ containers, volumes, images int }

// objects counts what a daemon holds, nameless images too. One image of the worker may be
// there, and not more.
func objects(t *testing.T, api *client.Client) (n held) {
	t.Helper()
	cs, err := api.ContainerList(t.Context(), client.ContainerListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	vs, err := api.VolumeList(t.Context(), client.VolumeListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	is, err := api.ImageList(t.Context(), client.ImageListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	// Docker 20.10 may go on listing a container that it removed when it started and that was removed through its API in that moment,
	// as dead; asked for, it knows no such container.
	there := slices.DeleteFunc(cs.Items, func(c container.Summary) bool {
		_, err := api.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{})
		return c.State == container.StateDead && cerrdefs.IsNotFound(err)
	})
	n = held{len(there), len(vs.Items), len(is.Items)}
	workers := 0
	for _, i := range is.Items {
		if slices.ContainsFunc(i.RepoTags, func(tag string) bool { return strings.HasPrefix(tag, "plimsoll-worker:") }) {
			workers++
		}
	}
	if workers > 1 {
		t.Errorf("the daemon holds %d images of the worker", workers)
	}
	n.images -= workers
	return n
}

// waitHeld waits for a daemon to hold what it held before: containers remove themselves a
// moment after their process.
func waitHeld(t *testing.T, api *client.Client, want held) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got := objects(t, api)
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Errorf("the daemon holds %+v, before %+v%s", got, want, heldBy(t, api))
			return
		}
	}
}

// heldBy lists a daemon's containers and volumes, for the message of a failed test.
func heldBy(t *testing.T, api *client.Client) string {
	t.Helper()
	list, err := api.ContainerList(t.Context(), client.ContainerListOptions{All: true})
	if err != nil {
		return "; its containers: " + err.Error()
	}
	var b strings.Builder
	for _, c := range list.Items {
		fmt.Fprintf(&b, "\ncontainer %s %v: %s, %s, labels %v", c.ID, c.Names, c.State, c.Status, c.Labels)
	}
	volumes, err := api.VolumeList(t.Context(), client.VolumeListOptions{})
	if err != nil {
		return b.String() + "; its volumes: " + err.Error()
	}
	for _, v := range volumes.Items {
		fmt.Fprintf(&b, "\nvolume %s of %s, labels %v", v.Name, v.CreatedAt, v.Labels)
	}
	return b.String()
}
