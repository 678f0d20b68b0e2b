package engine

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
)

// TestInfoWaitsForThePID: the runtime may write the pid after the worker's hello.
func TestInfoWaitsForThePID(t *testing.T) {
	b := newBundle(t.TempDir(), "worker", Spec{ID: "x"})
	s := &ociSession{Process: &Process{Waited: make(chan struct{})}, bundle: b, pidWait: time.Hour}
	go func() {
		time.Sleep(20 * time.Millisecond)
		_ = os.WriteFile(b.pidFile()+".new", []byte("4711\n"), 0o600)
		_ = os.Rename(b.pidFile()+".new", b.pidFile())
	}()
	if got := s.Info().PID; got != 4711 {
		t.Errorf("Info().PID = %d, want the one that comes a moment later", got)
	}
	late := &ociSession{Process: &Process{Waited: make(chan struct{})}, bundle: newBundle(t.TempDir(), "worker", Spec{ID: "z"}), pidWait: time.Millisecond}
	if got := late.Info().PID; got != 0 {
		t.Errorf("Info().PID = %d, want 0 where none comes", got)
	}
	// A container that has ended will have none.
	ended := &ociSession{Process: &Process{Waited: make(chan struct{})}, bundle: newBundle(t.TempDir(), "worker", Spec{ID: "y"})}
	close(ended.Waited)
	if got := ended.Info().PID; got != 0 {
		t.Errorf("Info().PID = %d of a container that ended before it had one", got)
	}
}

// TestNoLimitsInMemory: no device is under a tmpfs, and the reason is said before anything is made.
func TestNoLimitsInMemory(t *testing.T) {
	l := limit.Limits{Name: "slow", ReadBPS: 1 << 20}
	tmpfs := place.Spec{Kind: place.Tmpfs}
	_, docker := dockerDevices(&dockerDaemon{local: true}, Spec{Place: tmpfs, Limits: l}, "")
	errs := map[string]error{
		"oci":    (&oci{}).supports(Spec{Place: tmpfs, Limits: l}),
		"docker": docker,
	}
	if CanUnshare() {
		errs["host"] = (&host{}).supports(Spec{Place: tmpfs, Limits: l})
	}
	for name, err := range errs {
		var u *Unsupported
		if !errors.As(err, &u) || !strings.Contains(err.Error(), "the place is memory (tmpfs)") {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := (&host{}).supports(Spec{Place: place.Spec{Kind: place.Dir}, Limits: limit.Limits{CPUs: 1}})
	if err == nil || !strings.Contains(err.Error(), "oci and docker engines limit memory, cpus and cpu_shares") {
		t.Errorf("host: %v", err)
	}
}

// TestDockerGround: what a volume's device is, as far as its options say.
func TestDockerGround(t *testing.T) {
	d := &dockerDaemon{local: true}
	d.info.DockerRootDir = "/var/lib/docker"
	l := &IOLimits{Engine: "docker"}
	for _, x := range []struct {
		spec       place.Spec
		want, fail string
	}{
		{place.Spec{Kind: place.Bind}, "/srv/plimsoll-1", ""},
		{place.Spec{Kind: place.Layer}, "/var/lib/docker", ""},
		{place.Spec{Kind: place.Volume}, "/var/lib/docker/volumes", ""},
		{place.Spec{Kind: place.Volume, DriverOpts: map[string]string{"type": "none", "o": "bind", "device": "/mnt/a"}}, "/mnt/a", ""},
		{place.Spec{Kind: place.Volume, DriverOpts: map[string]string{"type": "ext4", "device": "/dev/vg/a"}}, "/dev/vg/a", ""},
		{place.Spec{Kind: place.Volume, DriverOpts: map[string]string{"type": "nfs", "o": "addr=192.0.2.1", "device": ":/export"}}, "", "a volume of type nfs stands on no block device of this machine"},
		{place.Spec{Kind: place.Volume, DriverOpts: map[string]string{"type": "tmpfs", "device": "tmpfs"}}, "", "type tmpfs"},
		{place.Spec{Kind: place.Volume, Driver: "rex"}, "", "where the volumes of the driver rex lie"},
	} {
		got, err := dockerGround(l, []limit.Key{limit.WriteBPS}, d, Spec{Place: x.spec}, "/srv/plimsoll-1")
		if got != x.want || (err == nil) != (x.fail == "") || err != nil && !strings.Contains(err.Error(), x.fail) {
			t.Errorf("%+v: %q, %v", x.spec, got, err)
		}
	}
	if _, err := dockerDevices(&dockerDaemon{elsewhere: "it is far away"}, Spec{Limits: limit.Limits{WriteBPS: 1 << 20}}, ""); err == nil || !strings.Contains(err.Error(), "it is far away") {
		t.Errorf("a daemon elsewhere: %v", err)
	}
}
