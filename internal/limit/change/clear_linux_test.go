package change

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/state/journal"
)

// A waitContext calls waits when something first waits for its end.
type waitContext struct {
	context.Context
	waits func()
}

func (c waitContext) Done() <-chan struct{} {
	c.waits()
	return c.Context.Done()
}

// TestClearBesideStart: a daemon that starts while a clear waits for the lock of the records keeps its limit. The clear
// had asked before whether the daemon runs, and removed the limit, which the daemon then restored without a record.
func TestClearBesideStart(t *testing.T) {
	const file = "cg/blkio.throttle.write_bps_device"
	m, root := tree(t, map[string]string{file: "254:0 1048576\n"})
	w := m.DeviceLimits(m.Machine)
	err := w.AsDaemon(t.Context(), m.Run, func(d *hold.DaemonRecords) error {
		return d.Record([]hold.DeviceLimit{{
			Device: device.Number{Major: 254}, Disk: "vda", Limits: limit.Limits{WriteBPS: 1 << 20}, Rules: []hold.RuleLimit{{Key: limit.WriteBPS, Rule: "one"}},
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	var r *Result
	ends := make(chan error, 1)
	err = journal.In(m.Machine).Alone(t.Context(), "device-limit", func() error {
		waits := make(chan bool)
		ctx := waitContext{t.Context(), sync.OnceFunc(func() { close(waits) })}
		go func() {
			var err error
			r, err = m.ClearAllDeviceLimits(ctx, Options{})
			ends <- err
		}()
		select {
		case <-waits:
		case err := <-ends:
			return err
		}
		return journal.In(m.Run).Put(t.Context(), "keeper", "daemon", nil) // As a daemon that starts.
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ends; err != nil {
		t.Fatal(err)
	}
	if text := r.Text(); !strings.Contains(text, "write_bps=1MiB on vda (254:0) stays in the root group") {
		t.Errorf("printed:\n%s", text)
	}
	has, err := os.ReadFile(filepath.Join(root, file))
	if err != nil || string(has) != "254:0 1048576\n" {
		t.Errorf("the root group has %q, %v", has, err)
	}
	if all, err := w.List(); err != nil || len(all) != 1 {
		t.Errorf("recorded are %+v, %v, want one", all, err)
	}
}

// TestClearNamesADevice: a clear of one device takes the same argument as limit set. It cleared vda for any path that
// ends in vda. The node of a device that has gone still names its record.
func TestClearNamesADevice(t *testing.T) {
	const file = "cg/blkio.throttle.write_bps_device"
	m, root := tree(t, map[string]string{file: "254:0 1048576\n", "folder/plimsoll-gone": ""})
	err := m.DeviceLimits(m.Machine).AsDaemon(t.Context(), m.Run, func(d *hold.DaemonRecords) error {
		return d.Record([]hold.DeviceLimit{{
			Device: device.Number{Major: 254}, Disk: "plimsoll-gone", Limits: limit.Limits{WriteBPS: 1 << 20}, Rules: []hold.RuleLimit{{Key: limit.WriteBPS, Rule: "one"}},
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(root, "folder"):               "is not a block device",
		filepath.Join(root, "folder/plimsoll-gone"): "is not a block device",
		"/nowhere/plimsoll-gone":                    "there is no device /nowhere/plimsoll-gone",
		"plimsoll-gone":                             "there is no device plimsoll-gone",
	} {
		_, err := m.ClearAllDeviceLimits(t.Context(), Options{Where: hold.Where{Device: path}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("clear of %s = %v, want %q", path, err, want)
		}
	}
	if has, err := os.ReadFile(filepath.Join(root, file)); err != nil || string(has) != "254:0 1048576\n" {
		t.Errorf("the root group has %q, %v", has, err)
	}
	if _, err := m.ClearAllDeviceLimits(t.Context(), Options{Where: hold.Where{Device: "/dev/plimsoll-gone"}}); err != nil {
		t.Error(err)
	}
	if has, err := os.ReadFile(filepath.Join(root, file)); err != nil || len(has) > 0 {
		t.Errorf("the root group has %q, %v", has, err)
	}
}

// TestClearNamesASlash: a device that has gone is named by its node if the kernel's name has "!" for "/". No record had it.
func TestClearNamesASlash(t *testing.T) {
	const file = "cg/blkio.throttle.write_bps_device"
	m, root := tree(t, map[string]string{file: "254:0 1048576\n"})
	err := m.DeviceLimits(m.Machine).AsDaemon(t.Context(), m.Run, func(d *hold.DaemonRecords) error {
		return d.Record([]hold.DeviceLimit{{
			Device: device.Number{Major: 254}, Disk: "plimsoll!gone", Limits: limit.Limits{WriteBPS: 1 << 20}, Rules: []hold.RuleLimit{{Key: limit.WriteBPS, Rule: "one"}},
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.ClearAllDeviceLimits(t.Context(), Options{Where: hold.Where{Device: "/dev/plimsoll/gone"}}); err != nil {
		t.Error(err)
	}
	if has, err := os.ReadFile(filepath.Join(root, file)); err != nil || len(has) > 0 {
		t.Errorf("the root group has %q, %v", has, err)
	}
}
