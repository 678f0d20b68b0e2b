package vm_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/text/refusal"
)

// layerSpec asks for a machine with a disk of its own.
func layerSpec(id string) engine.Spec {
	return engine.Spec{ID: id, Place: place.Spec{Name: "layer", Kind: place.Layer}}
}

// wantNothingLeft fails if a state folder has anything of a session, or a process has its name.
func wantNothingLeft(t *testing.T, state, id string) {
	t.Helper()
	for _, l := range journaltest.Left(t, state) {
		t.Errorf("left behind: %s", l)
	}
	for _, dir := range []string{"vm", "data"} {
		left, _ := os.ReadDir(filepath.Join(state, dir))
		for _, l := range left {
			t.Errorf("left behind: %s/%s", dir, l.Name())
		}
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, l := range lines {
		if b, err := os.ReadFile(l); err == nil && strings.Contains(string(b), "plimsoll-"+id) && ours(filepath.Dir(l)) {
			t.Errorf("left behind: process %s: %.200q", l, b)
		}
	}
}

// TestVMMissing: what a machine needs and is not here is named, and the cell is skipped for it.
func TestVMMissing(t *testing.T) {
	needVM(t)
	modules := t.TempDir()
	bare := func(o *vm.Options, dep string) {
		if err := os.WriteFile(filepath.Join(modules, "modules.dep"), []byte(dep), 0o644); err != nil {
			t.Fatal(err)
		}
		o.Modules = modules
	}
	lacks := func(program string) func(*vm.Options) {
		return func(o *vm.Options) {
			o.LookPath = func(name string) (string, error) {
				if name == program {
					return "", exec.ErrNotFound
				}
				return exec.LookPath(name)
			}
		}
	}
	for name, tt := range map[string]struct {
		change func(*vm.Options)
		spec   engine.Spec
		want   string
	}{
		"qemu":         {lacks("qemu-system-x86_64"), layerSpec(""), "qemu-system-x86_64 is not installed; install qemu-system-x86"},
		"mkfs":         {lacks("mkfs.ext4"), layerSpec(""), "mkfs.ext4, which formats the machine's disk, is not installed"},
		"qemu-img":     {func(o *vm.Options) { lacks("qemu-img")(o); o.DiskFormat = vm.DiskQCOW2 }, layerSpec(""), "qemu-img, which creates the disk, is not installed"},
		"kernel":       {func(o *vm.Options) { o.Kernel, o.Root = "", t.TempDir() }, layerSpec(""), "no Linux kernel is installed"},
		"named kernel": {func(o *vm.Options) { o.Kernel = "/nowhere/vmlinuz" }, layerSpec(""), "/nowhere/vmlinuz: no such file"},
		"no kernel":    {func(o *vm.Options) { o.Kernel = "/proc/self/exe" }, layerSpec(""), "it contains no kernel version"},
		"no modules":   {func(o *vm.Options) { o.Kernel, o.Modules, o.Root = bareKernel(t), "", t.TempDir() }, layerSpec(""), "can't be found; name the folder that has their modules.dep, beside kernel: in the plan: modules: "},
		"first module": {func(o *vm.Options) { bare(o, "kernel/virtio_pci.ko:\n") }, layerSpec(""), "-amd64 has no module virtio_console"},
		"share's":      {func(o *vm.Options) { bare(o, "kernel/virtio_pci.ko:\nkernel/virtio_console.ko:\n") }, engine.Spec{Place: place.Spec{Kind: place.Bind}}, "engine vm has no share 9p: the kernel "},
		"memory":       {func(o *vm.Options) { o.Memory = 1 << 44 }, layerSpec(""), "are free here; free some"},
		"share limits": {func(*vm.Options) {}, engine.Spec{Place: place.Spec{Kind: place.Bind}, Limits: limit.Limits{WriteBPS: 1 << 20}}, "a share is not a block device in the guest"},
		"weight":       {func(*vm.Options) {}, engine.Spec{Place: place.Spec{Kind: place.Layer}, Limits: limit.Limits{Weight: 200}}, "it concerns neighbours"},
		"smbd":         {func(o *vm.Options) { lacks("smbd")(o); o.Root, o.Share = t.TempDir(), vm.ShareSMB }, engine.Spec{Place: place.Spec{Kind: place.Bind}}, "smbd, which serves the share, is not installed; install samba"},
		"ganesha":      {func(o *vm.Options) { lacks("ganesha.nfsd")(o); o.Share = vm.ShareNFS }, engine.Spec{Place: place.Spec{Kind: place.Bind}}, "ganesha.nfsd, which serves the share, is not installed; install nfs-ganesha and nfs-ganesha-vfs"},
		"ganesha's": {func(o *vm.Options) {
			o.LookPath = func(string) (string, error) { return exec.LookPath("qemu-system-x86_64") }
			o.Root, o.Share = t.TempDir(), vm.ShareNFS
		}, engine.Spec{Place: place.Spec{Kind: place.Bind}}, "ganesha.nfsd lacks the module for local file systems (libfsalvfs.so); install nfs-ganesha-vfs"},
		"virtiofsd": {func(o *vm.Options) { lacks("virtiofsd")(o); o.Root, o.Share = t.TempDir(), vm.ShareVirtioFS }, engine.Spec{Place: place.Spec{Kind: place.Bind}}, "virtiofsd, which serves the share, is not installed"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "first module" || name == "share's" {
				for _, m := range []string{"virtio_pci", "virtio_console"} {
					if err := os.MkdirAll(filepath.Join(modules, "kernel"), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(modules, "kernel", m+".ko"), nil, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			o := testOptions(t, t.TempDir())
			tt.change(&o)
			tt.spec.ID = "missing-1"
			s, err := vm.New(o).Open(t.Context(), tt.spec)
			if err == nil {
				s.Close(t.Context())
			}
			var u *refusal.Error
			if !errors.As(err, &u) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open() = %v, want it unsupported: %q", err, tt.want)
			}
			wantNothingLeft(t, o.State, tt.spec.ID)
		})
	}
}

// bareKernel is a file that says the version of a kernel, with no modules beside it.
func bareKernel(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vmlinux")
	// Not one text, which this program's own file would say, too.
	says := strings.Join([]string{"Linux", "version", "6.1.0-0-none", "(nobody)"}, " ")
	if err := os.WriteFile(path, []byte("\x7fELF"+strings.Repeat("\x00", 1<<12)+says), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVMPanic: if the guest's kernel panics, the error has the kernel's own words.
func TestVMPanic(t *testing.T) {
	needVM(t)
	o := testOptions(t, t.TempDir())
	o.Worker = func(string, string) ([]byte, error) { return []byte("no program"), nil }
	_, err := vm.New(o).Open(t.Context(), layerSpec("panic-1"))
	if err == nil || !strings.Contains(err.Error(), "the guest's kernel panicked: ") || !strings.Contains(err.Error(), "init") {
		t.Errorf("Open() = %v, want the kernel's panic", err)
	}
	wantNothingLeft(t, o.State, "panic-1")
}

// hangingQEMU is a QEMU that never answers with KVM, as on some machines that are virtual themselves; else the real one.
func hangingQEMU(t *testing.T) func(string) (string, error) {
	t.Helper()
	real, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	fake := filepath.Join(dir, "qemu-system-x86_64")
	script := "#!/bin/sh\ncase \" $* \" in *' -accel kvm '*) echo asked >>" + dir + "/asked; exec sleep 1000;; esac\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b, _ := os.ReadFile(filepath.Join(dir, "asked")); string(b) != "asked\n" {
			t.Errorf("KVM was asked for %q times, want once a boot", b)
		}
	})
	return func(name string) (string, error) {
		if name == "qemu-system-x86_64" {
			return fake, nil
		}
		return exec.LookPath(name)
	}
}

// TestVMKVMHangs: where a machine with KVM never answers, that is found out once, and the processor is emulated.
func TestVMKVMHangs(t *testing.T) {
	t.Parallel()
	needVM(t)
	if f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0); err != nil {
		t.Skipf("/dev/kvm is needed: %v", err)
	} else {
		f.Close()
	}
	o := testOptions(t, t.TempDir())
	o.Accel, o.LookPath = "", hangingQEMU(t)
	for range 2 { // The second engine is another plimsoll's.
		p := vm.New(o).Probe(t.Context())
		if !p.OK || !strings.Contains(p.Version, ", TCG, Linux ") || !strings.Contains(strings.Join(p.Notes, "\n"), "no answer within") {
			t.Errorf("Probe() = %+v, want TCG, with the reason", p)
		}
	}
	wantNothingLeft(t, o.State, "try-")
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}
