package vm

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"plimsoll/internal/measure/engine"
)

// smbModules are what a guest needs to mount a share of smb. smbCrypto are the ciphers that cifs asks the kernel for by
// name; modules.dep doesn't list them, and later kernels have more of them built in. cifs asks for them although nothing is
// encrypted.
var (
	smbModules = []string{"virtio_net", "cifs"}
	smbCrypto  = []string{"hmac", "md5", "sha256_generic", "sha512_generic", "cmac", "aes_generic", "ecb", "ctr", "ccm", "ghash_generic", "gcm"}
)

// smbd finds Samba's server, which is on root's PATH only.
func (v *Engine) smbd() (string, error) {
	if path, err := v.LookPath("smbd"); err == nil {
		return path, nil
	}
	if path := firstProgram(v.Root, "usr/sbin/smbd", "usr/local/sbin/smbd", "usr/local/samba/sbin/smbd"); path != "" {
		return path, nil
	}
	return "", v.no("share smb", "smbd, which serves the share, is not installed", "install samba (its own services need not run), or use share: 9p")
}

// smbPort is the port at which a guest looks for SMB.
const smbPort = 445

// shareSMB starts smbd on the session's folder, as inetd would: on one connection. QEMU inherits its other end and gives it
// to the first process in the guest that connects. Nothing listens, here or elsewhere, so no other client can reach the
// folder.
func (v *Engine) shareSMB(ctx context.Context, s *session, p *placeDevice) error {
	daemon, err := v.smbd()
	if err != nil {
		return err
	}
	config, err := v.smbConfig(p)
	if err != nil {
		return err
	}
	// Samba makes sockets in its folders, whose paths have 107 bytes at most; a state folder's path may be longer.
	folder, err := os.Open(smbFolder(p.dir))
	if err != nil {
		return err
	}
	defer folder.Close()
	served, connected, err := connectionPair()
	if err != nil {
		return fmt.Errorf("make the connection to the share's daemon: %w", err)
	}
	defer served.Close()
	p.socket = connected
	if p.daemon, err = engine.StartServer([]string{daemon, "--interactive", "--no-process-group", "-s", config}, served, folder); err != nil {
		connected.Close()
		p.socket = nil
		return err
	}
	cache := cmp.Or(v.ShareCache, "strict")
	p.storage = "smb 3.1.1, cache=" + cache
	s.network(p, smbPort)
	p.mount.Source, p.mount.FSType = "//"+p.server+"/"+shareTag, "cifs"
	p.mount.Options = "ip=" + p.server + ",vers=3.1.1,username=plimsoll,password=,cache=" + cache
	return s.noteProcesses(ctx)
}

// smbFolder is the folder for smbd's own files.
func smbFolder(dir string) string { return filepath.Join(dir, "smb") }

// smbConfig writes the configuration of an smbd that is independent of the system's: smb.conf(5). Every client is a guest,
// and acts as the user that runs plimsoll. That user must not be the guest account: otherwise smbd takes its files for
// another user's, and refuses to create any unless it is root.
func (v *Engine) smbConfig(p *placeDevice) (string, error) {
	if strings.ContainsAny(p.data, "%\n\"") || strings.HasSuffix(p.data, `\`) {
		return "", v.no("share smb", fmt.Sprintf("the path %q has a character with a special meaning to smbd", p.data), "give the place another path")
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("the share's user: %w", err)
	}
	folder := smbFolder(p.dir)
	var own strings.Builder
	for _, d := range []string{"private", "lock", "state", "cache", "pid", "ncalrpc"} {
		if err := os.MkdirAll(filepath.Join(folder, d), 0o700); err != nil {
			return "", engine.StateFault(v.State, err)
		}
	}
	for key, d := range map[string]string{
		"private dir": "private", "lock directory": "lock", "state directory": "state", "cache directory": "cache", "pid directory": "pid",
		"ncalrpc dir": "ncalrpc", "log file": "log", "smb passwd file": "private/smbpasswd",
	} {
		fmt.Fprintf(&own, "%s = /proc/self/fd/%d/%s\n", key, daemonSocketFD, d)
	}
	config := filepath.Join(folder, "smb.conf")
	text := "[global]\n" + own.String() + smbGlobal + "\n[" + shareTag + "]\npath = " + p.data + "\nread only = no\nguest ok = yes\nforce user = " + u.Username + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return "", engine.StateFault(v.State, err)
	}
	return config, nil
}

// smbGlobal are the global settings of an smbd. Names are case-sensitive, as on Linux on both sides; otherwise smbd would
// search the whole folder for each new name.
const smbGlobal = `server role = standalone server
security = user
map to guest = Bad User
server min protocol = SMB3_11
server multi channel support = no
host msdfs = no
rpc start on demand helpers = no
interfaces = 127.0.0.1
bind interfaces only = yes
disable netbios = yes
disable spoolss = yes
load printers = no
printing = bsd
usershare max shares = 0
case sensitive = yes
log level = 0
`
