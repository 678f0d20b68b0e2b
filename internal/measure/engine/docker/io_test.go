package docker

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// TestDockerVolumeDevice: what a volume's device is, as far as its options say.
func TestDockerVolumeDevice(t *testing.T) {
	d := &daemonInfo{}
	d.Info.DockerRootDir = "/var/lib/docker"
	l := &engine.IOLimits{Engine: "docker"}
	for _, x := range []struct {
		spec       place.Spec
		want, fail string
	}{
		{place.Spec{Kind: place.Bind}, "/srv/plimsoll-1", ""},
		{place.Spec{Kind: place.Layer}, "/var/lib/docker", ""},
		{place.Spec{Kind: place.Volume}, "/var/lib/docker/volumes", ""},
		{place.Spec{Kind: place.Volume, DriverOpts: map[string]string{"type": "none", "o": "bind", "device": "/mnt/a"}}, "/mnt/a", ""},
		{place.Spec{Kind: place.Volume, DriverOpts: map[string]string{"type": "ext4", "device": "/dev/vg/a"}}, "/dev/vg/a", ""},
		{place.Spec{Kind: place.Volume, DriverOpts: map[string]string{"type": "nfs", "o": "addr=192.0.2.1", "device": ":/export"}}, "", "a volume of type nfs is not on a block device of this machine"},
		{place.Spec{Kind: place.Volume, DriverOpts: map[string]string{"type": "tmpfs", "device": "tmpfs"}}, "", "type tmpfs"},
		{place.Spec{Kind: place.Volume, Driver: "rex"}, "", "where the driver rex keeps its volumes"},
	} {
		got, err := pathOnDevice(l, []limit.Key{limit.WriteBPS}, d, engine.Spec{Place: x.spec}, "/srv/plimsoll-1")
		if got != x.want || (err == nil) != (x.fail == "") {
			t.Errorf("%+v: %q, %v, want %q, %q", x.spec, got, err, x.want, x.fail)
		}
		if err != nil && !strings.Contains(err.Error(), x.fail) {
			t.Errorf("%+v: %v, want %q", x.spec, err, x.fail)
		}
	}
	if _, err := limitedDevices(&daemonInfo{dockerapi.Daemon{Elsewhere: "it is far away"}}, engine.Spec{Limits: limit.Limits{WriteBPS: 1 << 20}}, ""); err == nil || !strings.Contains(err.Error(), "it is far away") {
		t.Errorf("a daemon elsewhere: %v", err)
	}
}

// TestDockerNoLimitsInMemory: no device is under a tmpfs, and the reason is said before anything is made.
func TestDockerNoLimitsInMemory(t *testing.T) {
	spec := engine.Spec{Place: place.Spec{Kind: place.Tmpfs}, Limits: limit.Limits{Name: "slow", ReadBPS: 1 << 20}}
	_, err := limitedDevices(&daemonInfo{}, spec, "")
	var u *refusal.Error
	if !errors.As(err, &u) || !strings.Contains(err.Error(), "the place is memory (tmpfs)") {
		t.Error(err)
	}
}
