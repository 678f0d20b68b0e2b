package docker

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
)

// A daemonInfo is what a daemon reports about itself. OS is never empty, and Arch is in the words of Go.
type daemonInfo struct{ dockerapi.Daemon }

// local reports whether the daemon runs on this machine's kernel, so that its paths and process ids mean the same here.
func (d *daemonInfo) local() bool { return d.Elsewhere == "" }

// askDaemon asks a daemon about itself. The error is a *dockerapi.Missing unless ctx is over. source names where the
// daemon's address comes from, "" for the default.
func askDaemon(ctx context.Context, api *client.Client, source string) (*daemonInfo, error) {
	d, err := dockerapi.Ask(ctx, api, source)
	if err != nil {
		return nil, err
	}
	d.OS, d.Arch = cmp.Or(d.OS, "linux"), goArch(d.Info.Architecture, d.Arch)
	return &daemonInfo{*d}, nil
}

// host names the machine that the containers run on; empty if it is this one.
func (d *daemonInfo) host() string {
	if d.local() {
		return ""
	}
	return d.Info.Name
}

// title names the daemon: "docker 20.10.24 (API 1.41)".
func (d *daemonInfo) title() string {
	return fmt.Sprintf("%s %s (API %s)", d.Name, d.Version, d.APIVersion)
}

// storage names the store of images and layers: "overlay2", or "overlayfs (containerd snapshotter)" if images live in
// containerd's store.
func (d *daemonInfo) storage() string {
	for _, kv := range d.Info.DriverStatus {
		if kv[0] == "driver-type" && strings.Contains(kv[1], "snapshotter") {
			return d.Info.Driver + " (containerd snapshotter)"
		}
	}
	return d.Info.Driver
}

// runtime names a runtime of the daemon, with its version if the daemon reports it.
func (d *daemonInfo) runtime(name string) string {
	if name == "" || name == "oci" {
		name = d.Info.DefaultRuntime
	}
	v, ok := component(d.Components, name)
	if !ok {
		// Podman's spelling, with a version of several lines.
		if v, ok = component(d.Components, "OCI Runtime ("+name+")"); ok {
			v, _, _ = strings.Cut(v, "\n")
			v = strings.TrimPrefix(v, name+" version ")
		}
	}
	if v == "" {
		return name
	}
	return name + " " + v
}

func component(cs []system.ComponentVersion, name string) (version string, ok bool) {
	for _, c := range cs {
		if c.Name == name {
			return c.Version, true
		}
	}
	return "", false
}

// goArch turns uname's name of an architecture into Go's. A name that isn't in the table is Go's already, or else replaced
// by fallback.
func goArch(machine, fallback string) string {
	switch machine {
	case "x86_64", "amd64":
		return "amd64"
	case "aarch64", "arm64":
		return "arm64"
	case "armv7l", "armv6l", "armhf":
		return "arm"
	case "i386", "i686":
		return "386"
	case "":
		return fallback
	}
	if fallback != "" {
		return fallback
	}
	return machine
}
