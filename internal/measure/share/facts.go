package share

import (
	"regexp"
	"strings"
)

// Hidden replaces a word that is not known to be harmless.
const Hidden = "*"

// facts are the words that may stay in the description of a machine, in lower case. They name kinds of hardware and software, which
// thousands of machines share. A host, a user and a serial number have words of their own, which are not in this list.
var facts = wordSet(`
	linux windows darwin freebsd amd64 arm64 x86 64 x86_64 aarch64 i686 riscv64 s390x ppc64le armv7l
	generic cloud virtual server desktop lowlatency realtime rt standard default hardened lts zen arch pve edge aws azure gcp gke oracle ibm
	kvm microsoft wsl2 wsl linuxkit orbstack fc el7 el8 el9 el10 el7_9 rpi raspi v7 v8 deb11 deb12 deb13 bpo ubuntu debian fedora rhel
	centos alpine rocky alma suse opensuse amazon amzn2 amzn2023 flatcar bottlerocket talos truenas unraid synology
	intel r intel(r) gen xeon xeon(r) core core(tm) tm atom celeron pentium gold silver bronze platinum ultra amd epyc ryzen threadripper pro opteron
	apple m1 m2 m3 m4 max ampere altra neoverse n1 n2 v1 v2 graviton graviton2 graviton3 graviton4 cortex ampere-1a raspberry pi model
	cpu processor cpus core cores virtual version qemu implementer part skylake cascadelake icelake broadwell haswell rome milan genoa
	skylake) (skylake) ghz mhz @ with radeon graphics
	0x41 0x42 0x43 0x46 0x48 0x4e 0x50 0x51 0x53 0x61 0x69 0xc0 0xd03 0xd07 0xd08 0xd0b 0xd0c 0xd40 0xd49 0xd4f
	unnamed vmware virtualbox xen bochs parallels bhyve hyper hyper-v hyperv openstack ec2 google compute engine virtualization digitalocean hetzner
	v1 v2 hybrid tsc kvm-clock hpet acpi_pm arch_sys_counter hyperv_clocksource_tsc_page xen jiffies
	ext2 ext3 ext4 xfs btrfs zfs f2fs bcachefs overlay overlayfs tmpfs ramfs nfs nfs4 cifs smb smb3 9p virtiofs fuse fuseblk ntfs ntfs3 vfat exfat
	ceph glusterfs sshfs fuse-overlayfs aufs apfs refs osxfs grpcfuse
	none noop deadline mq-deadline kyber bfq cfq write back through
	rw ro relatime noatime strictatime nodiratime lazytime nosuid nodev noexec sync async dirsync discard nodiscard barrier nobarrier data ordered
	journal writeback commit stripe errors remount-ro continue attr2 inode32 inode64 logbufs logbsize noquota quota usrquota grpquota prjquota
	ssd nossd space_cache compress compress-force zstd lzo zlib autodefrag nodatacow nodatasum metacopy redirect_dir index xino uuid nfs_export
	on off auto volatile userxattr user_xattr acl noacl delalloc nodelalloc huge size mode soft hard vers proto tcp udp rsize wsize timeo retrans
	cache loose mmap fscache trans virtio msize access any client seclabel resv_strict resuid resgid
	samsung ssd hdd nvme evo plus qvo wd western digital wdc seagate toshiba kioxia micron crucial sandisk hgst hitachi kingston
	sk hynix solidigm optane qemu harddisk disk block device elastic store storage persistentdisk persistent ephemeral virtual msft instance
	ebs passport elements blue black red green barracuda ironwolf exos
	runc crun youki runsc kata kata-runtime gvisor docker podman containerd moby engine rootless desktop community ce
	overlay2 overlayfs vfs devicemapper native snapshotter local with commit without cgroup systemd cgroupfs
	process unlimited inside outside
	direct dsync buffered buffered+fsync read late partly leaks container
	measure prepare layout open settle start verify collect timeout window ramp close
	bps iops rate memory weight latency shares device_wide io_maxiops io_maxbandwidth group
	io_uring linux-aio psync null mmap windows-iocp syscalls registered plain
`)

// wordSet is the set of the words of a text.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// figure are words that are figures: versions, sizes and frequencies. Serial numbers have more digits, and addresses more dots.
var figure = regexp.MustCompile(`^v?\d{1,5}(\.\d{1,5}){0,2}([kmgt]i?b|[mg]hz|th|nd|rd|st|g|t|d|k|w)?$`)

