// Package engines creates the engines that a plan, a command line or the doctor names, each from its own package.
package engines

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/docker"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/workerbin"
	"plimsoll/internal/text/usage"
)

// Kinds are the kinds of engines, as named in a plan and by --engine.
var Kinds = []string{plan.Host, plan.OCI, plan.Docker, plan.VM}

// A Source creates engines, and removes what killed runs left with them.
type Source struct {
	// State is the state folder. Machine is the folder of the records that all Plimsolls of this machine share; "": it
	// isn't swept.
	State, Machine string
	// Env looks up the variables that locate daemons. nil: os.Getenv.
	Env func(string) string
	// Say receives messages about what a sweep removed and what it could not remove. nil: they are dropped.
	Say func(string)
}

// New creates an engine of a kind. The error is a *usage.Error if there is no such kind.
func (s Source) New(kind string) (engine.Engine, error) {
	switch kind {
	case plan.Host:
		return host.New(s.State, workerbin.Bytes), nil
	case plan.OCI:
		return oci.New(s.State, workerbin.Bytes, exec.LookPath), nil
	case plan.Docker:
		return docker.New(docker.Options{Env: s.Env, StateDir: s.State, Worker: workerbin.Bytes}), nil
	case plan.VM:
		return s.NewVM(plan.Machine{}), nil
	}
	return nil, usage.Errorf("there is no engine %q: use %s", kind, strings.Join(Kinds, ", "))
}

// NewVM makes an engine of virtual machines.
func (s Source) NewVM(m plan.Machine) engine.Engine {
	return vm.New(vm.Options{
		State: s.State, Worker: workerbin.Bytes, LookPath: exec.LookPath,
		Kernel: m.Kernel, Modules: m.Modules, Accel: m.Accel, Memory: m.Memory, CPUs: m.CPUs, Limits: m.Limits, Boot: m.Boot,
		Share: m.Share, ShareCache: m.Cache, MSize: m.MSize,
		NFSVersion: m.Vers, NFSRead: m.RSize, NFSWrite: m.WSize, NFSSync: m.Sync,
		DiskSize: m.Disk, DiskFormat: m.Format, DiskCache: m.DiskCache,
	})
}

// OfPlan creates the engines of a plan, by the plan's names. Names of the same kind share one engine, except for
// virtual machines, which may differ in their options.
func (s Source) OfPlan(p *plan.Plan) (map[string]engine.Engine, error) {
	kinds := map[string]engine.Engine{}
	engines := map[string]engine.Engine{}
	for _, e := range p.Engines {
		if e.Engine == plan.VM {
			engines[e.Name] = s.NewVM(e.Machine)
			continue
		}
		if kinds[e.Engine] == nil {
			made, err := s.New(e.Engine)
			if err != nil {
				return nil, fmt.Errorf("engine %s: %w", e.Name, err)
			}
			kinds[e.Engine] = made
		}
		engines[e.Name] = kinds[e.Engine]
	}
	return engines, nil
}

// All creates one engine of each kind.
func (s Source) All() []engine.Engine {
	var all []engine.Engine
	for _, k := range Kinds {
		if e, err := s.New(k); err == nil {
			all = append(all, e)
		}
	}
	return all
}

// CheckImages refuses a plan if one of its images is missing, as for a folder: otherwise a mistyped name would skip all
// cells of its engine.
func CheckImages(ctx context.Context, p *plan.Plan, engines map[string]engine.Engine) error {
	measured := map[string]bool{}
	for _, c := range p.Cells() {
		measured[c.Engine] = true
	}
	for _, e := range p.Engines {
		c, ok := engines[e.Name].(engine.ImageChecker)
		if !ok || e.Image == "" || !measured[e.Name] {
			continue
		}
		if err := c.CheckImage(ctx, e.Image); err != nil {
			return usage.Errorf("engine %s: %w", e.Name, err)
		}
	}
	return nil
}
