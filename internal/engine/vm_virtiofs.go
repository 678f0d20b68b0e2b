package engine

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// shareDaemons are where distributions put virtiofsd, the one written in Rust first: it is the one that is kept up.
var shareDaemons = []string{"usr/libexec/virtiofsd", "usr/lib/virtiofsd", "usr/lib/qemu/virtiofsd", "usr/libexec/qemu/virtiofsd", "usr/lib/qemu-kvm/virtiofsd"}

// shareDaemon finds virtiofsd, which is on nobody's PATH.
func (v *vm) shareDaemon() (string, error) {
	if path, err := v.LookPath("virtiofsd"); err == nil {
		return path, nil
	}
	for _, d := range shareDaemons {
		path := filepath.Join(v.Root, d)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", v.no("share virtiofs", "virtiofsd is not installed, which serves it", "install virtiofsd (Debian 12: qemu-system-common), or use share: 9p")
}

// daemonSocketFD is the number of the socket that virtiofsd inherits.
const daemonSocketFD = 3

// shareVirtioFS starts virtiofsd on the session's folder. It listens on a socket that has no name any more when QEMU
// is started, which inherits its end of the one connection: so nobody else gets at the folder.
func (v *vm) shareVirtioFS(s *vmSession, p *vmPlace) error {
	daemon, err := v.shareDaemon()
	if err != nil {
		return err
	}
	cache := cmp.Or(v.ShareCache, "auto")
	args, err := daemonArguments(daemon, p.data, cache)
	if err != nil {
		return err
	}
	listening, connected, err := socketPair(p.dir)
	if err != nil {
		return fmt.Errorf("make the socket of the share's daemon: %w", err)
	}
	defer listening.Close()
	p.socket, p.sharedMemory = connected, true
	if p.daemon, err = startMachine(append([]string{daemon}, args...), listening); err != nil {
		connected.Close()
		p.socket = nil
		return err
	}
	p.storage = "virtiofs, cache=" + cache
	p.args = []string{
		"-chardev", fmt.Sprintf("socket,id=%s,fd=%d", p.share(), s.socketFD(p)),
		"-device", "vhost-user-fs-pci,chardev=" + p.share() + ",queue-size=1024,tag=" + p.tag(),
	}
	p.mount.Source, p.mount.FSType = p.tag(), "virtiofs"
	return s.noteProcesses()
}

// daemonArguments are those of a virtiofsd: O_DIRECT in the guest is that here too. There are two of them, of which the one in C was part of QEMU until 8.0 and takes options as
// mount does.
func daemonArguments(daemon, folder, cache string) ([]string, error) {
	socket := fmt.Sprintf("--fd=%d", daemonSocketFD)
	if strings.Contains(daemon, "/qemu") {
		if strings.ContainsAny(folder, ",\\") {
			return nil, &Unsupported{"vm", "share virtiofs", "the folder " + folder + " has a comma or backslash in its path, which virtiofsd takes for its own", "give the place another path"}
		}
		return []string{socket, "-o", "source=" + folder, "-o", "cache=" + cache, "-o", "sandbox=chroot", "-o", "allow_direct_io"}, nil
	}
	if cache == "none" {
		cache = "never"
	}
	sandbox := "chroot"
	if os.Geteuid() != 0 {
		sandbox = "none" // The others need root.
	}
	return []string{socket, "--shared-dir", folder, "--cache", cache, "--sandbox", sandbox, "--allow-direct-io"}, nil
}
