package oci

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/seccomp"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// Paths inside a container.
const (
	containerData = "/data"
	// containerWorker and containerUserData are hidden names beside an image's own files.
	containerWorker   = "/.plimsoll-worker"
	containerUserData = "/plimsoll-data"
)

// A bundle is what an OCI runtime needs to run one container: config.json and a
// root file system, which is an overlay. Layout below dir:
//
//	config.json  pid
//	lower/       the worker and the mount points; the user's image, if any, lies under it
//	upper/ work/ the container's own layer
//	root/        where the overlay is mounted, in the runtime's mount namespace only
type bundle struct {
	dir    string
	worker string
	spec   engine.Spec
	// data is the host folder of a bind place, source that of sources in one.
	data, source string
	// beside is set if data is another session's.
	beside bool
}

func newBundle(dir, worker string, spec engine.Spec) *bundle {
	return &bundle{dir: dir, worker: worker, spec: spec}
}

func (b *bundle) pidFile() string { return filepath.Join(b.dir, "pid") }

// lower is the overlay's own lower folder, with the worker and the mount points.
func (b *bundle) lower() string { return filepath.Join(b.dir, "lower") }

// workDir is the container's path of the place.
func (b *bundle) workDir() string { return containerDir(b.spec) }

// sourceDir is the container's path of the sources' own place.
func (b *bundle) sourceDir() string { return b.workDir() + engine.SourceSuffix }

// containerDir is the path of the place in a container that spec describes.
func containerDir(spec engine.Spec) string {
	if spec.Image != "" {
		return containerUserData
	}
	return containerData
}

// overlay is nsexec's argument. The bundle's own folder lies over the image, so that Plimsoll's own files are mounted, run
// and written to, whatever the image has at these paths: a link, a file or nothing.
func (b *bundle) overlay() string {
	folders := []string{b.lower()}
	if b.spec.Image != "" {
		folders = append(folders, b.spec.Image)
	}
	return strings.Join(append(folders, filepath.Join(b.dir, "upper"), filepath.Join(b.dir, "work"), filepath.Join(b.dir, "root")), ":")
}

// hostPath is the host's path of the data in a place; empty for memory. dir is its path in the container, bound the folder
// that is mounted there.
func (b *bundle) hostPath(p place.Spec, dir, bound string) string {
	switch p.Kind {
	case place.Layer:
		return filepath.Join(b.dir, "upper", dir)
	case place.Bind:
		return bound
	}
	return ""
}

