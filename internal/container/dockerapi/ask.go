package dockerapi

import (
	"context"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
)

// PingTimeout is how long a daemon may take to answer a ping. An idle one takes milliseconds. One that has just started
// took more than 2 seconds where 14 other processes wanted the machine's two CPUs.
const PingTimeout = 5 * time.Second

// maxWords is how much of an error is quoted, in bytes: Podman's go into kilobytes.
const maxWords = 600

// A Daemon is what a daemon says about itself.
type Daemon struct {
	// Name is docker or podman.
	Name string
	// Version is the daemon's own, APIVersion that of Docker's API that is spoken with it.
	Version, APIVersion string
	// OS is what its containers run on: linux or windows.
	OS, Arch string
	// Elsewhere reports why its containers don't run on this machine's kernel, so that their
	// process ids and paths mean nothing here. It is empty if they do.
	Elsewhere string
	// Info is its whole account, Components what it is made of.
	Info       system.Info
	Components []system.ComponentVersion
}

// Open makes a client of the daemon at a. It asks nothing yet.
func Open(a Address) (*client.Client, error) {
	api, err := client.New(client.WithTLSClientConfigFromEnv(), client.WithHost(a.Host), client.WithAPIVersionFromEnv())
	if err != nil {
		return nil, &Missing{Missing: err.Error(), Fix: "check DOCKER_HOST, DOCKER_CERT_PATH and DOCKER_API_VERSION", Cause: err}
	}
	return api, nil
}

// Ask asks a daemon about itself. source is the address's. The error is a *Missing unless
// ctx is over.
func Ask(ctx context.Context, api *client.Client, source string) (*Daemon, error) {
	host := api.DaemonHost()
	pctx, cancel := context.WithTimeout(ctx, PingTimeout)
	defer cancel()
	ping, err := api.Ping(pctx, client.PingOptions{NegotiateAPIVersion: true})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, unreachable(host, source, ping.APIVersion, err)
	}
	if ping.APIVersion == "" {
		return nil, stranger(host, "it answers a ping without the API's version")
	}
	// A hung daemon may still answer pings: these two need its locks.
	ictx, cancel := context.WithTimeout(ctx, 2*PingTimeout)
	defer cancel()
	// At the same time: Podman takes half a second for one and a third of a second for the other.
	var info client.SystemInfoResult
	told := make(chan error, 1)
	go func() {
		var err error
		info, err = api.Info(ictx, client.InfoOptions{})
		told <- err
	}()
	v, err := api.ServerVersion(ictx, client.ServerVersionOptions{})
	if err != nil {
		cancel()
	}
	if ierr := <-told; err == nil {
		err = ierr
	}
	if err != nil {
		return nil, unreachable(host, source, "", err)
	}
	d := &Daemon{
		Name: "docker", Version: v.Version, APIVersion: api.ClientVersion(), OS: v.Os, Arch: v.Arch,
		Info: info.Info, Components: v.Components,
	}
	if ping.OSType != "" {
		// The kernel that containers run on; a daemon in a virtual machine of Windows has another.
		d.OS = ping.OSType
	}
	for _, c := range v.Components {
		if c.Name == "Podman Engine" {
			d.Name, d.Version = "podman", c.Version
		}
	}
	d.Elsewhere = elsewhere(host, info.Info)
	return d, nil
}

// stranger is the error for something other than a daemon that listens at host.
func stranger(host, why string) *Missing {
	return &Missing{Missing: "the program at " + host + " is not a Docker daemon: " + why, Fix: "set DOCKER_HOST to the address of one"}
}

// elsewhere reports why a daemon does not run on this machine's kernel; empty if it
// does. A socket proves nothing: it may lead into a virtual machine or through ssh.
func elsewhere(host string, info system.Info) string {
	if u, err := url.Parse(host); err == nil && u.Scheme != "unix" && u.Scheme != "npipe" {
		return "the daemon is reached over the network (" + host + ")"
	}
	if strings.Contains(info.OperatingSystem, "Docker Desktop") {
		return "Docker Desktop runs containers in a virtual machine"
	}
	if info.OSType != "" && info.OSType != runtime.GOOS {
		return "the daemon runs containers of " + info.OSType + ", in a virtual machine"
	}
	if k := kernel(); k != "" && info.KernelVersion != "" && info.KernelVersion != k {
		return "the daemon runs on another kernel (" + info.KernelVersion + ")"
	}
	return ""
}
