package plimsoll_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A machine is a PATH for scripts/setup, with a stand-in for apt-get that records its calls and "installs" the commands of packages.
type machine struct {
	t *testing.T
	// bin is the whole PATH, log the calls of apt-get, policy the file that keeps services from being started.
	bin, log, policy string
}

// commands are the commands in packages.
var commands = map[string]string{
	"docker.io": "dockerd", "containerd": "containerd", "podman": "podman", "docker-compose": "docker-compose", "crun": "crun", "runc": "runc", "fio": "fio", "apache2-utils": "ab", "sysstat": "iostat", "strace": "strace", "bindfs": "bindfs", "eatmydata": "eatmydata", "restic": "restic", "openssh-server": "sshd", "openssh-client": "ssh", "etcd-server": "etcd", "lmdb-utils": "mdb_load", "safecat": "safecat", "nodejs": "node",
	// Recognized by their files.
	"node-chokidar": "../usr/share/nodejs/chokidar", "busybox-static": "../usr/share/doc/busybox-static",
	"python3-six": "python3", "python3-venv": "python3", "wine64": "wine64", "jekyll": "jekyll",
	"e2fsprogs": "mkfs.ext4", "xfsprogs": "mkfs.xfs", "btrfs-progs": "mkfs.btrfs", "iptables": "iptables", "systemd": "systemctl", "cpio": "cpio", "xz-utils": "xz",
}

// allPackages are the packages of setup test, in its order.
const allPackages = "docker.io containerd podman docker-compose crun runc fio apache2-utils sysstat strace e2fsprogs xfsprogs btrfs-progs iptables systemd python3-six python3-venv wine64 jekyll cpio xz-utils bindfs eatmydata restic openssh-server openssh-client etcd-server lmdb-utils safecat nodejs node-chokidar busybox-static"

