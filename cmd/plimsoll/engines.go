package main

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
)

// newEngine makes an engine of a kind.
func (a *app) newEngine(kind string) (engine.Engine, error) {
	switch kind {
	case plan.Host:
		return host.New(a.stateDir, workerbin.Bytes), nil
	case plan.OCI:
		return oci.New(a.stateDir, workerbin.Bytes, exec.LookPath), nil
	case plan.Docker:
		return docker.New(docker.Options{Env: a.env, StateDir: a.stateDir, Worker: workerbin.Bytes}), nil
	case plan.VM:
		return a.newVM(plan.Machine{}), nil
	}
	return nil, usageError("there is no engine %q: use %s", kind, strings.Join(engineKinds, ", "))
}

// newVM makes an engine of virtual machines.
func (a *app) newVM(m plan.Machine) engine.Engine {
	return vm.New(vm.Options{
		State: a.stateDir, Worker: workerbin.Bytes, LookPath: exec.LookPath,
		Kernel: m.Kernel, Modules: m.Modules, Accel: m.Accel, Memory: m.Memory, CPUs: m.CPUs, Limits: m.Limits, Boot: m.Boot,
		Share: m.Share, ShareCache: m.Cache, MSize: m.MSize,
		NFSVersion: m.Vers, NFSRead: m.RSize, NFSWrite: m.WSize, NFSSync: m.Sync,
		DiskSize: m.Disk, DiskFormat: m.Format, DiskCache: m.DiskCache,
	})
}

// engineKinds are the engines that there are, as a plan and --engine name them.
var engineKinds = []string{plan.Host, plan.OCI, plan.Docker, plan.VM}

// planEngines makes the engines of a plan, by the plan's names. Names of the same
// kind share one, but for virtual machines, which may be as different as their options.
func (a *app) planEngines(p *plan.Plan) (map[string]engine.Engine, error) {
	kinds := map[string]engine.Engine{}
	engines := map[string]engine.Engine{}
	for _, e := range p.Engines {
		if e.Engine == plan.VM {
			engines[e.Name] = a.newVM(e.Machine)
			continue
		}
		if kinds[e.Engine] == nil {
			made, err := a.newEngine(e.Engine)
			if err != nil {
				return nil, fmt.Errorf("engine %s: %w", e.Name, err)
			}
			kinds[e.Engine] = made
		}
		engines[e.Name] = kinds[e.Engine]
	}
	return engines, nil
}

// checkImages refuses a plan of which an image isn't there, as it does for a folder: a name with a
// slip of the pen would else leave all cells of its engine out.
func checkImages(ctx context.Context, p *plan.Plan, engines map[string]engine.Engine) error {
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
			return usageError("engine %s: %w", e.Name, err)
		}
	}
	return nil
}

// engines makes one engine of each kind, for doctor.
func (a *app) engines() []engine.Engine {
	var es []engine.Engine
	for _, k := range engineKinds {
		if e, err := a.newEngine(k); err == nil {
			es = append(es, e)
		}
	}
	return es
}
