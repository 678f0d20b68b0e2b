package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// TestV1Unsettled: a container that makes a group at each write never has all of its groups limited. That is an error, and what was
// written is restored; it was taken for done.
func TestV1Unsettled(t *testing.T) {
	l := newLab(t, hierarchy.IO)
	if l == nil {
		return
	}
	l.loop()
	g, err := l.own.Group(hierarchy.IO)
	if err != nil {
		t.Fatal(err)
	}
	if g.Version != 1 {
		t.Skip("needs version 1: version 2 holds groups by the one above")
	}
	var made []string
	t.Cleanup(func() {
		for _, dir := range made {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		}
	})
	without := 1000
	host := l.host.Through(func(path, text string, next func(path, text string) error) error {
		// The end of the change and its undoing make none.
		if err := next(path, text); err != nil || len(made) == without || strings.HasSuffix(text, " 0") {
			return err
		}
		dir := filepath.Join(g.Dir, fmt.Sprintf("made-%d", len(made)))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		made = append(made, dir)
		return nil
	})
	want := Want{Change: limit.Change{Set: limit.Limits{WriteBPS: 2 * mib}}, Devices: []device.Number{l.num}}
	n, err := host.Hold(l.own.Target, want)
	var fault *Fault
	if n != rounds {
		t.Errorf("Hold() = %d writes, want %d", n, rounds)
	}
	if !errors.Is(err, ErrUnsettled) || !errors.As(err, &fault) {
		t.Fatalf("Hold() = %v, want a fault that wraps %v", err, ErrUnsettled)
	}
	if !fault.Undone || len(fault.Left) > 0 {
		t.Errorf("Hold(): undone %v, left %q", fault.Undone, fault.Left)
	}
	if !strings.Contains(err.Error(), "write_bps on "+l.num.String()+": ") {
		t.Errorf("Hold() = %v", err)
	}
	for _, s := range l.states() {
		if len(s.Devices) > 0 {
			t.Errorf("%s has %+v", s.Group, s.Devices)
		}
	}
	// One that ends making them in time is held, with all that it has made.
	without = len(made) + rounds - 2
	if n, err := host.Hold(l.own.Target, want); err != nil || n != len(made)+1 {
		t.Errorf("Hold() = %d, %v with %d groups", n, err, len(made))
	}
	for _, s := range l.states() {
		if s.Devices[l.num].WriteBPS != 2*mib {
			t.Errorf("%s has %+v", s.Group, s.Devices)
		}
	}
}

// TestRemade: a group that a container removes and makes again and again under one name is a new one each time, and nobody who sets
// another value; one whose value is changed is.
func TestRemade(t *testing.T) {
	f := newFake(t, 1, "/c/below")
	file := filepath.Join(f.root, "cg/blkio/c/below/blkio.throttle.write_bps_device")
	after := ""
	host := f.host.Through(func(path, text string, next func(path, text string) error) error {
		err := next(path, text)
		if path == file && err == nil {
			err = os.WriteFile(file, []byte(after), 0o644)
		}
		return err
	})
	want := Want{Change: limit.Change{Set: limit.Limits{WriteBPS: 100}}, Devices: []device.Number{vda}}
	if _, err := host.Hold(f.target("/c"), want); !errors.Is(err, ErrUnsettled) {
		t.Errorf("a group made again and again: %v", err)
	}
	after = "254:0 5\n"
	if _, err := host.Hold(f.target("/c"), want); !errors.Is(err, ErrNotKept) {
		t.Errorf("a value set again and again: %v", err)
	}
}
