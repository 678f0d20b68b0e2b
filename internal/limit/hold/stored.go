package hold

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/engineapi"
)

// A Stored is the limits that an engine has stored for a container, which its next start sets again.
type Stored struct {
	// By names the engine, "docker 20.10.24 (API 1.41)", or the container's configuration file.
	By string `json:"by"`
	// Limits are the limits, each in words: "write_bps=10MiB on /dev/sdb".
	Limits []string `json:"limits"`
	// Fix says how to remove them.
	Fix string `json:"fix"`
}

// String returns a sentence. After an update of any limit, runc writes everything that it started the container with
// (seen with Docker 20.10 and API 1.56).
func (s Stored) String() string {
	return fmt.Sprintf("%s has stored %s, and will set that again at the next start or update; %s", s.By, strings.Join(s.Limits, ", "), s.Fix)
}

// byAPI reports whether an engine's API knows what is stored for a container.
func byAPI(t *target.Target) bool {
	return t != nil && t.Kind == target.Container && t.Host != "" && (t.Engine == target.Docker || t.Engine == target.Podman)
}

// Stored returns the limits that a container's engine has stored; nil if there are none, or if such a target has no
// engine that stores any.
func (h *Holder) Stored(ctx context.Context, t *target.Target) (*Stored, error) {
	return h.stored(ctx, t, engineapi.Which{}, limit.Limits{})
}

// stored is Stored for the limits that which selects, without those that equal same.
func (h *Holder) stored(ctx context.Context, t *target.Target, which engineapi.Which, same limit.Limits) (*Stored, error) {
	if t == nil || t.Kind != target.Container {
		return nil, nil
	}
	s := Stored{By: "the container's config.json", Fix: "to remove that, recreate the container without it"}
	var has engineapi.Resources
	if byAPI(t) {
		api, err := engineapi.Open(ctx, t.Host)
		if err != nil {
			return nil, err
		}
		defer api.Close()
		if has, err = api.Stored(ctx, t.ID); err != nil {
			return nil, err
		}
		s.By, s.Fix = api.Title(), "an update can't remove that: recreate the container without it"
	} else {
		has = engineapi.Asked(t.Asked)
	}
	for _, w := range which.In(has).Words() {
		if !slices.Contains(wordsOf(same, has.Devices), w) {
			s.Limits = append(s.Limits, w)
		}
	}
	if len(s.Limits) == 0 {
		return nil, nil
	}
	return &s, nil
}

// wordsOf returns limits in words, as an engine with such devices would have them.
func wordsOf(l limit.Limits, devices []engineapi.Device) []string {
	same := engineapi.Resources{CPUs: l.CPUs, CPUShares: l.CPUShares, Memory: l.Memory}
	for _, d := range devices {
		d.ReadBPS, d.WriteBPS, d.ReadIOPS, d.WriteIOPS, d.Weight = uint64(l.ReadBPS), uint64(l.WriteBPS), uint64(l.ReadIOPS), uint64(l.WriteIOPS), 0
		same.Devices = append(same.Devices, d)
	}
	return same.Words()
}

// which returns which of an engine's limits a change is about.
func (s *Scope) which(keys []limit.Key) engineapi.Which {
	w := engineapi.Which{Keys: keys}
	for _, d := range s.Devices() {
		w.Devices = append(w.Devices, engineapi.Device{Path: device.NodePath(d.Name), Number: d.Number})
	}
	return w
}

// lookStored records what the engine has stored of the limits that changed, except those that equal the new values.
func (h *Holder) lookStored(ctx context.Context, s *Scope, d *Done, c limit.Change) {
	var keys []limit.Key
	for _, k := range limit.Keys {
		if c.Touches(k) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return
	}
	stored, err := h.stored(ctx, d.GroupSet.Target, s.which(keys), c.Set)
	if err != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("the limits that the engine has stored and sets at the next start are not known: %v", err))
		return
	}
	d.Stored = stored
}

// forget removes limits from what the engine has stored, if it can. If the engine doesn't answer, the kernel's limits
// are cleared nevertheless.
func (h *Holder) forget(ctx context.Context, x *cgroup.Transaction, s *Scope, d *Done, c limit.Change) {
	if len(c.Remove) == 0 || !byAPI(d.GroupSet.Target) {
		return
	}
	if err := forget(ctx, x, d, s.which(c.Remove)); err != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("the engine's stored limits are left as they are: %v", err))
	}
}

func forget(ctx context.Context, x *cgroup.Transaction, d *Done, which engineapi.Which) error {
	host, id := d.GroupSet.Target.Host, d.GroupSet.Target.ID
	api, err := engineapi.Open(ctx, host)
	if err != nil {
		return err
	}
	defer api.Close()
	before, err := api.Config(ctx, id)
	if err != nil {
		return err
	}
	left, err := api.Forget(ctx, id, which)
	for _, w := range which.In(before.Limits()).Words() {
		if err == nil && !slices.Contains(left.Words(), w) {
			d.Forgot = append(d.Forgot, w)
		}
	}
	if err != nil || len(d.Forgot) > 0 {
		// Undo this after an error too: how much was done by then is unknown.
		x.Also("what "+api.Title()+" has stored of "+d.GroupSet.Name, func(ctx context.Context) error {
			api, err := engineapi.Open(ctx, host)
			if err != nil {
				return err
			}
			defer api.Close()
			return api.Restore(ctx, id, before)
		})
	}
	return err
}
