package vm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/measure/engine"
)

// Numbers of the files that QEMU inherits.
const (
	consoleFD = 3
	monitorFD = 4
	shareFD   = 5
)

// kernelWords are the guest's kernel command line before the worker's arguments. Mitigations between programs cost an
// emulated processor time, and there is one program. The kernel's check of its timer fails by chance on a busy computer (it
// panics: "IO-APIC + timer doesn't work!").
const kernelWords = "console=ttyS0 loglevel=3 panic=-1 mitigations=off no_timer_check random.trust_cpu=on rdinit=/init -- init"

// arguments are those of QEMU for a machine.
func (s *session) arguments(spec engine.Spec) []string {
	v, b := s.vm, s.base
	accel := AccelKVM
	if s.accel == AccelTCG {
		// The cache of translated guest code. 48 MiB hold that of a trial; with less machines start later, with more one
		// takes over 300 MB.
		accel = "tcg,thread=multi,tb-size=48"
	}
	memory := v.memoryOf(spec)
	machine := "pc,dump-guest-core=off,mem-merge=off"
	args := []string{
		"-name", "plimsoll-" + s.id, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-accel", accel, "-cpu", "max", "-smp", strconv.Itoa(v.cpusOf()), "-m", strconv.FormatInt(memory>>20, 10) + "M",
		"-kernel", b.image, "-initrd", b.initrd, "-append", kernelWords + " " + strings.Join(modulePaths(b.modules), " "),
		// The worker's standard input and output.
		"-chardev", "stdio,id=wire,signal=off", "-device", "virtio-serial-pci,max_ports=2", "-device", "virtserialport,chardev=wire,name=plimsoll",
		// The console: the kernel's messages, and the worker's last words.
		"-add-fd", fmt.Sprintf("fd=%d,set=1", consoleFD), "-chardev", "file,id=console,path=/dev/fdset/1,append=on", "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", monitorFD), "-mon", "chardev=monitor,mode=control",
		"-device", "isa-debug-exit,iobase=0xf4,iosize=1",
	}
	if slices.ContainsFunc(s.places, func(p *placeDevice) bool { return p.sharedMemory }) {
		machine += ",memory-backend=memory"
		args = append(args, "-object", fmt.Sprintf("memory-backend-memfd,id=memory,size=%dM,share=on", memory>>20))
	}
	args = append(args, "-machine", machine)
	network := ""
	for _, p := range s.places {
		args, network = append(args, p.args...), network+p.forward
	}
	if network != "" {
		args = append(args, "-netdev", "user,id=net,ipv6=off,restrict=on"+network, "-device", "virtio-net-pci,netdev=net,romfile=")
	}
	return args
}

// optionValue escapes a value for a list of QEMU's options, in which commas are doubled.
func optionValue(s string) string { return strings.ReplaceAll(s, ",", ",,") }
