package disktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// MayServeNFS names the variable that allows the kernel of this machine to serve NFS for a test: a kernel has one set of exports for
// the whole machine. The guest of make test-guest sets it.
const MayServeNFS = "PLIMSOLL_TEST_MAY_SERVE_NFS"

// nfsd is the folder in which the kernel's NFS server is configured (nfsd(7)).
const nfsd = "/proc/fs/nfsd"

// NFS makes the kernel serve a folder by NFS 4, to this machine only, and mounts it. It returns the mount point and the served
// folder. It needs no program of an NFS server: it writes the answers to the kernel's questions beforehand.
func NFS(t testing.TB) (dir, served string) {
	t.Helper()
	needRoot(t, "serves NFS")
	if os.Getenv(MayServeNFS) == "" {
		t.Skip("this machine is not to serve NFS; the guest is: make test-guest")
	}
	served = t.TempDir()
	recovery := t.TempDir()
	tell := func(file, text string) error { return os.WriteFile(file, []byte(text+"\n"), 0) }
	MountAt(t, "nfsd", nfsd, "nfsd", 0, "")
	t.Cleanup(func() {
		if err := tell(filepath.Join(nfsd, "threads"), "0"); err != nil {
			t.Error(err)
		}
		// The export uses the folder until these caches are flushed.
		for _, cache := range []string{"nfsd.fh", "nfsd.export", "auth.unix.ip"} {
			if err := tell("/proc/net/rpc/"+cache+"/flush", "2147483647"); err != nil {
				t.Error(err)
			}
		}
	})
	// Flags of an export (linux/nfsd/export.h): any port, no check of the folders above, and the number 0, which is the root of
	// version 4.
	const flags = 0x2 | 0x400 | 0x2000
	const ever = 2147483647
	for _, do := range [][2]string{
		// Version 3 would need the port mapper and rpc.mountd.
		{nfsd + "/versions", "-3 +4 +4.1 +4.2"},
		{nfsd + "/nfsv4recoverydir", recovery},
		{"/proc/net/rpc/auth.unix.ip/channel", fmt.Sprintf("nfsd 127.0.0.1 %d here", ever)},
		{"/proc/net/rpc/nfsd.export/channel", fmt.Sprintf("here %s %d %d 65534 65534 0", served, ever, flags)},
		{"/proc/net/rpc/nfsd.fh/channel", fmt.Sprintf(`here 1 \x00000000 %d %s`, ever, served)},
		{nfsd + "/portlist", "tcp 2049"},
		{nfsd + "/threads", "2"},
		// No client has files of an earlier server open, so the server need not wait for any.
		{nfsd + "/v4_end_grace", "Y"},
	} {
		if err := tell(do[0], do[1]); errors.Is(err, unix.ENOENT) {
			t.Skipf("needs nfsd in the kernel: %v", err)
		} else if err != nil {
			t.Fatalf("%q to %v", do[1], err)
		}
	}
	return Mount(t, "127.0.0.1:/", "nfs4", 0, "addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.2"), served
}
