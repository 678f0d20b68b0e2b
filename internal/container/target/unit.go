package target

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// unitProperties are the properties that are read (org.freedesktop.systemd1(5)).
const unitProperties = "Id,LoadState,ActiveState,SubState,MainPID,ControlGroup"

// unit finds the target of unit:NAME.
//
// It has the groups that exist: with version 1 systemd makes a unit's group for a controller only if one of the unit's properties
// needs it.
func (f *Finder) unit(ctx context.Context, r Ref) (Target, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out, err := f.opt.Systemctl(ctx, "show", "--property="+unitProperties, "--", r.Name)
	if err != nil {
		return Target{}, fmt.Errorf("unit %s: %w", r.Name, UnitError(err))
	}
	p := map[string]string{}
	for line := range strings.Lines(string(out)) {
		k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		p[k] = v
	}
	switch p["LoadState"] {
	case "loaded":
	case "not-found":
		return Target{}, fmt.Errorf("there is no unit %s; systemctl list-units lists the units", r.Name)
	default:
		return Target{}, fmt.Errorf("unit %s can't be used: systemd says that it is %q; systemctl status %s shows why", r.Name, p["LoadState"], r.Name)
	}
	t := Target{Kind: Unit, Name: first(p["Id"], r.Name), State: p["ActiveState"]}
	if p["SubState"] != "" && p["SubState"] != t.State {
		t.State += ", " + p["SubState"]
	}
	if p["ActiveState"] != "active" && p["ActiveState"] != "reloading" || p["ControlGroup"] == "" {
		return t, &NotRunningError{Target: t}
	}
	t.Running = true
	if pid, err := strconv.Atoi(p["MainPID"]); err == nil && pid > 0 {
		// Slices and scopes have none.
		if ticks, err := f.start(pid); err == nil {
			t.PID, t.StartTime = pid, ticks
		}
	}
	hierarchies, err := f.hierarchies()
	if err != nil {
		return Target{}, err
	}
	if t.Groups, err = at(hierarchies, p["ControlGroup"]); err != nil {
		return Target{}, err
	}
	for i := range t.Groups {
		t.Groups[i].Shared = false
	}
	if len(t.Groups) == 0 {
		return t, fmt.Errorf("unit %s is in the group %s, which is not visible from here; run plimsoll in the host's namespace of control groups", t.Name, p["ControlGroup"])
	}
	return t, nil
}

// Systemctl runs systemctl.
func (f *Finder) Systemctl() Program { return f.opt.Systemctl }

// UnitError adds the fix to the error of a systemctl command.
func UnitError(err error) error {
	switch s := err.Error(); {
	case strings.Contains(s, "not been booted with systemd"):
		return fmt.Errorf("systemd does not run this machine's services, so there are no units; name a group: cgroup:PATH (%w)", err)
	case strings.Contains(s, "executable file not found"):
		return fmt.Errorf("systemctl is not installed, so units can't be found; name a group: cgroup:PATH (%w)", err)
	case strings.Contains(s, "Access denied"), strings.Contains(s, "authentication required"):
		return fmt.Errorf("systemd refuses this user; run as root (%w)", err)
	case strings.Contains(s, "Failed to connect to bus"):
		return fmt.Errorf("systemd's bus can't be reached; run as root on the host (%w)", err)
	}
	return err
}
