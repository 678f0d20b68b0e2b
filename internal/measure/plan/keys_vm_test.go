package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/testkit/golden"
)

// machinePlan is a plan with one virtual machine that has options.
func machinePlan(options string) []byte {
	return []byte("name: t\nengines: [{name: m, kind: vm" + options + "}]\nplaces: {bind: {}, layer: {}}\nworkloads: {a: {kind: append}}\n")
}

func TestMachine(t *testing.T) {
	schema := compileSchema(t)
	for options, want := range map[string]Machine{
		"": {},
		", kernel: /boot/vmlinuz, modules: /m, accel: tcg, memory: 1GiB, cpus: 2, boot: true": {Kernel: "/boot/vmlinuz", Modules: "/m", Accel: "tcg", Memory: 1 << 30, CPUs: 2, Boot: true},
		", share: 9p, cache: loose, msize: 64KiB":                                             {Share: "9p", Cache: "loose", MSize: 64 << 10},
		", cache: mmap":                    {Cache: "mmap"},
		", share: virtiofs, cache: always": {Share: "virtiofs", Cache: "always"},
		", share: smb, cache: strict":      {Share: "smb", Cache: "strict"},
		", share: nfs, cache: loose":       {Share: "nfs", Cache: "loose"},
		", share: nfs, vers: 4.0, rsize: 64KiB, wsize: 1 MiB, sync: true": {Share: "nfs", Vers: "4.0", RSize: 64 << 10, WSize: 1 << 20, Sync: true},
		", share: nfs, vers: '4.1'":                                       {Share: "nfs", Vers: "4.1"},
		", disk: 1GiB, format: qcow2, disk_cache: directsync":             {Disk: 1 << 30, Format: "qcow2", DiskCache: "directsync"},
	} {
		text := machinePlan(options)
		p, err := Parse("f", text)
		if err != nil {
			t.Errorf("%s: %v", options, err)
			continue
		}
		if diff := cmp.Diff(EngineSpec{Name: "m", Engine: VM, Machine: want}, p.Engines[0]); diff != "" {
			t.Errorf("%s: %s", options, diff)
		}
		if err := validate(t, schema, text); err != nil {
			t.Errorf("%s: the schema says %v", options, err)
		}
		again, err := Parse("again", p.Marshal())
		if err != nil {
			t.Errorf("%s: what was written can't be read: %v", options, err)
		} else if diff := cmp.Diff(p.Engines, again.Engines); diff != "" {
			t.Errorf("%s: written and read again it differs: %s", options, diff)
		}
	}
}

func TestMachineRefuses(t *testing.T) {
	var sheet golden.Sheet
	for _, options := range []string{
		", cache: always",
		", share: virtiofs, cache: loose",
		", share: virtiofs, msize: 64KiB",
		", share: smb, cache: auto",
		", share: smb, msize: 64KiB",
		", modules: /m",
		", kernel: vmlinuz",
		", share: ftp",
		", share: nfs, cache: strict",
		", share: nfs, vers: 3",
		", share: nfs, rsize: 96KiB",
		", share: nfs, wsize: 2MiB",
		", share: nfs, msize: 64KiB",
		", vers: 4.2",
		", share: smb, rsize: 64KiB",
		", share: virtiofs, sync: true",
		", accel: hvf",
		", memory: 64MiB",
		", cpus: 0",
		", disk: 1MiB",
		", disk_cache: always",
		", image: x",
	} {
		_, err := Parse("f", machinePlan(options))
		sheet.Add(options, err)
	}
	sheet.Check(t, "refused-machines.txt")
}
