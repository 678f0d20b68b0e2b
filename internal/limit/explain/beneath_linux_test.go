package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/disktest"
)

// checkBeneath writes directly and holds what was charged at each layer of a path against what the explanation says of it.
func (m *meter) checkBeneath(t *testing.T, path string) *Explanation {
	t.Helper()
	h, err := Look(device.Host())
	if err != nil {
		t.Fatal(err)
	}
	e, err := h.Path(path)
	if err != nil {
		t.Fatal(err)
	}
	var layers []*Layer
	var devices []*device.Device
	var visit func(*Layer)
	visit = func(l *Layer) {
		// Only the test's own devices: others have their own traffic, and in version 1 would need a limit to be counted.
		own := l.Device != nil && l.Kind != device.KindPartition && l.Device.Size <= 4*loopSize
		if own {
			m.counts(t, l.Device)
			layers, devices = append(layers, l), append(devices, l.Device)
		}
		for _, b := range l.Below {
			visit(b)
		}
	}
	visit(e.Tree)
	file := path
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		file = filepath.Join(path, "file")
	}
	for i, part := range m.run(t, Direct, file, e.Tree, devices...) {
		l := layers[i]
		// Writes to a loop device's file are first charged to the group that made it, until another group does most of them.
		for n := 0; n < 20 && l.Charge == Late && !agrees(Late, part); n++ {
			part = m.run(t, Direct, file, e.Tree, devices[i])[0]
		}
		t.Logf("%s: %.2f charged, said to be %s %s", l.Name, part, l.Charge, l.Lost)
		// Partly is what depends on what can't be seen from outside.
		if l.Charge != Partly && !agrees(l.Charge, part) {
			t.Errorf("%s under %s: %.2f of what reached it was charged to the group, but the explanation says %s (%s)", l.Name, path, part, l.Charge, l.Lost)
		}
	}
	return e
}

// bare makes a loop device without a file system.
func bare(t *testing.T) string { return disktest.Loop(t, disktest.Image(t, loopSize), true) }

// TestKernelBeneath holds what is said of the layers under a file system against the kernel.
func TestKernelBeneath(t *testing.T) {
	for _, dio := range []string{"on", "off"} {
		t.Run("loop, direct "+dio, func(t *testing.T) {
			m := newMeter(t)
			_, outer := disktest.Disk(t, disktest.Options{Size: loopSize, Direct: true})
			inner := disktest.Loop(t, disktest.ImageIn(t, outer, 64<<20), dio == "on")
			disktest.Format(t, inner, "ext4")
			m.checkBeneath(t, disktest.Mount(t, inner, "ext4", 0, ""))
		})
	}
	t.Run("partition", func(t *testing.T) {
		m := newMeter(t)
		second := disktest.Partitions(t, bare(t))[1]
		disktest.Format(t, second, "ext4")
		m.checkBeneath(t, disktest.Mount(t, second, "ext4", 0, ""))
	})
	t.Run("btrfs", func(t *testing.T) {
		m := newMeter(t)
		one, other := bare(t), bare(t)
		disktest.Format(t, other, "btrfs", "-d", "raid1", one)
		e := m.checkBeneath(t, disktest.Mount(t, one, "btrfs", 0, "device="+other))
		if len(e.Hard) != 2 || !strings.Contains(strings.Join(e.Notes, " "), "writes get the limit") {
			t.Errorf("%+v, want a limit on each of the two and what that means", e)
		}
	})
}

// mapped makes a device of the device mapper, and returns its node. Without udev that is the kernel's. The kernel of the guest of make test-guest has it.
func mapped(t *testing.T, name, uuid string, table ...string) string {
	t.Helper()
	if _, err := os.Stat("/sys/class/misc/device-mapper"); err != nil {
		t.Skip("needs device mapper in the kernel")
	}
	name = fmt.Sprintf("plimsoll-test-%d-%s", os.Getpid(), name)
	args := []string{"dmsetup", "create", "--noudevsync", name, "--table", strings.Join(table, "\n")}
	if uuid != "" {
		args = append(args, "--uuid", uuid+name)
	}
	disktest.Run(t, args...)
	t.Cleanup(func() { disktest.Run(t, "dmsetup", "remove", "--noudevsync", "--retry", name) })
	minor := disktest.Run(t, "dmsetup", "info", "--columns", "--noheadings", "-o", "minor", name)
	return "/dev/dm-" + minor
}

