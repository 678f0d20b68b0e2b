package engineapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/opencontainers/runtime-spec/specs-go"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/text/refusal"
)

// podmanUpdate is Podman's own call. It takes an OCI runtime's resources since 4.3 (podman,
// pkg/api/handlers/libpod/containers.go, UpdateContainer); all versions since 4.0 speak 4.0.0 of the API.
// The call of Docker's API passes over devices.
const podmanUpdate = "/v4.0.0/libpod/containers/%s/update"

// setPodman sets limits by Podman's update.
func (a *API) setPodman(ctx context.Context, id string, l Resources) (Outcome, error) {
	in, err := a.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return Outcome{}, fmt.Errorf("container %.12s: %w", id, err)
	}
	before := in.Container.HostConfig
	if before == nil || in.Container.State == nil {
		return Outcome{}, fmt.Errorf("container %.12s: Podman does not report its limits", id)
	}
	if !in.Container.State.Running && a.forgets() {
		return Outcome{}, &refusal.Error{What: "limits of a container that doesn't run", Why: a.title() + " keeps an update's limits only while it runs", Fix: "start it, or recreate it with these limits"}
	}
	was := stored(before)
	if len(l.Devices) > 0 {
		// First, beside what there was: if they are passed over, nothing else was set.
		err := a.callPodman(ctx, id, podmanResources(before, Resources{Devices: l.Devices}))
		if err == nil {
			if err = a.holds(ctx, id, l.Devices); err != nil && !a.forgets() {
				err = errors.Join(err, a.callPodman(ctx, id, podmanResources(before, was)))
			}
		}
		if err != nil {
			return Outcome{}, fmt.Errorf("container %.12s: %w", id, err)
		}
	}
	if err := a.callPodman(ctx, id, podmanResources(before, l)); err != nil {
		var u *refusal.Error
		if errors.As(err, &u) {
			return Outcome{}, err
		}
		// A runtime may have set some of them.
		back := a.callPodman(ctx, id, podmanResources(before, was))
		if back != nil {
			back = fmt.Errorf("and its former limits could not be set again: %w", back)
		}
		return Outcome{}, errors.Join(fmt.Errorf("container %.12s: %w", id, err), back)
	}
	o := Outcome{Live: in.Container.State.Running, Stored: a.took(ctx, id, l) == nil}
	if !o.Stored {
		o.Notes = append(o.Notes, "Podman does not keep them: the container's next start is without")
	}
	return o, nil
}

// forgets reports whether Podman is older than 5.1, which keeps no update (podman,
// libpod/container_internal.go, update, and the release notes of 5.1.0).
func (a *API) forgets() bool {
	var major, minor int
	_, err := fmt.Sscanf(a.daemon.Version, "%d.%d", &major, &minor)
	return err == nil && (major < 5 || major == 5 && minor < 1)
}

// podmanResources merges the existing limits with l, which wins. From 5.1 to 5.3 Podman replaces everything that it has
// stored with the request; later versions replace only the keys of the request.
func podmanResources(before *container.HostConfig, l Resources) *specs.LinuxResources {
	r := &specs.LinuxResources{}
	was := stored(before)
	if m := first(l.Memory, before.Memory); m != 0 {
		r.Memory = &specs.LinuxMemory{Limit: &m}
		if s := first(swap(l.Memory, before.Memory, before.MemorySwap), before.MemorySwap); s != 0 {
			r.Memory.Swap = &s
		}
	}
	if s := uint64(first(l.CPUShares, before.CPUShares)); s != 0 {
		r.CPU = &specs.LinuxCPU{Shares: &s}
	}
	if cpus := first(l.CPUs, was.CPUs); cpus != 0 {
		if r.CPU == nil {
			r.CPU = &specs.LinuxCPU{}
		}
		q, p := limit.CPUQuota(cpus, before.CPUPeriod)
		per := uint64(p)
		r.CPU.Period, r.CPU.Quota = &per, &q
	}
	if before.PidsLimit != nil && *before.PidsLimit > 0 {
		r.Pids = &specs.LinuxPids{Limit: before.PidsLimit}
	}
	if b := podmanBlockIO(was, l); b != nil {
		r.BlockIO = b
	}
	return r
}

func podmanBlockIO(was, l Resources) *specs.LinuxBlockIO {
	b := &specs.LinuxBlockIO{}
	if w := first(l.Weight, was.Weight); w != 0 {
		b.Weight = &w
	}
	at := map[device.Number]*Device{}
	var order []device.Number
	for _, d := range append(append([]Device{}, was.Devices...), l.Devices...) {
		if d.Number.Major == 0 {
			d.Number, _ = device.BlockNode(d.Path)
		}
		n := d.Number
		if n.Major == 0 {
			// It went away, and its limits with it.
			continue
		}
		x := at[n]
		if x == nil {
			x = &Device{Number: n}
			at[n], order = x, append(order, n)
		}
		x.ReadBPS, x.WriteBPS = first(d.ReadBPS, x.ReadBPS), first(d.WriteBPS, x.WriteBPS)
		x.ReadIOPS, x.WriteIOPS = first(d.ReadIOPS, x.ReadIOPS), first(d.WriteIOPS, x.WriteIOPS)
		x.Weight = first(d.Weight, x.Weight)
	}
	rate := func(list *[]specs.LinuxThrottleDevice, d *Device, v uint64) {
		if v != 0 {
			t := specs.LinuxThrottleDevice{Rate: v}
			t.Major, t.Minor = int64(d.Number.Major), int64(d.Number.Minor)
			*list = append(*list, t)
		}
	}
	for _, n := range order {
		d := at[n]
		rate(&b.ThrottleReadBpsDevice, d, d.ReadBPS)
		rate(&b.ThrottleWriteBpsDevice, d, d.WriteBPS)
		rate(&b.ThrottleReadIOPSDevice, d, d.ReadIOPS)
		rate(&b.ThrottleWriteIOPSDevice, d, d.WriteIOPS)
		if d.Weight != 0 {
			w := specs.LinuxWeightDevice{Weight: &d.Weight}
			w.Major, w.Minor = int64(d.Number.Major), int64(d.Number.Minor)
			b.WeightDevice = append(b.WeightDevice, w)
		}
	}
	if b.Weight == nil && len(order) == 0 {
		return nil
	}
	return b
}

// first returns the first number that is not 0.
func first[T int64 | uint64 | uint16 | float64](ns ...T) T {
	for _, n := range ns {
		if n != 0 {
			return n
		}
	}
	return 0
}

// callPodman sends an update.
func (a *API) callPodman(ctx context.Context, id string, r *specs.LinuxResources) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	dial := a.client.Dialer()
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	defer t.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://podman"+fmt.Sprintf(podmanUpdate, url.PathEscape(id)), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return err
	}
	if res.StatusCode/100 == 2 {
		return nil
	}
	var said struct{ Cause, Message string }
	if json.Unmarshal(b, &said) != nil || said.Message == "" {
		if res.StatusCode == http.StatusNotFound {
			return &refusal.Error{What: "limits through " + a.title(), Why: "Podman has an update since 4.3", Fix: "set them in the container's control group"}
		}
		said.Message = res.Status
	}
	return fmt.Errorf("podman: %s", said.Message)
}
