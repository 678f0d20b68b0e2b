package profile

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/testkit/fuzztest"
	"plimsoll/internal/testkit/golden"
)

// bad are profiles that Parse refuses. Those that the schema can't refuse are marked.
var bad = []struct {
	yaml string
	// beyond is set if the schema accepts it.
	beyond bool
}{
	{yaml: ""},
	{yaml: "- capacity"},
	{yaml: "capcity: 20"},
	{yaml: "iopsmx: 20"},
	{yaml: "service: {snapshott: yes}"},
	{yaml: "iops: {minimum: 5}"},
	{yaml: "capacity:"},
	{yaml: "capacity: 0"},
	{yaml: "capacity: '0'", beyond: true},
	{yaml: "capacity: -5"},
	{yaml: "capacity: 1e30"},
	{yaml: "capacity: 99999999999999999999"},
	{yaml: "capacity: 65TiB", beyond: true},
	{yaml: "capacity: 9999999999GiB", beyond: true},
	{yaml: "capacity: 1B", beyond: true},
	{yaml: "capacity: 20.5"},
	{yaml: "capacity: 0x10", beyond: true},
	{yaml: "capacity: 20G"},
	{yaml: "capacity: 20Gb"},
	{yaml: "capacity: {max: 5}"},
	{yaml: "capacity: [20]"},
	{yaml: "capacity: 20\nCapacity: 30"},
	{yaml: "capacity: 20\ncapacity: 30", beyond: true},
	{yaml: "iops: 100"},
	{yaml: "iops: 1,2,3"},
	{yaml: "iops: 100,"},
	{yaml: "iops: {min: 9}"},
	{yaml: "iops: {max: 10000001}"},
	{yaml: "iops: {max: 2k}"},
	{yaml: "iops: {min: 5000, max: 100}", beyond: true},
	{yaml: "iops: {min: 100}\niopsmin: 200"},
	{yaml: "iopsmin: 5000\niopsmax: 100"},
	{yaml: "bandwidth: {max: 1000001}"},
	{yaml: "bandwidth: {min: 200MB/s, max: 100}", beyond: true},
	{yaml: "bandwidth: {max: 100Mbit/s}"},
	{yaml: "level: 4"},
	{yaml: "level: 0"},
	{yaml: "directory: data"},
	{yaml: "directory: /srv/../etc", beyond: true},
	{yaml: "filesystem: zfs"},
	{yaml: "filesystem: ext"},
	{yaml: "provision: thinn"},
	{yaml: "local: maybe"},
	{yaml: "node: {}"},
	{yaml: "interface: {type: nfs}", beyond: true},
	{yaml: "shared: true\ninterface: {driver: macvlan}"},
	{yaml: "service: yes"},
	{yaml: "service: {snapshot: {interval: 30}}"},
	{yaml: "service: {snapshot: {enabled: true, interval: 0}}"},
	{yaml: "service: {snapshot: {enabled: true, interval: 90s}}", beyond: true},
	{yaml: "service: {snapshot: {enabled: true, interval: 9999999999999}}"},
	{yaml: "service: {snapshot: {enabled: true, max: 100}}"},
	{yaml: "service: {snapshot: often}"},
	{yaml: "service: {autoexpand: {enabled: true, threshold: 100}}"},
	{yaml: "service: {compression: {enabled: true, algorithm: gzip}}"},
	{yaml: "service: {compression: gzip}"},
	{yaml: "service: {backup: {enabled: true, provider: azure}}"},
	{yaml: "service: {encryption: true}"},
	{yaml: "service: {encryption: SECRET}"},
	{yaml: "service: {encryption: {enabled: true}}", beyond: true},
	{yaml: "service: {encryption: {enabled: true, key: SECRET}}"},
	{yaml: "service: {encryption: {enabled: true, key_file: SECRET}}"},
	{yaml: "service: {encryption: {enabled: true, key_file: /a, key_command: b}}", beyond: true},
	{yaml: "service: {replication: {enabled: true, type: asynchronous}}", beyond: true},
	{yaml: "optional: [iops]"},
	{yaml: "optional: [iops.mn]"},
	{yaml: "labels: {a: {b: c}}"},
	{yaml: "capacity: &a 20\nlevel: !!str 1", beyond: true},
}

func TestParseRefuses(t *testing.T) {
	var sheet golden.Sheet
	for _, tt := range bad {
		p, err := Parse("f", []byte(tt.yaml))
		var faults strict.Errors
		if p != nil || !errors.As(err, &faults) || len(faults) == 0 {
			t.Errorf("Parse(%q) = %v, %v, want faults", tt.yaml, p, err)
			continue
		}
		if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("Parse(%q) repeats what may be a key: %v", tt.yaml, err)
		}
		sheet.Add(tt.yaml, err)
	}
	sheet.Check(t, "refuses.txt")
}

// storidge is a profile in the words of Storidge's pages.
const storidge = `---
capacity: 20
directory: /cio/volumes/
filesystem: XFS
iops:
  min: 1000
  max: 2000
bandwidth: 1,100
label: {cio.volume: shared}
level: 2
local: no
nodeid: "7"
provision: thin
type: nvme
shared: yes
interface: {type: nfs, driver: macvlan, network: cionet}
service:
  autoexpand: {enabled: no, threshold: 80, increment: 25, limit: 3}
  backup: {enabled: yes, interval: 12, max: 5, provider: minio}
  compression: no
  dedupe: yes
  encryption: {enabled: no}
  replication: {enabled: no, destination: none, interval: 120, type: synchronous}
  snapshot: {enabled: yes, interval: 30, max: 10}
`