// kernelVersion is a version with three dots, as WSL's kernel has: 5.15.153.1. Elsewhere that is an address.
var kernelVersion = regexp.MustCompile(`^[4-9]\.\d{1,2}\.\d{1,3}\.\d$`)

// cpuCode are the codes of processors: E5-2686, i7-9750H, 7R32, 9654P, 8488C. They are looked for in the model of the CPU alone,
// where a short host name would pass as well.
var cpuCode = regexp.MustCompile(`^(e|i|w|n|j|d|x|a|m)?\d{1,5}[a-z]?\d{0,2}[a-z]{0,2}$`)

// diskCode are the codes of drives whose maker begins them with letters of its own. The makers' lists are public; the code names a
// product, and the serial number is another field.
var diskCode = regexp.MustCompile(`^(ssdpe[a-z0-9]{4,9}|ssdsc[a-z0-9]{4,9}|ssdpf[a-z0-9]{4,9}|mz[a-z0-9]{9,12}|mzvl[a-z0-9]{4,9}|st\d{3,5}[a-z]{2}\d{3,4}|wd\d{2,4}[a-z]{2,5}|wds\d{3}[a-z]\d[a-z]|mtfd[a-z0-9]{6,13}|ct\d{3,4}[a-z0-9]{2,8}|kxg[a-z0-9]{6,10}|huh\d{6}[a-z0-9]{3}|hus\d{6}[a-z0-9]{3})$`)

// fact keeps the harmless words of a text that describes a machine, and replaces each other by Hidden. more accepts further words.
func fact(text string, more ...*regexp.Regexp) string {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = each(w, ",", func(option string) string {
			return each(option, "=", func(part string) string { return factWord(part, more) })
		})
	}
	return strings.Join(words, " ")
}

// each applies f to the parts of s between separators.
func each(s, separator string, f func(string) string) string {
	parts := strings.Split(s, separator)
	for i, p := range parts {
		parts[i] = f(p)
	}
	return strings.Join(parts, separator)
}

// factWord judges a word as a whole, and then its parts: 6.1.0-18-cloud-amd64. Paths and addresses are not taken apart, because
// their parts may be harmless and the whole is not.
func factWord(w string, more []*regexp.Regexp) string {
	if harmless(w, more) {
		return w
	}
	if strings.ContainsAny(w, `/\:@`) {
		return Hidden
	}
	return each(w, "-", func(w string) string {
		return each(w, "_", func(w string) string {
			return each(w, "+", func(w string) string { return dotted(w, more) })
		})
	})
}

// dotted judges the parts of a word between its dots: 427.13.1.el9.
func dotted(w string, more []*regexp.Regexp) string {
	if harmless(w, more) {
		return w
	}
	if address.MatchString(w) {
		return Hidden
	}
	return each(w, ".", func(part string) string {
		if harmless(part, more) {
			return part
		}
		return Hidden
	})
}

// address is what an address of IPv4 looks like.
var address = regexp.MustCompile(`^\d+\.\d+\.\d+\.\d+$`)

func harmless(w string, more []*regexp.Regexp) bool {
	w = strings.ToLower(w)
	if w == "" || w == Hidden || facts[w] || figure.MatchString(w) {
		return true
	}
	for _, r := range more {
		if r.MatchString(w) {
			return true
		}
	}
	return false
}

// kernelDisk are the kernel's own names of devices. A name that a user chose, of a volume group or an array, is not among them.
var kernelDisk = regexp.MustCompile(`^(sd[a-z]{1,2}|hd[a-z]|vd[a-z]{1,2}|xvd[a-z]{1,2}|nvme\d{1,3}n\d{1,3}|mmcblk\d|loop\d{1,4}|dm-\d{1,4}|md\d{1,3}|nbd\d{1,3}|rbd\d{1,3}|zram\d{1,2}|ram\d{1,2}|bcache\d{1,2}|drbd\d{1,3}|sr\d)$`)

// disk is the name of a device if the kernel gave it, else "disk". Several have " + " between them.
func disk(name string) string {
	if name == "" {
		return ""
	}
	all := strings.Split(name, " + ")
	for i, n := range all {
		if !kernelDisk.MatchString(n) {
			all[i] = "disk"
		}
	}
	return strings.Join(all, " + ")
}

// oneOf is s if it is one of the words, else "".
func oneOf[S ~string](s S, words ...S) S {
	for _, w := range words {
		if s == w {
			return s
		}
	}
	return ""
}
