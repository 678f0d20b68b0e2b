package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"plimsoll/internal/conf/controlfile"
)

// A bundleConfig holds the keys of a container's config.json that are used here
// (https://github.com/opencontainers/runtime-spec/blob/main/config.md).
type bundleConfig struct {
	Annotations map[string]string `json:"annotations"`
	Mounts      []struct {
		Destination string   `json:"destination"`
		Type        string   `json:"type"`
		Source      string   `json:"source"`
		Options     []string `json:"options"`
	} `json:"mounts"`
	Linux struct {
		CgroupsPath string                `json:"cgroupsPath"`
		Resources   *specs.LinuxResources `json:"resources"`
	} `json:"linux"`
}

// maxFile bounds a runtime's file, in bytes: a config.json with a whole seccomp profile has 60 KiB, a state.json with it 200 KiB.
const maxFile = 8 << 20

// readJSON reads a runtime's file into v.
func readJSON(name string, v any) error {
	b, err := controlfile.Read(name, maxFile)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// readPID reads a file with the number of a process. It is 0 without an error if there is no such file: the container has no
// process.
func readPID(name string) (int, error) {
	b, err := controlfile.Read(name, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	n, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || n < 1 || n > maxPID {
		return 0, fmt.Errorf("%s: %.20q is not a process's number", name, first)
	}
	return n, nil
}

// Annotations that identify the container and its engine. CRI-O's are in its internal/annotations, those of containerd's CRI plugin
// in internal/cri/annotations, nerdctl's in pkg/labels.
const (
	annotationManager       = "io.container.manager" // cri-o or libpod
	annotationCRIOLabels    = "io.kubernetes.cri-o.Labels"
	annotationCRIOName      = "io.kubernetes.cri-o.Name"
	annotationCRIOImage     = "io.kubernetes.cri-o.Image"
	annotationCRIOImageName = "io.kubernetes.cri-o.ImageName"
	annotationCRIOType      = "io.kubernetes.cri-o.ContainerType"
	annotationCRIOSandbox   = "io.kubernetes.cri-o.SandboxID"
	annotationCRIType       = "io.kubernetes.cri.container-type"
	annotationCRISandbox    = "io.kubernetes.cri.sandbox-id"
	annotationCRIImage      = "io.kubernetes.cri.image-name"
	annotationNerdctlName   = "nerdctl/name"
)

// kubeletLabels maps the annotations of containerd's CRI plugin to the kubelet's labels of the same meaning (kubernetes,
// pkg/kubelet/types/labels.go).
var kubeletLabels = map[string]string{
	"io.kubernetes.cri.sandbox-name":      "io.kubernetes.pod.name",
	"io.kubernetes.cri.sandbox-namespace": "io.kubernetes.pod.namespace",
	"io.kubernetes.cri.sandbox-uid":       "io.kubernetes.pod.uid",
	"io.kubernetes.cri.container-name":    "io.kubernetes.container.name",
}

// describe fills t from config.json. It keeps t's name, image and labels where they are set already.
func (c *bundleConfig) describe(t *Target) {
	a := c.Annotations
	t.cgroupsPath, t.Asked = c.Linux.CgroupsPath, c.Linux.Resources
	t.Sandbox = a[annotationCRIOType] == "sandbox" || a[annotationCRIType] == "sandbox"
	if t.Image == "" {
		t.Image = first(a[annotationCRIOImage], a[annotationCRIOImageName], a[annotationCRIImage])
	}
	labels := maps.Clone(a)
	if labels == nil {
		labels = map[string]string{}
	}
	for from, to := range kubeletLabels {
		if v := a[from]; v != "" {
			labels[to] = v
		}
	}
	var crio map[string]string
	if json.Unmarshal([]byte(a[annotationCRIOLabels]), &crio) == nil {
		delete(labels, annotationCRIOLabels)
		maps.Copy(labels, crio)
	}
	t.addLabels(labels)
	if t.Name == "" {
		t.Name = first(a[annotationCRIOName], a[annotationNerdctlName], a["io.kubernetes.cri.container-name"], t.ID)
	}
	for _, m := range c.Mounts {
		if m.Type == "bind" || slices.Contains(m.Options, "bind") || slices.Contains(m.Options, "rbind") {
			v, driver := volumeOf(m.Source)
			for _, known := range t.volumes {
				if known.Destination == m.Destination {
					v, driver = known.Volume, known.Driver
				}
			}
			t.Mounts = append(t.Mounts, Mount{Source: m.Source, Destination: m.Destination, Volume: v, Driver: driver})
		}
	}
}

// addLabels adds labels to t; a label that t has already keeps its value.
func (t *Target) addLabels(labels map[string]string) {
	if len(labels) == 0 {
		return
	}
	all := maps.Clone(labels)
	maps.Copy(all, t.Labels)
	t.Labels = all
}

// first returns the first of words that is not empty.
func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// Where engines keep volumes: Docker, Podman and nerdctl in .../volumes/NAME/_data, the kubelet in
// pods/UID/volumes/DRIVER/NAME, for CSI with a folder "mount" below (kubernetes,
// pkg/kubelet/kubelet_getters.go).
var (
	engineVolume  = regexp.MustCompile(`/volumes/(?:[^/]+/)?([^/]+)/_data$`)
	kubeletVolume = regexp.MustCompile(`/pods/[^/]+/volumes/(kubernetes\.io~[^/]+)/([^/]+)(?:/mount)?$`)
)

// volumeOf returns the volume whose data is at the host's path source.
func volumeOf(source string) (name, driver string) {
	source = filepath.ToSlash(source)
	if m := kubeletVolume.FindStringSubmatch(source); m != nil {
		return m[2], strings.ReplaceAll(m[1], "~", "/")
	}
	if m := engineVolume.FindStringSubmatch(source); m != nil {
		return m[1], "local"
	}
	return "", ""
}
