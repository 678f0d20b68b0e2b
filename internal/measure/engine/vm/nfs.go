package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/text/lastbytes"
)

// nfsModules are what a guest needs to mount a share of NFS 4.
var nfsModules = []string{"virtio_net", "nfsv4"}

// nfsVersion is the default of Options.NFSVersion; nfsPort is the protocol's port.
const (
	nfsVersion = "4.2"
	nfsPort    = 2049
)

// nfsCaches are the mount's options (nfs(5)) for Options.ShareCache.
var nfsCaches = map[string]string{"none": ",actimeo=0,lookupcache=none", "auto": "", "loose": ",nocto"}

// ganeshaPlugins are the folders in which distributions put Ganesha's file system modules. The module VFS serves this
// machine's file systems.
var ganeshaPlugins = []string{"usr/lib/*/ganesha", "usr/lib64/ganesha", "usr/lib/ganesha", "usr/local/lib*/ganesha"}

// nfsServer finds Ganesha, or says what is missing for it.
func (v *Engine) nfsServer() (string, error) {
	const what, instead = "share nfs", ", or use another share: 9p, virtiofs or smb"
	path, err := v.LookPath("ganesha.nfsd")
	if err != nil {
		return "", v.no(what, "ganesha.nfsd, which serves the share, is not installed", "install nfs-ganesha and nfs-ganesha-vfs (their own services need not run)"+instead)
	}
	found := false
	for _, d := range ganeshaPlugins {
		files, _ := filepath.Glob(filepath.Join(v.Root, d, "libfsalvfs.so"))
		found = found || len(files) > 0
	}
	if !found {
		return "", v.no(what, "ganesha.nfsd lacks the module for local file systems (libfsalvfs.so)", "install nfs-ganesha-vfs"+instead)
	}
	if !engine.CanUnshare() {
		return "", v.no(what, "only root may run ganesha.nfsd, which opens files by their handles, in namespaces of its own", "run plimsoll as root"+instead)
	}
	return path, nil
}

// nfsFolder is the path at which Ganesha sees the trial's folder.
const nfsFolder = "/run/share"

// shareNFS starts Ganesha on the session's folder, isolated. Ganesha always listens, registers with the portmapper, and
// writes to /run, /tmp and, for NFS 3, /var/lib/nfs. So it has a network of its own, in which one connection is made that
// QEMU then inherits, and a /run and /tmp of its own, where it also keeps its state. As Ganesha changes the user of its
// file accesses, the kernel forgets to kill it with its parent: so it also has a PID namespace of its own.
func (v *Engine) shareNFS(ctx context.Context, s *session, p *placeDevice) error {
	daemon, err := v.nfsServer()
	if err != nil {
		return err
	}
	if err := handleFault(p.data); err != nil {
		return v.no("share nfs", "its server can't open files there by their handles: "+err.Error(), "give the place a path on another file system, or use another share: 9p, virtiofs or smb")
	}
	version, err := ganeshaVersion(ctx, daemon)
	if err != nil {
		return err
	}
	argv, err := v.ganesha(p, daemon)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, nfsPatience, fmt.Errorf("the share's daemon was not ready within %v", nfsPatience))
	defer cancel()
	err = inOwnNetwork(func() (<-chan struct{}, error) {
		if p.daemon, err = engine.StartFenced(argv); err != nil {
			return nil, err
		}
		if err := s.noteProcesses(ctx); err != nil {
			return p.daemon.Waited, err
		}
		p.socket, err = awaitServer(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), nfsPort), func() error {
			select {
			case <-p.daemon.Waited:
				return errors.New("the share's daemon ended: " + engine.ExitWords(p.daemon.WaitErr) + colon(lastbytes.LastWords(p.daemon.Log())))
			case <-ctx.Done():
				return fmt.Errorf("%w%s", context.Cause(ctx), colon(lastbytes.LastWords(p.daemon.Log())))
			default:
				return nil
			}
		})
		return p.daemon.Waited, err
	})
	if err != nil {
		return err
	}
	vers, cache := cmp.Or(v.NFSVersion, nfsVersion), cmp.Or(v.ShareCache, "auto")
	s.network(p, nfsPort)
	p.storage = fmt.Sprintf("nfs %s, nfs-ganesha %s, cache=%s", vers, version, cache)
	p.mount.Source, p.mount.FSType = p.server+":/"+shareTag, "nfs4"
	p.mount.Options = "addr=" + p.server + ",clientaddr=" + guestAddress + ",proto=tcp,sec=sys,hard,vers=" + vers + nfsCaches[cache]
	for _, size := range []struct {
		option string
		bytes  int64
	}{{"rsize", v.NFSRead}, {"wsize", v.NFSWrite}} {
		if size.bytes > 0 {
			p.mount.Options += fmt.Sprintf(",%s=%d", size.option, size.bytes)
		}
	}
	if v.NFSSync {
		p.mount.Options += ",sync"
		p.storage += ", sync"
	}
	return nil
}

