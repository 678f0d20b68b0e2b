package docker

import (
	"strings"

	"github.com/moby/moby/api/types/container"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/engineapi"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// How the request for a Windows container differs from one for Linux. It has no users by number, no resource limits of
// processes, no swap of its own and no image that could be made of the worker alone. What Windows would refuse is refused
// before the daemon is asked, in its daemon's words if there are any (package engineapi).

// windows reports whether the daemon runs Windows containers.
func (d *daemonInfo) windows() bool { return d.OS == "windows" }

const (
	// windowsRoot is the folder of the worker and the place.
	windowsRoot = `C:\`
	// windowsUser may write there: an image's own user, as nanoserver's ContainerUser, may not.
	windowsUser = "ContainerAdministrator"
)

// noWindowsImage is the error if no image is named.
var noWindowsImage = &refusal.Error{
	Engine: "docker", What: "a Windows container without an image",
	Why: "it needs a Windows image, which plimsoll can't make from its worker alone",
	Fix: "name one that the daemon has with image (--image), such as mcr.microsoft.com/windows/nanoserver:ltsc2022",
}

// windowsPath is a path of Plimsoll's in the root of a container, on Windows.
func windowsPath(path string) string { return windowsRoot + strings.TrimPrefix(path, "/") }

// root is the folder of a container that the worker is put into.
func (i *workerImage) root() string {
	if i.windows {
		return windowsRoot
	}
	return "/"
}

// separator is between the names of a path in a container.
func (i *workerImage) separator() string {
	if i.windows {
		return `\`
	}
	return "/"
}

// probeWindows is the Probe of a daemon of Windows containers: without an image no container can be tried.
func (e *Engine) probeWindows(p engine.Probe, d *daemonInfo) engine.Probe {
	p.OK = true
	p.Notes = append(p.Notes, "Windows containers need an image of Windows, which a plan's engine or --image names; none was tried")
	p.Places = []place.Kind{place.Layer, place.Volume}
	if d.local() {
		p.Places = append(p.Places, place.Bind)
	}
	return p
}

// checkWindows refuses what a daemon of Windows containers can't do of spec.
func checkWindows(spec engine.Spec, d *daemonInfo) error {
	no := func(what, reason, fix string) error {
		return &refusal.Error{Engine: "docker", What: what, Why: reason, Fix: fix}
	}
	switch {
	case spec.Place.Kind == place.Tmpfs:
		return no("place tmpfs", "a Windows container has no file system in memory", "use layer or volume")
	case spec.Seccomp != "":
		return no("seccomp profile", "Windows has no seccomp", "leave it out")
	case spec.Limits.Latency > 0:
		return no("limit latency", "Windows has no target of latency", "use io_maxiops and io_maxbandwidth")
	}
	for _, p := range spec.Places() {
		if p.Kind == place.Bind && !onDrive(p.Path) {
			return no("place bind on "+p.Path, "Windows mounts folders of drives into containers, and this is on none", `give the share a drive for all users (New-SmbGlobalMapping -LocalPath G: -RemotePath \\SERVER\SHARE) and name that`)
		}
	}
	return setLimits(d, spec, nil, &container.HostConfig{})
}

// onDrive reports whether a Windows host path is on a drive, as the daemon there requires (moby's
// daemon/volume/mounts/windows_parser.go, rxDestination): \\server\share isn't. A relative path is on the current drive.
func onDrive(path string) bool {
	path = strings.TrimPrefix(strings.ReplaceAll(path, "/", `\`), `\\?\`)
	return !strings.HasPrefix(path, `\\`) && !strings.HasPrefix(strings.ToUpper(path), `UNC\`)
}

// sameInContainer reports whether two paths in a container are the same: Windows ignores case, and accepts either
// separator.
func sameInContainer(a, b string, img *workerImage) bool {
	if !img.windows {
		return a == b
	}
	return strings.EqualFold(strings.ReplaceAll(a, "/", `\`), strings.ReplaceAll(b, "/", `\`))
}

// askWindows adds the limits of devices to what is asked for, so that they are refused in the daemon's words: devices exist
// only on Linux.
func askWindows(ask *engineapi.Resources, l limit.Limits) {
	rates := engineapi.Device{Path: windowsRoot, ReadBPS: uint64(l.ReadBPS), WriteBPS: uint64(l.WriteBPS), ReadIOPS: uint64(l.ReadIOPS), WriteIOPS: uint64(l.WriteIOPS)}
	if rates != (engineapi.Device{Path: windowsRoot}) {
		ask.Devices = []engineapi.Device{rates}
	}
	if l.Weight != 0 {
		ask.Weight = limit.DefaultWeight // Any value is refused.
	}
}
