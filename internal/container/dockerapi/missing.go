package dockerapi

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/lastbytes"
)

// A Missing is the reason why a daemon can't be used, and the fix.
type Missing struct {
	// Missing and Fix are sentences without an end.
	Missing, Fix string
	// There is whether a daemon exists but does not work: it doesn't answer in time, or answers with an error.
	There bool
	// Cause is the system's error, nil if there is none: fs.ErrNotExist is a socket that is
	// not there, fs.ErrPermission one that this user may not use.
	Cause error
}

// Error implements error.
func (m *Missing) Error() string { return m.Missing + "; " + m.Fix }

// Unwrap returns Cause.
func (m *Missing) Unwrap() error { return m.Cause }

// A machine is what the advice depends on besides the error.
type machine struct {
	// installed reports whether a program is there.
	installed func(program string) bool
	// root is whether this user is, systemd whether that starts the machine's services.
	root, systemd bool
	// group is the group that owns the socket, "" if unknown.
	group string
}

// thisMachine looks at the machine; socket may be "".
func thisMachine(socket string) machine {
	_, err := os.Stat("/run/systemd/system") // sd_booted(3)
	return machine{
		installed: func(program string) bool {
			// Daemons lie where a user's path may not lead.
			for _, p := range []string{program, "/usr/sbin/" + program, "/usr/local/sbin/" + program} {
				if _, err := exec.LookPath(p); err == nil {
					return true
				}
			}
			return false
		},
		root: os.Geteuid() == 0, systemd: err == nil, group: socketGroup(socket),
	}
}

// sudo is command, as this user has to give it.
func (m machine) sudo(command string) string {
	if m.root {
		return command
	}
	return "sudo " + command
}

// start says how the machine's own daemon is started.
func (m machine) start() string {
	if m.systemd {
		return m.sudo("systemctl start docker")
	}
	return m.sudo("service docker start") + ", or run " + m.sudo("dockerd")
}

// unreachable reports why a daemon did not answer. apiVersion is what it speaks, if
// it said so.
func unreachable(host, source, apiVersion string, err error) *Missing {
	// The client hides the reason of a failed connection, so look at the socket.
	cause, socket := err, ""
	_, pipe := pipeOf(host) // For a named pipe it doesn't hide it.
	if u, uerr := url.Parse(host); uerr == nil && !pipe && client.IsErrConnectionFailed(err) {
		network, address := "tcp", u.Host
		if u.Scheme == "unix" {
			network, address = "unix", strings.TrimPrefix(host, "unix://")
			socket = address
		}
		if c, derr := net.DialTimeout(network, address, PingTimeout); derr == nil {
			c.Close()
		} else {
			cause = derr
		}
	}
	return why(host, source, apiVersion, err, cause, thisMachine(socket))
}

// why returns the reason of a failed ping, and the fix.
func why(host, source, apiVersion string, err, cause error, here machine) *Missing {
	m := &Missing{Cause: errors.Join(cause, err)}
	socket, local := strings.CutPrefix(host, "unix://")
	named, inside := "", "" // Whoever named the address has to know which it is; at the end of a sentence, and inside of one.
	if source != "" {
		named = ", which " + source + " names"
		inside = named + ","
	}
	pipe, isPipe := pipeOf(host)
	if isPipe && m.whyPipe(pipe, named, inside, source, cause, here) {
		return m
	}
	var ne net.Error
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(cause, fs.ErrNotExist) && source != "":
		m.Missing = "no daemon's socket at " + socket + named
		m.Fix = otherAddress(source)
	case errors.Is(cause, fs.ErrNotExist) && here.installed("dockerd"):
		m.Missing = "Docker is installed, but its daemon isn't running: no socket at " + socket
		m.Fix = "start it: " + here.start()
	case errors.Is(cause, fs.ErrNotExist) && here.installed("podman"):
		m.Missing = "no daemon's socket at " + socket + "; Podman is installed, and its socket isn't named"
		m.Fix = here.sudo("systemctl start podman.socket") + ", and DOCKER_HOST=unix:///run/podman/podman.sock"
		if !here.systemd {
			m.Fix = "podman system service --time=0 unix:///tmp/podman.sock &, and DOCKER_HOST=unix:///tmp/podman.sock"
		}
	case errors.Is(cause, fs.ErrNotExist):
		m.Missing = "no daemon's socket at " + socket
		m.Fix = "install Docker or Podman and start it (" + here.sudo("apt-get install docker.io") + "; " + here.start() + "), or set DOCKER_HOST"
	case errors.Is(cause, fs.ErrPermission):
		m.Missing = "this user may not use the socket " + socket + named
		switch here.group {
		case "root":
			m.Fix = "run as root: the socket " + socket + " is root's alone"
		case "":
			m.Fix = "run as root, or join the socket's group (ls -l " + socket + " shows it)"
		default:
			m.Fix = "run as root, or join the socket's group: sudo usermod -aG " + here.group + " $USER, then log in again"
		}
	case errors.Is(cause, syscall.ECONNREFUSED) && source != "":
		m.Missing = "no daemon listens at " + host + named
		m.Fix = otherAddress(source)
	case errors.Is(cause, syscall.ECONNREFUSED) && local:
		m.Missing = "the socket at " + host + " is there but no daemon listens on it"
		m.Fix = "start the daemon: " + here.start()
	case errors.As(cause, &dns):
		m.Missing = "the machine of " + host + inside + " is not known: " + dns.Err
		m.Fix = otherAddress(source)
	case errors.Is(cause, context.DeadlineExceeded), errors.As(cause, &ne) && ne.Timeout():
		m.There, m.Missing = true, "the daemon at "+host+inside+" does not answer in time"
		m.Fix = "look at its log, journalctl -u docker, and restart it"
		if !local {
			m.Fix = "check that it runs and can be reached, or: " + otherAddress(source)
		}
	case apiVersion != "" && cerrdefs.IsInvalidArgument(err):
		m.Missing = "the daemon at " + host + " speaks API " + apiVersion + ", and plimsoll needs " + client.MinAPIVersion
		m.Fix = "upgrade it to Docker 19.03 or later"
	// The second is net/http's word for an answer that comes before the question, as ssh's greeting may.
	case strings.Contains(err.Error(), "malformed HTTP"), strings.Contains(err.Error(), "readLoopPeekFailLocked"):
		return stranger(host, "it does not speak HTTP")
	case cerrdefs.IsNotFound(err):
		return stranger(host, "it knows no ping")
	default:
		// The client calls it a failed connection, too, when a daemon takes one and hangs up.
		m.There = !client.IsErrConnectionFailed(err) || !isPipe && !(errors.As(cause, &op) && op.Op == "dial")
		m.Missing = "the daemon at " + host + inside + " can't be used: " + clean.Line(lastbytes.Cut(err.Error(), maxWords))
		m.Fix = "check that it runs, and that DOCKER_HOST names it"
	}
	return m
}

// otherAddress returns the advice for an address that leads to no daemon.
func otherAddress(source string) string {
	switch {
	case source == client.EnvOverrideHost:
		return "start that daemon, or unset DOCKER_HOST to use this machine's own"
	case strings.HasPrefix(source, "the docker context"):
		return "start that daemon, or choose another: docker context use default"
	}
	return "start that daemon"
}

// NoContainer reports whether an error says that a container is gone. Podman 4.3 answers with the status 500 if it goes while Podman
// works on it.
func NoContainer(err error) bool {
	return cerrdefs.IsNotFound(err) || err != nil && strings.Contains(err.Error(), "no such container")
}