// numbers are the numbers of a device's node.
func numbers(t *testing.T, node string) (major, minor string) {
	t.Helper()
	major, minor, _ = strings.Cut(device.Text("/sys/block", filepath.Base(node), "dev"), ":")
	return major, minor
}

// sectors is a size in sectors of 512 bytes.
func sectors(bytes int64) string { return strconv.FormatInt(bytes/512, 10) }

// TestKernelMapper holds what is said of targets of the device mapper against the kernel.
func TestKernelMapper(t *testing.T) {
	const size = loopSize
	disk := bare
	key := strings.Repeat("0123456789abcdef", 4)
	for _, tt := range []struct {
		name string
		make func(t *testing.T) string
		want string
	}{
		{"linear", func(t *testing.T) string {
			return mapped(t, "lv", "LVM-", "0 "+sectors(size)+" linear "+disk(t)+" 0")
		}, "linear"},
		{"striped", func(t *testing.T) string {
			return mapped(t, "stripes", "LVM-", "0 "+sectors(2*size)+" striped 2 128 "+disk(t)+" 0 "+disk(t)+" 0")
		}, "striped"},
		{"crypt", func(t *testing.T) string {
			return mapped(t, "crypt", "CRYPT-PLAIN-", "0 "+sectors(size)+" crypt aes-xts-plain64 "+key+" 0 "+disk(t)+" 0")
		}, "crypt"},
		{"thin", func(t *testing.T) string {
			pool := mapped(t, "pool", "LVM-", "0 "+sectors(size)+" thin-pool "+disk(t)+" "+disk(t)+" 128 0")
			major, minor := numbers(t, pool)
			disktest.Run(t, "dmsetup", "message", "--major", major, "--minor", minor, "0", "create_thin 0")
			return mapped(t, "thin", "LVM-", "0 "+sectors(size)+" thin "+pool+" 0")
		}, "thin"},
		{"snapshot", func(t *testing.T) string {
			return mapped(t, "snapshot", "LVM-", "0 "+sectors(size)+" snapshot "+disk(t)+" "+disk(t)+" P 8")
		}, "snapshot"},
		{"raid5", func(t *testing.T) string {
			return mapped(t, "raid5", "LVM-", "0 "+sectors(2*size)+" raid raid5_ls 3 128 region_size 1024 3 - "+disk(t)+" - "+disk(t)+" - "+disk(t))
		}, "raid raid5_ls"},
		{"raid1", func(t *testing.T) string {
			return mapped(t, "raid1", "LVM-", "0 "+sectors(size)+" raid raid1 3 0 region_size 1024 2 - "+disk(t)+" - "+disk(t))
		}, "raid raid1"},
		{"cache", func(t *testing.T) string {
			return mapped(t, "cache", "LVM-", "0 "+sectors(size)+" cache "+disk(t)+" "+disk(t)+" "+disk(t)+" 128 1 writeback smq 0")
		}, "cache"},
		{"writecache", func(t *testing.T) string {
			return mapped(t, "writecache", "LVM-", "0 "+sectors(size)+" writecache s "+disk(t)+" "+disk(t)+" 4096 0")
		}, "writecache"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMeter(t)
			node := tt.make(t)
			e := m.checkBeneath(t, node)
			top := e.Tree.Below[0]
			if len(top.Targets) != 1 || strings.TrimSpace(top.Targets[0].Type+" "+top.Targets[0].Level) != tt.want {
				t.Errorf("targets %+v, want %s", top.Targets, tt.want)
			}
			if top.Device.MQ || !top.Limit {
				t.Errorf("%+v, want a hard limit on a device without queues", top)
			}
		})
	}
}

// TestKernelMD holds what is said of software RAID against the kernel.
func TestKernelMD(t *testing.T) {
	for _, level := range []string{"raid0", "raid1", "raid10", "raid5"} {
		t.Run(level, func(t *testing.T) {
			m := newMeter(t)
			e := m.checkBeneath(t, disktest.MD(t, level, loopSize, bare(t), bare(t), bare(t)))
			if top := e.Tree.Below[0]; top.Level != level || !top.Limit || top.Device.MQ {
				t.Errorf("%+v, want a hard limit on the %s", top, level)
			}
		})
	}
}
