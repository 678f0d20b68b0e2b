package engine

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"strings"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
)

// A dockerDaemon is what a daemon says about itself.
type dockerDaemon struct {
	// name is docker or podman.
	name                string
	version, apiVersion string
	os, arch            string
	// local is whether the daemon runs on this machine's kernel, so that its
	// paths and process ids can be looked at.
	local bool
	// elsewhere says why it is not local.
	elsewhere  string
	info       system.Info
	components []system.ComponentVersion
}

// dockerAsk asks a daemon about itself. The error is a *dockerMissing unless ctx
// is over.
//
// source says what named the daemon's address, "" for the default.
func dockerAsk(ctx context.Context, api *client.Client, source string) (*dockerDaemon, error) {
	host := api.DaemonHost()
	pctx, cancel := context.WithTimeout(ctx, dockerPingTimeout)
	defer cancel()
	ping, err := api.Ping(pctx, client.PingOptions{NegotiateAPIVersion: true})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, dockerPingFailed(host, source, ping.APIVersion, err)
	}
	if ping.APIVersion == "" {
		return nil, dockerStranger(host, "it answers a ping without the API's version")
	}
	if ping.OSType == "windows" {
		return nil, &dockerMissing{
			Missing: "the daemon at " + host + " runs Windows containers, and there is no worker for windows yet",
			Fix:     "switch the daemon to Linux containers",
		}
	}
	// A hung daemon may still answer pings: these two need its locks.
	ictx, cancel := context.WithTimeout(ctx, 5*dockerPingTimeout)
	defer cancel()
	v, err := api.ServerVersion(ictx, client.ServerVersionOptions{})
	if err != nil {
		return nil, dockerPingFailed(host, source, "", err)
	}
	info, err := api.Info(ictx, client.InfoOptions{})
	if err != nil {
		return nil, dockerPingFailed(host, source, "", err)
	}
	d := &dockerDaemon{
		name: "docker", version: v.Version, apiVersion: api.ClientVersion(),
		os: v.Os, arch: dockerGoArch(info.Info.Architecture, v.Arch),
		info: info.Info, components: v.Components,
	}
	if p, ok := dockerComponent(v.Components, "Podman Engine"); ok {
		d.name, d.version = "podman", p
	}
	d.elsewhere = dockerElsewhere(host, info.Info)
	d.local = d.elsewhere == ""
	return d, nil
}

// dockerStranger says that something else than a daemon listens.
func dockerStranger(host, why string) *dockerMissing {
	return &dockerMissing{Missing: "what listens at " + host + " is no Docker daemon: " + why, Fix: "set DOCKER_HOST to the address of one"}
}

// dockerElsewhere says why a daemon does not run on this machine's kernel; empty if
// it does. A socket proves nothing: it may lead into a virtual machine or through ssh.
func dockerElsewhere(host string, info system.Info) string {
	if u, err := url.Parse(host); err == nil && u.Scheme != "unix" && u.Scheme != "npipe" {
		return "the daemon is reached over the network (" + host + ")"
	}
	if strings.Contains(info.OperatingSystem, "Docker Desktop") {
		return "Docker Desktop runs containers in a virtual machine"
	}
	if info.OSType != "" && info.OSType != runtime.GOOS {
		return "the daemon runs containers of " + info.OSType + ", in a virtual machine"
	}
	if k := dockerKernel(); k != "" && info.KernelVersion != "" && info.KernelVersion != k {
		return "the daemon runs on another kernel (" + info.KernelVersion + ")"
	}
	return ""
}

// host names the machine that the containers run on; empty if it is this one.
func (d *dockerDaemon) host() string {
	if d.local {
		return ""
	}
	return d.info.Name
}

// title names the daemon: "docker 20.10.24 (API 1.41)".
func (d *dockerDaemon) title() string {
	return fmt.Sprintf("%s %s (API %s)", d.name, d.version, d.apiVersion)
}

// storage names what keeps images and layers: "overlay2", or "overlayfs
// (containerd snapshotter)" where images live in containerd's store.
func (d *dockerDaemon) storage() string {
	for _, kv := range d.info.DriverStatus {
		if kv[0] == "driver-type" && strings.Contains(kv[1], "snapshotter") {
			return d.info.Driver + " (containerd snapshotter)"
		}
	}
	return d.info.Driver
}

// runtime names a runtime of the daemon with its version, as far as it tells.
func (d *dockerDaemon) runtime(name string) string {
	if name == "" || name == "oci" {
		name = d.info.DefaultRuntime
	}
	v, ok := dockerComponent(d.components, name)
	if !ok {
		// Podman's spelling, with a version of several lines.
		if v, ok = dockerComponent(d.components, "OCI Runtime ("+name+")"); ok {
			v, _, _ = strings.Cut(v, "\n")
			v = strings.TrimPrefix(v, name+" version ")
		}
	}
	if v == "" {
		return name
	}
	return name + " " + v
}

func dockerComponent(cs []system.ComponentVersion, name string) (version string, ok bool) {
	for _, c := range cs {
		if c.Name == name {
			return c.Version, true
		}
	}
	return "", false
}

// dockerGoArch turns uname's name of an architecture into Go's. What isn't in the
// table is Go's already, or else fallback is.
func dockerGoArch(machine, fallback string) string {
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
