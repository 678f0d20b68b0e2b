package target

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"plimsoll/internal/text/nearest"
)

// A Ref is a parsed name of a target.
type Ref struct {
	Kind Kind
	// Engine is the engine of a container or volume; empty for any.
	Engine Engine
	// Namespace is a namespace of containerd; empty for any.
	Namespace string
	// Name is the name or id of a container or the beginning of its id, the name of a unit or volume, or the path of a group.
	Name string
	// PID is a process's id.
	PID int
}

// Syntax shows how to write a target, for help and errors.
const Syntax = "a container's name or id, with its engine in front where two have it (docker:web, podman:web, containerd:NAMESPACE/ID, crio:ID, oci:ID), pid:N, cgroup:PATH, unit:NAME.service or volume:NAME"

// maxPID is the kernel's PID_MAX_LIMIT (include/linux/threads.h).
const maxPID = 4 << 20

// maxName, in bytes, is longer than the names of any engine.
const maxName = 255

var (
	// containerName matches the names and ids that engines accept (moby daemon/names, runc's libcontainer/factory_linux.go,
	// containerd's pkg/identifiers).
	containerName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)
	// unitName matches a name that systemd accepts (systemd.unit(5)), of a type with a control group.
	unitName = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+\.(service|scope|slice|socket|mount|swap)$`)
	// groupless are the types without one.
	groupless = regexp.MustCompile(`\.(timer|target|path|device|automount)$`)
)

// prefixes are the words that may stand before the colon.
var prefixes = append([]string{string(Process), string(Cgroup), string(Unit), string(Volume)},
	string(Docker), string(Podman), string(Containerd), string(CRIO), string(OCI))

// Parse reads the name of a target. It doesn't check whether the target exists.
func Parse(s string) (Ref, error) {
	bad := func(format string, a ...any) (Ref, error) {
		return Ref{}, fmt.Errorf("target %q: "+format, append([]any{s}, a...)...)
	}
	if s == "" {
		return bad("name %s", Syntax)
	}
	if len(s) > 4096 {
		return Ref{}, fmt.Errorf("target %.40q...: it has %d bytes; name %s", s, len(s), Syntax)
	}
	// Neither the kernel allows these in a group's name, nor an engine or systemd in theirs.
	if strings.ContainsAny(s, "\x00\n") {
		return bad("a target's name can't contain a line break or a zero byte")
	}
	prefix, rest, ok := strings.Cut(s, ":")
	if !ok {
		if strings.HasPrefix(s, "/") {
			return bad("a path is not a container; write cgroup:%s for a control group", s)
		}
		return parseContainer(s, "", s)
	}
	switch prefix {
	case string(Docker), string(Podman), string(Containerd), string(CRIO), string(OCI):
		return parseContainer(s, Engine(prefix), rest)
	case string(Process):
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > maxPID || strconv.Itoa(n) != rest {
			return bad("a process id is a number from 1 to %d", maxPID)
		}
		return Ref{Kind: Process, PID: n, Name: rest}, nil
	case string(Cgroup):
		switch {
		case !strings.HasPrefix(rest, "/"):
			return bad("a group's path begins with a slash: cgroup:/%s", rest)
		case path.Clean(rest) != strings.TrimRight(rest, "/") && rest != "/":
			return bad("a group's path has no empty, . or .. parts: cgroup:%s", path.Clean(rest))
		case path.Clean(rest) == "/":
			return bad("limits in the root group would slow down the whole machine; name a group below it")
		}
		return Ref{Kind: Cgroup, Name: path.Clean(rest)}, nil
	case string(Unit):
		if !unitName.MatchString(rest) || len(rest) > maxName {
			if m := groupless.FindStringSubmatch(rest); m != nil {
				return bad("a %s has no control group; name the service that it starts", m[1])
			}
			if unitName.MatchString(rest + ".service") {
				return bad("name the whole unit: unit:%s.service", rest)
			}
			return bad("a unit with a control group is named like web.service, run-1.scope or user.slice")
		}
		return Ref{Kind: Unit, Name: rest}, nil
	case string(Volume):
		engine, name, ok := strings.Cut(rest, ":")
		if !ok {
			engine, name = "", rest
		}
		if ok && engine != string(Docker) && engine != string(Podman) {
			return bad("only Docker and Podman have volumes: write volume:docker:%s", name)
		}
		if !containerName.MatchString(name) || len(name) > maxName {
			return bad("a volume's name has letters, digits, dots, dashes and underscores")
		}
		return Ref{Kind: Volume, Engine: Engine(engine), Name: name}, nil
	}
	if w := nearest.Word(prefix, prefixes); w != "" {
		return bad("no kind of target is called %q; did you mean %s:%s?", prefix, w, rest)
	}
	return bad("no kind of target is called %q; name %s", prefix, Syntax)
}

func parseContainer(s string, engine Engine, name string) (Ref, error) {
	r := Ref{Kind: Container, Engine: engine, Name: name}
	if engine == Containerd {
		if ns, id, ok := strings.Cut(name, "/"); ok {
			r.Namespace, r.Name = ns, id
			if !containerName.MatchString(ns) {
				return Ref{}, fmt.Errorf("target %q: %q is not a namespace of containerd; ctr namespaces ls shows them", s, ns)
			}
		}
	}
	switch {
	case r.Name == "":
		return Ref{}, fmt.Errorf("target %q: the container's name or id is missing", s)
	case !containerName.MatchString(r.Name) || len(r.Name) > maxName:
		return Ref{}, fmt.Errorf("target %q: a container's name has letters, digits, dots, dashes and underscores", s)
	}
	return r, nil
}

// String returns r in the form that Parse reads.
func (r Ref) String() string {
	switch r.Kind {
	case Container:
		name := r.Name
		if r.Namespace != "" {
			name = r.Namespace + "/" + name
		}
		if r.Engine == "" {
			return name
		}
		return string(r.Engine) + ":" + name
	case Volume:
		if r.Engine != "" {
			return "volume:" + string(r.Engine) + ":" + r.Name
		}
	}
	return string(r.Kind) + ":" + r.Name
}
