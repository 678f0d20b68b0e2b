// Package doctor reports what Plimsoll can measure, limit and provide on a machine, and what would enable the rest.
//
// It only looks: it loads no module, starts no daemon and mounts nothing. Only the probes of I/O engines and of
// engines do what they test, on a small scale, and clean up. Presence doesn't prove that something works; where
// doctor only saw that it is present, the item says so.
package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/fingerprint"
	"plimsoll/internal/measure/record"
	"plimsoll/load"
)

// Groups of items.
const (
	Measure = "measure"
	Limit   = "limit"
	Provide = "provide"
)

// Statuses of items, the same as those of explain.Ability.
const (
	OK     = explain.OK
	Partly = explain.Almost
	No     = explain.Not
)

// An Item is one thing that was examined.
type Item struct {
	// ID is stable: "io-engine/io_uring", "fs/ext4".
	ID string `json:"id"`
	// Group is Measure, Limit or Provide.
	Group string `json:"group"`
	// Status is OK, Partly or No.
	Status string `json:"status"`
	// What is the thing in words, with its version or value.
	What string `json:"what"`
	// Why says what is missing or worth knowing; Fix how to provide it, with a command where there is one. Both may
	// be empty.
	Why string `json:"why,omitempty"`
	Fix string `json:"fix,omitempty"`
}

// Options say where to look.
type Options struct {
	// FS is the machine's procfs and sysfs.
	FS device.FS
	// StateDir is Plimsoll's folder; it need not exist.
	StateDir string
	// Engines are probed one after the other. nil: none are known.
	Engines []engine.Engine
	// LookPath finds a program (exec.LookPath).
	LookPath func(string) (string, error)
	// ProbeIO tries the I/O engines in a folder (load.ProbeEngines).
	ProbeIO func(dir string) []load.Probe
	// Dev and Modules are /dev and /lib/modules/<release>, as parameters for tests.
	Dev, Modules string
}

// A Report is the result.
type Report struct {
	Machine record.Machine `json:"machine"`
	Items   []Item         `json:"items"`
	// HostImpossible is set when even the host engine can't measure here.
	HostImpossible bool `json:"host_impossible,omitempty"`
}

// Look examines the machine.
func Look(ctx context.Context, o Options) Report {
	e := examination{o: o}
	e.report.Machine = fingerprint.Machine(o.FS)
	e.engines(ctx)
	e.ioEngines()
	e.stateDir()
	tree, err := hierarchy.Read(o.FS)
	if errors.Is(err, errors.ErrUnsupported) {
		e.add(Item{"linux", Limit, No, "limits and volumes", "they need Linux, and this is not Linux", "use an engine whose containers run in a Linux machine"})
		return e.report
	}
	if err != nil {
		e.add(Item{"mounts", Measure, No, "list of mounts", err.Error(), ""})
		tree = &hierarchy.Tree{}
	}
	e.measure()
	e.limit(tree)
	e.provide()
	return e.report
}

// An examination collects a report.
type examination struct {
	o      Options
	report Report
}

func (e *examination) add(i Item) { e.report.Items = append(e.report.Items, i) }

// engines probes every engine.
func (e *examination) engines(ctx context.Context) {
	for _, en := range e.o.Engines {
		p := en.Probe(ctx)
		i := Item{ID: "engine/" + en.Name(), Group: Measure, Status: OK, What: "engine " + en.Name(), Why: strings.Join(p.Notes, "; ")}
		if p.Version != "" {
			i.What += " (" + p.Version + ")"
		}
		if !p.OK {
			i.Status, i.Why, i.Fix = No, p.Missing, p.Fix
			e.report.HostImpossible = e.report.HostImpossible || en.Name() == "host"
		}
		e.add(i)
		if p.OK {
			e.shares(en.Name(), vm.Shares(ctx, en))
		}
	}
}

// shares reports the ways in which an engine's machines can share folders with this one.
func (e *examination) shares(of string, list []vm.Share) {
	for _, s := range list {
		i := Item{ID: "share/" + s.Name, Group: Measure, Status: OK, What: "share " + s.Name + " of the engine " + of}
		if s.Missing != "" {
			i.Status, i.Why, i.Fix = No, s.Missing, s.Fix
		}
		e.add(i)
	}
}

// ioEngines probes the I/O engines, in the state folder if it exists.
func (e *examination) ioEngines() {
	dir := e.o.StateDir
	if !writable(dir) {
		dir = os.TempDir()
	}
	works := false
	for _, p := range e.o.ProbeIO(dir) {
		if p.Engine == load.Null {
			continue
		}
		i := Item{ID: "io-engine/" + p.Engine, Group: Measure, Status: OK, What: "I/O engine " + p.Engine + " on the host"}
		if !p.OK {
			i.Status, i.Why = No, p.Reason
		}
		works = works || p.OK
		e.add(i)
	}
	e.report.HostImpossible = e.report.HostImpossible || !works
}

// stateDir reports where Plimsoll's own data goes.
func (e *examination) stateDir() {
	i := Item{ID: "state-dir", Group: Measure, Status: OK, What: "state folder " + e.o.StateDir}
	nearest := Existing(e.o.StateDir)
	switch {
	case !writable(nearest):
		i.Status, i.Why, i.Fix = No, nearest+" is not writable", "run as root, or name another folder with --state"
	case noexec(nearest):
		i.Status, i.Why, i.Fix = No, nearest+" is mounted noexec: the worker can't run from it", "mount it without noexec, or name another folder with --state"
	case nearest != e.o.StateDir:
		i.Why = "it will be created"
	}
	if s, err := e.o.FS.Of(e.o.StateDir); err == nil {
		switch {
		case s.Device != nil:
			i.What += " on " + s.Mount.FSType + ", disk " + strings.Join(s.Device.Stack, " on ")
		default:
			i.What += " on " + s.Mount.FSType
			if i.Status == OK {
				i.Status, i.Why = Partly, "places in it have no disk to compare with: "+s.Why
				i.Fix = "name a folder on a disk with --state"
			}
		}
	}
	e.add(i)
}

// Existing returns path if it exists, or else its nearest parent that does.
func Existing(path string) string {
	for p := path; ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); err == nil || p == filepath.Dir(p) {
			return p
		}
	}
}