// write makes the folders and config.json. args are the worker's.
func (b *bundle) write(args []string) error {
	if st, err := os.Stat(b.spec.Image); b.spec.Image != "" && (err != nil || !st.IsDir()) {
		return noImageFolder(b.spec.Image)
	}
	if strings.ContainsAny(b.dir+b.spec.Image, `:,\`) {
		return fmt.Errorf("overlay can't mount a path with a colon, comma or backslash (%s %s): use another --state folder or image folder", b.dir, b.spec.Image)
	}
	for _, d := range []string{"upper", "work", "root"} {
		if err := os.MkdirAll(filepath.Join(b.dir, d), 0o755); err != nil {
			return fmt.Errorf("make the bundle: %w", err)
		}
	}
	if err := b.populate(); err != nil {
		return fmt.Errorf("make the bundle: %w", err)
	}
	for _, dir := range []string{b.data, b.source} {
		if dir == "" || b.beside {
			continue
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return fmt.Errorf("make the trial's folder: %w", err)
		}
	}
	config, err := b.config(args)
	if err != nil {
		return err
	}
	j, err := json.Marshal(config)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.dir, "config.json"), j, 0o600); err != nil {
		return fmt.Errorf("write the bundle's config.json: %w", err)
	}
	return nil
}

// populate fills the lower folder: the worker, by a hard link where the file systems
// agree, and the mount points.
func (b *bundle) populate() error {
	lower := b.lower()
	places := []string{b.workDir()}
	if b.spec.Source != nil {
		places = append(places, b.sourceDir())
	}
	for _, d := range append(slices.Clone(places), "/proc", "/sys", "/dev", "/tmp") {
		if err := os.MkdirAll(filepath.Join(lower, d), 0o755); err != nil {
			return err
		}
	}
	// Merged with an image's folder, this one's mode counts.
	if err := os.Chmod(filepath.Join(lower, "/tmp"), 0o777|os.ModeSticky); err != nil {
		return err
	}
	if b.spec.Image != "" {
		for _, d := range places {
			if err := hideBelow(filepath.Join(lower, d)); err != nil {
				return err
			}
		}
	}
	to := filepath.Join(lower, containerWorker)
	if os.Link(b.worker, to) == nil {
		return nil
	}
	data, err := os.ReadFile(b.worker)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// config is the container: Docker's default capabilities and mounts, no network, and as much locked memory and as many open
// files as on the host, so that the generator is the same everywhere.
func (b *bundle) config(args []string) (*specs.Spec, error) {
	caps := defaultCapabilities
	if engine.OwnMemlock().Capable {
		// RLIMIT_MEMLOCK is inherited, but the host's worker is not bound by it.
		caps = append(slices.Clone(caps), "CAP_"+engine.LockCapability)
	}
	files := uint64(engine.OpenFiles())
	c := &specs.Spec{
		Version: "1.0.2", // Old enough for every runtime in use, new enough for all settings used here.
		Process: &specs.Process{
			Args:            append([]string{containerWorker}, args...),
			Env:             []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			Cwd:             "/",
			NoNewPrivileges: true,
			Capabilities:    &specs.LinuxCapabilities{Bounding: caps, Effective: caps, Permitted: caps},
			Rlimits:         []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Soft: files, Hard: files}},
		},
		Root:     &specs.Root{Path: filepath.Join(b.dir, "root")},
		Hostname: "plimsoll",
		Mounts:   b.mounts(),
		Linux: &specs.Linux{
			CgroupsPath: "/" + engine.FolderPrefix + b.spec.ID,
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.MountNamespace}, {Type: specs.IPCNamespace},
				{Type: specs.UTSNamespace}, {Type: specs.NetworkNamespace},
				// This makes /sys/fs/cgroup in the container begin at its own group, so that the worker reads its own
				// counters, not the machine's.
				{Type: specs.CgroupNamespace},
			},
			Resources: b.resources(),
		},
	}
	if b.spec.Network == engine.HostNetwork {
		c.Linux.Namespaces = slices.DeleteFunc(c.Linux.Namespaces, func(n specs.LinuxNamespace) bool { return n.Type == specs.NetworkNamespace })
	}
	if b.spec.Seccomp != "" && b.spec.Seccomp != seccomp.Unconfined {
		s, err := seccomp.ForContainer(b.spec.Seccomp, runtime.GOARCH, caps)
		if err != nil {
			return nil, err
		}
		c.Linux.Seccomp = s
	}
	return c, nil
}

// defaultCapabilities are Docker's (moby, daemon/pkg/oci/caps/defaults.go).
var defaultCapabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID", "CAP_SETUID",
	"CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL", "CAP_AUDIT_WRITE",
}

// mounts are the container's mounts, the place's last.
func (b *bundle) mounts() []specs.Mount {
	ms := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev", "relatime", "ro"}},
	}
	ms = append(ms, dataMount(b.spec.Place, b.workDir(), b.data)...)
	if b.spec.Source != nil {
		ms = append(ms, dataMount(*b.spec.Source, b.sourceDir(), b.source)...)
	}
	return ms
}

// dataMount is the mount of a place on dir; none for the layer. bound is the host's folder of a bind.
func dataMount(p place.Spec, dir, bound string) []specs.Mount {
	switch p.Kind {
	case place.Bind:
		return []specs.Mount{{Destination: dir, Type: "bind", Source: bound, Options: []string{"rbind", "rw"}}}
	case place.Tmpfs:
		return []specs.Mount{{Destination: dir, Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "mode=755", "size=" + engine.TmpfsSize(p)}}}
	}
	return nil
}

// swapCounted reports whether the kernel counts swap by group: always with cgroup v2, with v1 if memory.memsw exists.
func swapCounted() bool {
	for _, path := range []string{"/sys/fs/cgroup/cgroup.controllers", "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// resources converts limits for the runtime. The devices rule is the usual one: only the pseudo devices.
func (b *bundle) resources() *specs.LinuxResources {
	l := b.spec.Limits
	r := &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}}
	if l.Memory > 0 {
		r.Memory = &specs.LinuxMemory{Limit: &l.Memory}
		if swapCounted() {
			// As docker does: otherwise the same limit kills there and swaps here.
			r.Memory.Swap = &l.Memory
		}
	}
	if l.CPUs > 0 || l.CPUShares > 0 {
		r.CPU = &specs.LinuxCPU{}
	}
	if l.CPUs > 0 {
		quota, per := limit.CPUQuota(l.CPUs, limit.CPUPeriod)
		period := uint64(per)
		r.CPU.Period, r.CPU.Quota = &period, &quota
	}
	if l.CPUShares > 0 {
		shares := uint64(l.CPUShares)
		r.CPU.Shares = &shares
	}
	return r
}

var _ engine.ImageChecker = (*Engine)(nil)

// CheckImage implements ImageChecker.
func (o *Engine) CheckImage(_ context.Context, image string) error {
	if st, err := os.Stat(image); err != nil || !st.IsDir() {
		return noImageFolder(image)
	}
	return nil
}

// noImageFolder is the error for an image that is not a folder.
func noImageFolder(image string) error {
	return &refusal.Error{Engine: "oci", What: "image " + image, Why: "it is not a folder with a root file system", Fix: "unpack the image and name the folder"}
}
