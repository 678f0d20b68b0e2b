// Package seccomp reads seccomp profiles in Docker's format: the OCI one, with conditions on capabilities and architectures, which are
// resolved before use (https://docs.docker.com/engine/security/seccomp/).
package seccomp

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// A Profile is a profile in Docker's format.
type Profile struct {
	DefaultAction   specs.LinuxSeccompAction `json:"defaultAction"`
	DefaultErrnoRet *uint                    `json:"defaultErrnoRet"`
	Architectures   []specs.Arch             `json:"architectures"`
	ArchMap         []struct {
		Architecture     specs.Arch   `json:"architecture"`
		SubArchitectures []specs.Arch `json:"subArchitectures"`
	} `json:"archMap"`
	Syscalls []struct {
		specs.LinuxSyscall
		Name     string    `json:"name"`
		Includes condition `json:"includes"`
		Excludes condition `json:"excludes"`
	} `json:"syscalls"`
}

// maxSize bounds a seccomp profile; Docker's own has 14 KB.
const maxSize = 1 << 20

// read reads a seccomp profile. It must be a regular file of a sane size: a pipe would block, and a device may have no end.
func read(path string) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case st.Size() > maxSize:
		return nil, fmt.Errorf("%s has %d bytes, a profile has %d at most", path, st.Size(), maxSize)
	}
	return os.ReadFile(path)
}

// A condition holds when the container has one of Caps or runs on one of Arches.
type condition struct {
	Caps   []string `json:"caps"`
	Arches []string `json:"arches"`
}

// architectures maps Go's architectures to seccomp's.
var architectures = map[string]specs.Arch{"amd64": specs.ArchX86_64, "arm64": specs.ArchAARCH64}

// Unconfined, instead of a seccomp profile's path, asks for no profile.
const Unconfined = "unconfined"

// actions are those that a profile may use. SCMP_ACT_NOTIFY is not among them: it needs a program that listens
// (runtime-spec, config-linux.md, "Seccomp").
var actions = []specs.LinuxSeccompAction{
	specs.ActKill, specs.ActKillProcess, specs.ActKillThread, specs.ActTrap, specs.ActErrno, specs.ActTrace, specs.ActAllow, specs.ActLog,
}

var operators = []specs.LinuxSeccompOperator{
	specs.OpNotEqual, specs.OpLessThan, specs.OpLessEqual, specs.OpEqualTo, specs.OpGreaterEqual, specs.OpGreaterThan, specs.OpMaskedEqual,
}

// Check returns the error of a session's seccomp profile: a path, Unconfined, or empty. A bad profile would fail in every
// container.
func Check(profile string) error {
	if profile == "" || profile == Unconfined {
		return nil
	}
	_, _, err := Load(profile)
	return err
}

// Load reads and checks a profile, and returns its text, too.
func Load(path string) (*Profile, []byte, error) {
	b, err := read(path)
	if err != nil {
		return nil, nil, fmt.Errorf("seccomp profile: %w", err)
	}
	p := new(Profile)
	err = json.Unmarshal(b, p)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		err = fmt.Errorf("its %s can't be %s", wrong.Field, article(wrong.Value))
	case errors.As(err, &wrong):
		err = fmt.Errorf("it is %s, a profile is an object", article(wrong.Value))
	case err == nil:
		err = p.check()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("seccomp profile %s: %w", path, err)
	}
	return p, b, nil
}

// article describes JSON's name of a kind of value.
func article(kind string) string {
	if strings.HasPrefix(kind, "array") || strings.HasPrefix(kind, "object") {
		return "an " + kind
	}
	return "a " + kind
}

// check looks for what a runtime or a daemon would refuse.
func (p *Profile) check() error {
	if p.DefaultAction == "" {
		return errors.New("it has no defaultAction")
	}
	if err := checkAction(p.DefaultAction); err != nil {
		return fmt.Errorf("defaultAction: %w", err)
	}
	for i, c := range p.Syscalls {
		if len(c.Names) == 0 && c.Name == "" {
			return fmt.Errorf("syscalls[%d] has no names", i)
		}
		if err := checkAction(c.Action); err != nil {
			return fmt.Errorf("syscalls[%d].action: %w", i, err)
		}
		for j, a := range c.Args {
			if !slices.Contains(operators, a.Op) {
				return fmt.Errorf("syscalls[%d].args[%d].op: there is no operator %.40q", i, j, a.Op)
			}
		}
	}
	return nil
}

func checkAction(a specs.LinuxSeccompAction) error {
	if a == specs.ActNotify {
		return fmt.Errorf("%s needs a program that listens, and there is none", a)
	}
	if !slices.Contains(actions, a) {
		return fmt.Errorf("there is no action %.40q", a)
	}
	return nil
}

// ForContainer reads a profile for a container with caps on goarch.
func ForContainer(path, goarch string, caps []string) (*specs.LinuxSeccomp, error) {
	d, _, err := Load(path)
	if err != nil {
		return nil, err
	}
	s := &specs.LinuxSeccomp{DefaultAction: d.DefaultAction, DefaultErrnoRet: d.DefaultErrnoRet, Architectures: d.Architectures}
	for _, m := range d.ArchMap {
		if m.Architecture == architectures[goarch] {
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

// included reports whether every given condition holds.
func (c condition) included(goarch string, caps []string) bool {
	for _, want := range c.Caps {
		if !slices.Contains(caps, want) {
			return false
		}
	}
	return len(c.Arches) == 0 || slices.Contains(c.Arches, goarch)
}

// excluded reports whether any condition holds.
func (c condition) excluded(goarch string, caps []string) bool {
	for _, have := range c.Caps {
		if slices.Contains(caps, have) {
			return true
		}
	}
	return slices.Contains(c.Arches, goarch)
}