// nfsPatience is how long Ganesha may take until it serves; on a quiet computer it needs a second.
const nfsPatience = 20 * time.Second

// ganesha writes the configuration of a Ganesha that is independent of the system's, and returns its command line.
func (v *Engine) ganesha(p *placeDevice, daemon string) ([]string, error) {
	exe, err := v.worker.Install("linux", runtime.GOARCH)
	if err != nil {
		return nil, engine.StateFault(v.State, err)
	}
	folder := filepath.Join(p.dir, "nfs")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, engine.StateFault(v.State, err)
	}
	if err := os.WriteFile(filepath.Join(folder, "ganesha.conf"), []byte(ganeshaConfig), 0o600); err != nil {
		return nil, engine.StateFault(v.State, err)
	}
	argv := []string{exe, "nsexec", "--child"}
	for _, dir := range []string{"/run", "/tmp"} {
		argv = append(argv, "--tmpfs", "16m:"+dir)
	}
	// Named so that a list of processes shows its session; --bind splits at the last colon.
	own := filepath.Join("/run", strings.ReplaceAll(p.dir, ":", "-"))
	argv = append(argv, "--bind", p.data+":"+nfsFolder, "--bind", folder+":"+own, "--")
	return append(argv, daemon, "-F", "-L", "STDERR", "-p", "/run/ganesha.pid", "-f", own+"/ganesha.conf"), nil
}

// ganeshaConfig is Ganesha's configuration: ganesha-core-config(8), ganesha-export-config(8). There are no locks from an
// earlier run, no Kerberos and no D-Bus; the log leaves out that these are missing (ganesha-log-config(8)).
const ganeshaConfig = `NFS_CORE_PARAM {
	Protocols = 4;
	NFS_Port = 2049;
	Enable_NLM = false;
	Enable_RQUOTA = false;
	Enable_UDP = false;
}
NFS_KRB5 { Active_krb5 = false; }
NFSv4 {
	Graceless = true;
	RecoveryRoot = /run/ganesha;
	Only_Numeric_Owners = true;
}
LOG {
	Default_Log_Level = CRIT;
	COMPONENTS { DBUS = FATAL; NFS_CB = FATAL; }
}
EXPORT {
	Export_Id = 1;
	Path = ` + nfsFolder + `;
	Pseudo = /` + shareTag + `;
	Protocols = 4;
	Transports = TCP;
	Access_Type = RW;
	Squash = No_Root_Squash;
	SecType = sys;
	FSAL { Name = VFS; }
}
`

// ganeshaWords finds the version in the output of ganesha.nfsd -v.
var ganeshaWords = regexp.MustCompile(`Release = V([0-9][0-9.]*)`)

func ganeshaVersion(ctx context.Context, daemon string) (string, error) {
	said, err := say(ctx, daemon, "-v")
	m := ganeshaWords.FindStringSubmatch(said)
	if err != nil || m == nil {
		return "", notRunning(daemon, said, err)
	}
	return m[1], nil
}