// newMachine makes a machine for a user with this id, with these commands besides those that every machine has.
func newMachine(t *testing.T, uid string, have ...string) *machine {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a Linux is needed")
	}
	// The script is read here, so that go test runs again when it has changed.
	if _, err := os.ReadFile("scripts/setup"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m := &machine{t: t, bin: filepath.Join(dir, "bin"), log: filepath.Join(dir, "log"), policy: filepath.Join(dir, "policy-rc.d")}
	for _, d := range []string{m.bin, filepath.Join(dir, "usr/share/nodejs"), filepath.Join(dir, "usr/share/doc")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range []string{"bash", "sh", "chmod", "rm", "touch"} {
		real, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, filepath.Join(m.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	m.add("id", "echo "+uid)
	for _, c := range have {
		m.add(c, "echo started $0 >>"+m.log) // No installed program may be started.
	}
	return m
}

// add makes a command.
func (m *machine) add(name, script string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// addApt makes apt-get.
func (m *machine) addApt() {
	m.t.Helper()
	var install strings.Builder
	for p, c := range commands {
		install.WriteString("    " + p + ") touch " + m.bin + "/" + c + "; chmod 755 " + m.bin + "/" + c + ";;\n")
	}
	m.add("apt-get", `echo "apt-get $*" >>`+m.log+`
if [ "$1" = install ]; then
  `+m.policy+` # It must exist and forbid.
  [ $? = 101 ] || echo "services may start" >>`+m.log+`
  for p; do case $p in
`+install.String()+`  esac; done
fi`)
}

// setup runs the script. calls are the new lines of the log.
func (m *machine) setup(target string) (status int, calls []string, said string) {
	m.t.Helper()
	cmd := exec.Command(filepath.Join(m.bin, "bash"), "scripts/setup", target)
	cmd.Env = []string{"PATH=" + m.bin, "SETUP_SBIN=" + m.bin, "SETUP_ROOT=" + filepath.Dir(m.bin), "SETUP_POLICY=" + m.policy}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var ee *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ee) {
		m.t.Fatal(err)
	}
	if out.Len() > 0 {
		m.t.Errorf("setup %s printed %q: talk goes to standard error", target, out.String())
	}
	b, err := os.ReadFile(m.log)
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.log, nil, 0o644); err != nil {
		m.t.Fatal(err)
	}
	if s := strings.TrimSpace(string(b)); s != "" {
		calls = strings.Split(s, "\n")
	}
	return cmd.ProcessState.ExitCode(), calls, errs.String()
}

// TestSetupRoot: for root the script installs the missing packages and no others, with one call, and no service starts. The second
// time there is nothing to do.
func TestSetupRoot(t *testing.T) {
	for _, tt := range []struct {
		target string
		have   []string
		want   string // packages
	}{
		{"test", []string{"go"}, allPackages},
		{"test", []string{"go", "dockerd", "runc", "mkfs.ext4"}, "containerd podman docker-compose crun fio apache2-utils sysstat strace xfsprogs btrfs-progs iptables systemd python3-six python3-venv wine64 jekyll cpio xz-utils bindfs eatmydata restic openssh-server openssh-client etcd-server lmdb-utils safecat nodejs node-chokidar busybox-static"},
		// make run installs no Docker and no other daemon.
		{"run", []string{"go"}, "runc"},
	} {
		m := newMachine(t, "0", tt.have...)
		m.addApt()
		status, calls, said := m.setup(tt.target)
		want := []string{"apt-get update -qq", "apt-get install -y -qq --no-install-recommends " + tt.want}
		if status != 0 || !slices.Equal(calls, want) || !strings.Contains(said, "setup: installing "+tt.want+"\n") {
			t.Errorf("setup %s with %v: status %d, calls %q, want %q; said %q", tt.target, tt.have, status, calls, want, said)
		}
		if told := strings.Contains(said, "systemctl disable docker"); told != strings.Contains(tt.want, "docker.io") {
			t.Errorf("setup %s with %v says of Docker's service: %q", tt.target, tt.have, said)
		}
		if _, err := os.Stat(m.policy); !os.IsNotExist(err) {
			t.Errorf("setup %s left the policy behind: %v", tt.target, err)
		}
		if status, calls, said := m.setup(tt.target); status != 0 || len(calls) > 0 || said != "" {
			t.Errorf("setup %s again: status %d, calls %q, said %q; want nothing to do", tt.target, status, calls, said)
		}
	}
}

// TestSetupVirtioFS: virtiofsd is installed if it is a package of its own, and not if QEMU's package has it.
func TestSetupVirtioFS(t *testing.T) {
	for _, tt := range []struct {
		name, uid string
		// qemu and virtiofsd are installed already; known is the answer of apt-cache about virtiofsd.
		qemu, virtiofsd, known bool
		calls                  int
		want                   string
	}{
		{"Debian 13", "0", false, false, true, 2, "setup: installing qemu-system-x86 virtiofsd\n"},
		{"Debian 13 with QEMU", "0", true, false, true, 2, "setup: installing virtiofsd\n"},
		{"Debian 12", "0", false, false, false, 2, "setup: installing qemu-system-x86\n"},
		{"complete", "0", true, true, true, 0, ""},
		{"nowhere", "0", true, false, false, 1, "setup: this distribution has no package virtiofsd: tests that need it will fail\n"},
		{"no root", "1000", true, false, true, 0, "apt-get install --no-install-recommends virtiofsd\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			have := []string{"go", "qemu-img", "smbd", "ganesha.nfsd", "sqlite3", "inotifywait", "etcd", "mdb_load", "safecat", "node", "cmake", "make", "pip3", "cargo", "cc", "cpio", "xz", "modprobe", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "dmsetup", "lvm", "cryptsetup", "make-bcache", "crun", "runc", "systemctl", "dockerd", "containerd"}
			if tt.qemu {
				have = append(have, "qemu-system-x86_64")
			}
			if tt.virtiofsd {
				have = append(have, "virtiofsd")
			}
			m := newMachine(t, tt.uid, have...)
			m.addApt()
			if tt.known {
				m.add("apt-cache", `[ "$*" = "show virtiofsd" ]`)
			} else {
				m.add("apt-cache", "exit 100")
			}
			// Some packages are recognized by their files.
			for _, f := range []string{"usr/include/cap-ng.h", "usr/include/seccomp.h", "usr/lib/x86_64-linux-gnu/ganesha/libfsalvfs.so", "usr/share/doc/busybox-static", "usr/share/nodejs/chokidar", "usr/lib/postgresql/17/bin/initdb"} {
				if err := os.MkdirAll(filepath.Join(filepath.Dir(m.bin), f), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			status, calls, said := m.setup("guest")
			wantStatus := map[string]int{"0": 0, "1000": 1}[tt.uid]
			if status != wantStatus || len(calls) != tt.calls {
				t.Errorf("status %d, calls %q; want %d and %d calls", status, calls, wantStatus, tt.calls)
			}
			if !strings.HasSuffix(said, tt.want) || tt.want == "" && said != "" {
				t.Errorf("said %q, want %q", said, tt.want)
			}
		})
	}
}

// TestSetupKeepsPolicy: a policy that the machine has already stays.
func TestSetupKeepsPolicy(t *testing.T) {
	m := newMachine(t, "0", "go")
	m.addApt()
	const own = "#!/bin/sh\nexit 101 # the administrator's\n"
	if err := os.WriteFile(m.policy, []byte(own), 0o755); err != nil {
		t.Fatal(err)
	}
	m.setup("run")
	if b, err := os.ReadFile(m.policy); err != nil || string(b) != own {
		t.Errorf("the policy is now %q, %v", b, err)
	}
}

// TestSetupFails: if apt-get fails the script fails, and leaves no policy behind.
func TestSetupFails(t *testing.T) {
	m := newMachine(t, "0", "go")
	m.add("apt-get", "exit 100")
	if status, _, _ := m.setup("run"); status != 100 {
		t.Errorf("status %d, want apt-get's 100", status)
	}
	if _, err := os.Stat(m.policy); !os.IsNotExist(err) {
		t.Errorf("the policy was left behind: %v", err)
	}
}

// TestSetupOthers: a user who can't install gets the command, ready to be copied.
func TestSetupOthers(t *testing.T) {
	for _, tt := range []struct {
		name, uid, target string
		have              []string
		apt               bool
		status            int
		want              string
	}{
		{"no root", "1000", "test", []string{"go", "fio", "sudo"}, true, 1,
			"setup: missing: docker.io containerd podman docker-compose crun runc apache2-utils sysstat strace e2fsprogs xfsprogs btrfs-progs iptables systemd python3-six python3-venv wine64 jekyll cpio xz-utils bindfs eatmydata restic openssh-server openssh-client etcd-server lmdb-utils safecat nodejs node-chokidar busybox-static. Install them with:\n  sudo apt-get update && sudo apt-get install --no-install-recommends docker.io containerd podman docker-compose crun runc apache2-utils sysstat strace e2fsprogs xfsprogs btrfs-progs iptables systemd python3-six python3-venv wine64 jekyll cpio xz-utils bindfs eatmydata restic openssh-server openssh-client etcd-server lmdb-utils safecat nodejs node-chokidar busybox-static\n"},
		{"no root, for a run", "1000", "run", []string{"go", "sudo"}, true, 1, "  sudo apt-get update && sudo apt-get install --no-install-recommends runc\n"},
		{"no root, no sudo", "1000", "run", []string{"go"}, true, 1, "Install them as root with:\n  apt-get update && apt-get install --no-install-recommends runc\n"},
		{"no root, nothing missing", "1000", "run", []string{"go", "runc"}, true, 0, ""},
		{"no apt-get", "0", "test", []string{"go"}, false, 1, "there is no apt-get here. Please install the contents of these packages of Debian: " + allPackages},
		{"no Go", "0", "run", nil, true, 1, "Go 1.26 is needed: https://go.dev/dl"},
		{"a wrong word", "0", "walk", []string{"go"}, true, 2, "unknown target walk: it is run, test, current or guest"},
	} {
		m := newMachine(t, tt.uid, tt.have...)
		if tt.apt {
			m.addApt()
		}
		status, calls, said := m.setup(tt.target)
		if status != tt.status || len(calls) > 0 {
			t.Errorf("%s: status %d, calls %q; want %d and none", tt.name, status, calls, tt.status)
		}
		if !strings.Contains(said, tt.want) || tt.want == "" && said != "" {
			t.Errorf("%s: said %q, want %q", tt.name, said, tt.want)
		}
	}
}
