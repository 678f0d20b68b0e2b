package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// A seccompProfile is a profile in Docker's format: the OCI one, with conditions on
// capabilities and architectures that are resolved before use
// (https://docs.docker.com/engine/security/seccomp/).
type seccompProfile struct {
	DefaultAction   specs.LinuxSeccompAction `json:"defaultAction"`
	DefaultErrnoRet *uint                    `json:"defaultErrnoRet"`
	Architectures   []specs.Arch             `json:"architectures"`
	ArchMap         []struct {
		Architecture     specs.Arch   `json:"architecture"`
		SubArchitectures []specs.Arch `json:"subArchitectures"`
	} `json:"archMap"`
	Syscalls []struct {
		specs.LinuxSyscall
		Name     string           `json:"name"`
		Includes seccompCondition `json:"includes"`
		Excludes seccompCondition `json:"excludes"`
	} `json:"syscalls"`
}

// maxProfile bounds a seccomp profile; Docker's own has 14 KB.
const maxProfile = 1 << 20

// readProfile reads a seccomp profile: a regular file of a sane size, since a
// pipe would be waited for and a device read without end.
func readProfile(path string) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case st.Size() > maxProfile:
		return nil, fmt.Errorf("%s has %d bytes, a profile has %d at most", path, st.Size(), maxProfile)
	}
	return os.ReadFile(path)
}

// A seccompCondition holds when the container has one of Caps or runs on one of Arches.
type seccompCondition struct {
	Caps   []string `json:"caps"`
	Arches []string `json:"arches"`
}

// seccompArch maps Go's architectures to seccomp's.
var seccompArch = map[string]specs.Arch{"amd64": specs.ArchX86_64, "arm64": specs.ArchAARCH64}

// readSeccomp reads a profile for a container with caps on goarch.
func readSeccomp(path, goarch string, caps []string) (*specs.LinuxSeccomp, error) {
	b, err := readProfile(path)
	if err != nil {
		return nil, fmt.Errorf("read the seccomp profile: %w", err)
	}
	var d seccompProfile
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("seccomp profile %s: %w", path, err)
	}
	if d.DefaultAction == "" {
		return nil, fmt.Errorf("seccomp profile %s: it has no defaultAction", path)
	}
	s := &specs.LinuxSeccomp{DefaultAction: d.DefaultAction, DefaultErrnoRet: d.DefaultErrnoRet, Architectures: d.Architectures}
	for _, m := range d.ArchMap {
		if m.Architecture == seccompArch[goarch] {
			s.Architectures = append([]specs.Arch{m.Architecture}, m.SubArchitectures...)
		}
	}
	for _, c := range d.Syscalls {
		if !c.Includes.included(goarch, caps) || c.Excludes.excluded(goarch, caps) {
			continue
		}
		call := c.LinuxSyscall
		if c.Name != "" {
			call.Names = append(call.Names, c.Name)
		}
		s.Syscalls = append(s.Syscalls, call)
	}
	return s, nil
}

// included reports whether every condition that is given holds.
func (c seccompCondition) included(goarch string, caps []string) bool {
	for _, want := range c.Caps {
		if !slices.Contains(caps, want) {
			return false
		}
	}
	return len(c.Arches) == 0 || slices.Contains(c.Arches, goarch)
}

// excluded reports whether any condition holds.
func (c seccompCondition) excluded(goarch string, caps []string) bool {
	for _, have := range c.Caps {
		if slices.Contains(caps, have) {
			return true
		}
	}
	return slices.Contains(c.Arches, goarch)
}
