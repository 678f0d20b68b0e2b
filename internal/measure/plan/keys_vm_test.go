package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	for options, want := range map[string]string{
		", cache: always":                 "engines.0.cache: 9p knows no cache always: use none, loose, fscache, mmap",
		", share: virtiofs, cache: loose": "engines.0.cache: virtiofs knows no cache loose: use none, auto, always",
		", share: virtiofs, msize: 64KiB": "engines.0.msize: msize is for 9p, and share is virtiofs",
		", share: smb, cache: auto":       "engines.0.cache: smb knows no cache auto: use none, strict, loose",
		", share: smb, msize: 64KiB":      "engines.0.msize: msize is for 9p, and share is smb",
		", modules: /m":                   "engines.0.modules: modules belong to a kernel",
		", kernel: vmlinuz":               "is not absolute",
		", share: ftp":                    "wants one of 9p, virtiofs, smb, nfs",
		", share: nfs, cache: strict":     "engines.0.cache: nfs knows no cache strict: use none, auto, loose",
		", share: nfs, vers: 3":           "engines.0.vers: wants one of 4.0, 4.1, 4.2",
		", share: nfs, rsize: 96KiB":      "engines.0.rsize: rsize has to be a power of two",
		", share: nfs, wsize: 2MiB":       "engines.0.wsize",
		", share: nfs, msize: 64KiB":      "engines.0.msize: msize is for 9p, and share is nfs",
		", vers: 4.2":                     "engines.0.vers: vers is for nfs, and share is 9p",
		", share: smb, rsize: 64KiB":      "engines.0.rsize: rsize is for nfs, and share is smb",
		", share: virtiofs, sync: true":   "engines.0.sync: sync is for nfs, and share is virtiofs",
		", accel: hvf":                    "wants one of kvm, tcg",
		", memory: 64MiB":                 "engines.0.memory",
		", cpus: 0":                       "engines.0.cpus",
		", disk: 1MiB":                    "engines.0.disk",
		", disk_cache: always":            "wants one of none, writeback, writethrough, directsync, unsafe",
		", image: x":                      `a vm engine has no key "image"`,
	} {
		if _, err := Parse("f", machinePlan(options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to contain %q", options, err, want)
		}
	}
}