func TestParseStoridge(t *testing.T) {
	got, err := Parse("f", []byte(storidge))
	want := &Profile{
		Capacity: 20e9, Directory: "/cio/volumes", Filesystem: XFS, IOPS: Range{1000, 2000}, Bandwidth: Range{1e6, 100e6},
		Labels: map[string]string{"cio.volume": "shared"}, Level: 2, Node: "7", Provision: Thin, Type: SSD, Shared: true,
		Interface: Interface{Type: "nfs", Driver: "macvlan", Network: "cionet"},
		Service: Service{
			Autoexpand:  Autoexpand{Threshold: 80, Increment: 25, Limit: 3},
			Backup:      Backup{Enabled: true, Minutes: 720, Max: 5, Provider: "minio"},
			Dedupe:      true,
			Replication: Replication{Minutes: 120, Type: Synchronous},
			Snapshot:    Snapshot{Enabled: true, Minutes: 30, Max: 10},
		},
	}
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Parse (-want +got):\n%s", d)
	}
	golden.Check(t, "storidge.yaml", string(got.Marshal()))
}

// TestSpellings: each spelling is the same profile as the one of the manual.
func TestSpellings(t *testing.T) {
	for one, others := range map[string][]string{
		"capacity: 20GB":                    {"capacity: 20", "capacity: '20'", "capacity: 20 GB", "CAPACITY: 20000MB", "capacity: 20000000000B"},
		"capacity: 20GiB":                   {"capacity: 20480MiB"},
		"iops: {min: 100, max: 5000}":       {"iops: 100,5000", "iops: '100, 5000'", "iopsmin: 100\niopsmax: 5000", "iopsMin: 100\niops-max: '5000'", "iops.min: 100\niops: {max: 5000}"},
		"bandwidth: {max: 100MB/s}":         {"bandwidth: {max: 100}", "bandwidth: {max: 100MB}", "bandwidthMax: 100", "bandwidthmax: 100000kB/s"},
		"local: true":                       {"local: yes", "local: YES", "local: 'true'"},
		"{}":                                {"local: no", "shared: false", "service: {}", "iops: {}", "service: {compression: no, snapshot: {enabled: no}}"},
		"labels: {a: b, c: d}":              {"label: a=b,c=d", "labels: 'a=b, c=d'"},
		"node: n1":                          {"nodeid: n1"},
		"optional: [iops.min, level]":       {"optional: level,iops.min", "optional: [Level, iopsmin, level]"},
		"service: {dedupe: true}":           {"dedupe: yes", "service.dedupe: yes"},
		"provision: thick\nfilesystem: xfs": {"provision: THICK\nfilesystem: Xfs"},
		"service: {snapshot: {enabled: true, interval: 1h, max: 10}}": {"service: {snapshot: yes}", "snapshot: yes", "snapshot: true\ninterval: 60\nsnapshotmax: 10",
			"service: {snapshot: {enabled: yes, interval: 60m}}", "service.snapshot.enabled: yes"},
		"service: {compression: {enabled: true, algorithm: lzo}}":                                   {"service: {compression: lzo}", "compression: LZO"},
		"service: {compression: {enabled: true}}":                                                   {"service: {compression: zstd}", "compression: yes"},
		"service: {replication: {enabled: true, destination: b, interval: 2h, type: asynchronous}}": {"replication: {enabled: yes, destination: b, type: async}"},
	} {
		want, err := Parse("one", []byte(one))
		if err != nil {
			t.Errorf("Parse(%q): %v", one, err)
			continue
		}
		for _, other := range others {
			got, err := Parse("other", []byte(other))
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("Parse(%q): %v, not the same as %q:\n%s", other, err, one, d)
			}
		}
	}
}

// FuzzParse checks that nothing panics or runs away, that faults are of the promised type, and that a profile survives Marshal.
func FuzzParse(f *testing.F) {
	for _, tt := range bad {
		f.Add([]byte(tt.yaml))
	}
	f.Add([]byte(storidge))
	for _, name := range BuiltIn() {
		_, text := builtIn(name)
		f.Add(text)
	}
	f.Add([]byte("capacity: &a 20\nlabels: {a: 'true', b: '', 'c d': \"x\\ty\"}\ndescription: \"a\\nb\"\nnode: \"null\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Bounded(t, data, func() {
			p, err := Parse("f", data)
			if err != nil {
				var faults strict.Errors
				if p != nil || !errors.As(err, &faults) || len(faults) == 0 {
					t.Fatalf("Parse = %v, %T", p, err)
				}
				return
			}
			checkRoundTrip(t, p)
		})
	})
}

// checkRoundTrip fails if a profile differs after Marshal and Parse, or as JSON.
func checkRoundTrip(t *testing.T, p *Profile) {
	t.Helper()
	text := p.Marshal()
	back, err := Parse("marshal", text)
	if err != nil {
		t.Fatalf("Parse(Marshal): %v\n%s", err, text)
	}
	back.Name = p.Name
	if d := cmp.Diff(p, back); d != "" {
		t.Fatalf("Parse(Marshal) differs: %s\n%s", d, text)
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	back = new(Profile)
	if err := json.Unmarshal(b, back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, back); d != "" {
		t.Fatalf("as JSON it differs: %s\n%s", d, b)
	}
}
