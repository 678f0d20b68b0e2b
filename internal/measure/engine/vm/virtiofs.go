package vm

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/text/refusal"
)

// shareDaemons are the folders in which distributions put virtiofsd. Those with the version in Rust come first: it is
// maintained.
var shareDaemons = []string{"usr/libexec/virtiofsd", "usr/lib/virtiofsd", "usr/lib/qemu/virtiofsd", "usr/libexec/qemu/virtiofsd", "usr/lib/qemu-kvm/virtiofsd"}

// daemonPath finds virtiofsd, which is usually outside of PATH; empty if there is none.
func (v *Engine) daemonPath() string {
	if path, err := v.LookPath("virtiofsd"); err == nil {
		return path
	}
	return firstProgram(v.Root, shareDaemons...)
}

// shareDaemon finds virtiofsd and its version.
func (v *Engine) shareDaemon(ctx context.Context) (virtiofsd, error) {
	path := v.daemonPath()
	const what, instead = "share virtiofs", ", or use share: 9p"
	if path == "" {
		return virtiofsd{}, v.no(what, "virtiofsd, which serves the share, is not installed", "install virtiofsd (Debian 12: qemu-system-common)"+instead)
	}
	d, err := askDaemon(ctx, path)
	switch {
	case ctx.Err() != nil:
		return d, context.Cause(ctx)
	case err != nil:
		return d, v.no(what, err.Error(), "install another virtiofsd"+instead)
	case !d.rust && os.Geteuid() != 0:
		return d, v.no(what, fmt.Sprintf("%s can be used only by root", d), "run plimsoll as root, install the virtiofsd in Rust"+instead)
	}
	return d, nil
}

// daemonSocketFD is the number of the socket that virtiofsd inherits.
const daemonSocketFD = 3

// shareVirtioFS starts virtiofsd on the session's folder. Its socket has no name any more when QEMU starts, which inherits
// the other end of its only connection. So no other client can reach the folder.
func (v *Engine) shareVirtioFS(ctx context.Context, s *session, p *placeDevice) error {
	daemon, err := v.shareDaemon(ctx)
	if err != nil {
		return err
	}
	cache := cmp.Or(v.ShareCache, "auto")
	args, err := daemon.arguments(p.data, cache)
	if err != nil {
		return err
	}
	listening, connected, err := socketPair(p.dir)
	if err != nil {
		return fmt.Errorf("make the socket of the share's daemon: %w", err)
	}
	defer listening.Close()
	p.socket, p.sharedMemory = connected, true
	if p.daemon, err = engine.StartTied(append([]string{daemon.path}, args...), listening); err != nil {
		connected.Close()
		p.socket = nil
		return err
	}
	p.storage = fmt.Sprintf("virtiofs, %s, cache=%s", daemon, cache)
	p.args = []string{
		"-chardev", fmt.Sprintf("socket,id=%s,fd=%d", p.share(), s.socketFD(p)),
		"-device", "vhost-user-fs-pci,chardev=" + p.share() + ",queue-size=1024,tag=" + p.tag(),
	}
	p.mount.Source, p.mount.FSType = p.tag(), "virtiofs"
	return s.noteProcesses(ctx)
}

// A virtiofsd is one of the two daemons of that name. The one in C was part of QEMU until 8.0, and takes options as mount
// does; the one in Rust has replaced it. Distributions put either into the same folders, so its version's text tells them
// apart.
type virtiofsd struct {
	path, version string
	rust          bool
}

// String names the daemon in records.
func (d virtiofsd) String() string {
	language := "C"
	if d.rust {
		language = "Rust"
	}
	return fmt.Sprintf("virtiofsd %s (%s)", d.version, language)
}

// daemonWords find the version in the output of virtiofsd --version: "virtiofsd version 7.2.22 (Debian ...)" for the one in
// C, "virtiofsd backend 1.6.1" or, since 1.7, "virtiofsd 1.14.0" for the one in Rust.
var daemonWords = regexp.MustCompile(`^virtiofsd (version |backend |)([0-9][0-9.]*)`)

func askDaemon(ctx context.Context, path string) (virtiofsd, error) {
	said, err := say(ctx, path, "--version")
	m := daemonWords.FindStringSubmatch(said)
	if err != nil || m == nil {
		return virtiofsd{}, notRunning(path, said, err)
	}
	return virtiofsd{path, m[2], m[1] != "version "}, nil
}

// arguments are those of a daemon that serves a folder: O_DIRECT in the guest is O_DIRECT here, too. It logs only errors,
// so that its last words are not its first messages, such as how many files it may open.
func (d virtiofsd) arguments(folder, cache string) ([]string, error) {
	socket := fmt.Sprintf("--fd=%d", daemonSocketFD)
	if !d.rust {
		if strings.ContainsAny(folder, ",\\") {
			return nil, &refusal.Error{Engine: "vm", What: "share virtiofs", Why: "the folder " + folder + " has a comma or backslash in its path, which has a special meaning to virtiofsd", Fix: "give the place another path"}
		}
		return []string{socket, "-o", "source=" + folder, "-o", "cache=" + cache, "-o", "sandbox=chroot", "-o", "allow_direct_io", "-o", "log_level=err"}, nil
	}
	if cache == "none" {
		cache = "never"
	}
	sandbox := "chroot"
	if os.Geteuid() != 0 {
		sandbox = "none" // The other sandboxes need root.
	}
	return []string{socket, "--shared-dir", folder, "--cache", cache, "--sandbox", sandbox, "--allow-direct-io", "--log-level", "error"}, nil
}
