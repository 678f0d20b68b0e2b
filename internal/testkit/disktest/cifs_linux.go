package disktest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// CIFS starts a Samba server of the test's own, which serves a folder to this machine only, and mounts the folder with version 3.1.1
// of SMB. It returns the mount point and the served folder. It skips the test if the kernel has no cifs; the guest of make
// test-guest has it.
func CIFS(t testing.TB) (dir, served string) {
	t.Helper()
	needRoot(t, "mounts a share")
	if known, err := os.ReadFile("/proc/filesystems"); err != nil || !strings.Contains(string(known), "\tcifs\n") {
		t.Skip("needs cifs in the kernel")
	}
	daemon, err := exec.LookPath("smbd")
	if err != nil {
		t.Skip("needs smbd: scripts/setup guest")
	}
	served = t.TempDir()
	own, port := t.TempDir(), freePort(t)
	config := "[global]\n"
	for key, folder := range map[string]string{"private dir": "private", "lock directory": "lock", "state directory": "state", "cache directory": "cache", "pid directory": "pid", "ncalrpc dir": "ncalrpc"} {
		if err := os.Mkdir(filepath.Join(own, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		config += key + " = " + filepath.Join(own, folder) + "\n"
	}
	// smb.conf(5): each client is a guest with root's rights. The server offers only files, at this address only.
	config += fmt.Sprintf(`smb passwd file = %s/private/smbpasswd
server role = standalone server
security = user
map to guest = Bad User
server min protocol = SMB3_11
server multi channel support = no
host msdfs = no
rpc start on demand helpers = no
interfaces = 127.0.0.1
bind interfaces only = yes
smb ports = %d
disable netbios = yes
disable spoolss = yes
load printers = no
printing = bsd
usershare max shares = 0
case sensitive = yes
oplocks = no
smb2 leases = no
log level = 0
[data]
path = %s
read only = no
guest ok = yes
force user = root
`, own, port, served)
	file := filepath.Join(own, "smb.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command(daemon, "--foreground", "--no-process-group", "--debug-stdout", "-s", file)
	cmd.Stdout, cmd.Stderr = &said, &said
	// smbd has a process for each connection.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("smbd ended: %v: %s", err, said.String())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("smbd doesn't answer at %s", address)
		}
	}
	// Without leases, cached handles and deferred closes: Linux 6.1 may still have some at the unmount, and then kills the
	// unmounting process ("Dentry still in use", a BUG in generic_shutdown_super).
	return Mount(t, "//127.0.0.1/data", "cifs", 0, fmt.Sprintf("ip=127.0.0.1,port=%d,vers=3.1.1,username=plimsoll,password=,cache=strict,nolease,nohandlecache,closetimeo=0", port)), served
}

// freePort returns a port of this machine without a listener.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
