package plan

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/load"
)

// head is a sound plan without workloads, for tests to add to.
const head = "name: t\nengines: [host, oci]\nplaces: {dir: {}, layer: {}, bind: {}}\n"

// sound is the smallest sound plan.
const sound = head + "workloads: {a: {kind: append}}\n"

// bad lists plans that both the parser and the schema refuse, with where and
// what the parser says in testdata/refused.txt.
var bad = []struct{ name, yaml string }{
	{"list", "- a"},
	{"scalar", "5"},
	{"no name", "engines: [host]\nplaces: {dir: {}}\nworkloads: {a: {kind: append}}\n"},
	{"bad name", strings.Replace(sound, "name: t", "name: a/b", 1)},
	{"name is a number", strings.Replace(sound, "name: t", "name: 1", 1)},
	{"unknown key", sound + "block: 3\n"},
	{"unknown job key", head + "workloads:\n  a: {rw: read, size: 1MiB, iodeph: 4}\n"},
	{"key of another kind", head + "workloads:\n  a: {kind: append, iodepth: 4}\n"},
	{"unknown kind", head + "workloads:\n  a: {kind: apend}\n"},
	{"kind is a list", head + "workloads:\n  a: {kind: [append]}\n"},
	{"no rw", head + "workloads:\n  a: {size: 1MiB}\n"},
	{"no size", head + "workloads:\n  a: {rw: read}\n"},
	{"nothing for a workload", head + "workloads:\n  a:\n"},
	{"ambiguous size", head + "workloads:\n  a: {rw: read, size: 10M}\n"},
	{"size without digits", head + "workloads:\n  a: {rw: read, size: MiB}\n"},
	{"negative size", head + "workloads:\n  a: {rw: read, size: -1}\n"},
	{"size is a map", head + "workloads:\n  a: {rw: read, size: {}}\n"},
	{"size is a boolean", head + "workloads:\n  a: {rw: read, size: true}\n"},
	{"time without unit", head + "workloads:\n  a: {rw: read, size: 1MiB, runtime: 5}\n"},
	{"a split without shares", head + "workloads:\n  a: {rw: read, size: 1MiB, bssplit: 4KiB}\n"},
	{"a split that is a number", head + "workloads:\n  a: {rw: read, size: 1MiB, bssplit: 4096}\n"},
	{"a split without a percentage", head + "workloads:\n  a: {rw: read, size: 1MiB, bssplit: 4KiB/:8KiB/50}\n"},
	{"a split with a negative share", head + "workloads:\n  a: {rw: read, size: 1MiB, bssplit: 4KiB/-5:8KiB/50}\n"},
	{"another checksum", head + "workloads:\n  a: {rw: read, size: 1MiB, verify: md5}\n"},
	{"verify is a boolean", head + "workloads:\n  a: {rw: read, size: 1MiB, verify: true}\n"},
	{"fio's steadystate", head + "workloads:\n  a: {rw: read, size: 1MiB, runtime: 9s, steadystate: \"iops:2%\"}\n"},
	{"steady without a round", head + "workloads:\n  a: {rw: read, size: 1MiB, runtime: 9s, steady_state: {}}\n"},
	{"steady is a time", head + "workloads:\n  a: {rw: read, size: 1MiB, runtime: 9s, steady_state: 1s}\n"},
	{"a percentage of random", head + "workloads:\n  a: {rw: randread, size: 1MiB, runtime: 9s, percentage_random: 101}\n"},
	{"zeros are text", head + "workloads:\n  a: {rw: write, size: 1MiB, zero_buffers: 'yes'}\n"},
	{"wrong pattern", head + "workloads:\n  a: {rw: randomread, size: 1MiB}\n"},
	{"depth is text", head + "workloads:\n  a: {rw: read, size: 1MiB, iodepth: '4'}\n"},
	{"depth is 0", head + "workloads:\n  a: {rw: read, size: 1MiB, iodepth: 0}\n"},
	{"depth is a fraction", head + "workloads:\n  a: {rw: read, size: 1MiB, iodepth: 1.5}\n"},
	{"direct is text", head + "workloads:\n  a: {rw: read, size: 1MiB, direct: yes please}\n"},
	{"percentage", head + "workloads:\n  a: {rw: rw, size: 1MiB, rwmixread: 101}\n"},
	{"no value", head + "workloads:\n  a: {rw: read, size: 1MiB, iodepth: }\n"},
	{"name with a dot", head + "workloads:\n  a.b: {kind: append}\n"},
	{"empty workloads", head + "workloads: {}\n"},
	{"workloads is a list", head + "workloads: [a]\n"},
	{"workload is a list", head + "workloads: {a: []}\n"},
	{"empty engines", "name: t\nengines: []\nplaces: {dir: {}}\nworkloads: {a: {kind: append}}\n"},
	{"engines is text", "name: t\nengines: host\nplaces: {dir: {}}\nworkloads: {a: {kind: append}}\n"},
	{"unknown engine", "name: t\nengines: [hots]\nplaces: {dir: {}}\nworkloads: {a: {kind: append}}\n"},
	{"engine without kind", "name: t\nengines: [{name: mine}]\nplaces: {dir: {}}\nworkloads: {a: {kind: append}}\n"},
	{"engine without name", "name: t\nengines: [{kind: docker}]\nplaces: {layer: {}}\nworkloads: {a: {kind: append}}\n"},
	{"host has no image", "name: t\nengines: [{name: host, image: x}]\nplaces: {dir: {}}\nworkloads: {a: {kind: append}}\n"},
	{"place without kind", "name: t\nengines: [host]\nplaces: {d: {}}\nworkloads: {a: {kind: append}}\n"},
	{"place of unknown kind", "name: t\nengines: [host]\nplaces: {d: {kind: dirr}}\nworkloads: {a: {kind: append}}\n"},
	{"layer has no path", head[:len(head)-1] + "\n" + "workloads: {a: {kind: append}}\nlimits: {}\n"},
	{"path of a layer", strings.Replace(sound, "layer: {}", "layer: {path: /srv}", 1)},
	{"relative path", strings.Replace(sound, "bind: {}", "bind: {path: srv}", 1)},
	{"home", strings.Replace(sound, "bind: {}", "bind: {path: ~/data}", 1)},
	{"rate of 1", sound + "limits: {x: {read_bps: 1}}\n"},
	{"IOPS with a unit", sound + "limits: {x: {read_iops: 10MiB/s}}\n"},
	{"ambiguous rate", sound + "limits: {x: {read_bps: 10M/s}}\n"},
	{"weight", sound + "limits: {x: {weight: 10001}}\n"},
	{"latency", sound + "limits: {x: {latency: 5}}\n"},
	{"CPUs", sound + "limits: {x: {cpus: 0}}\n"},
	{"no client", sound + "clients: [0]\n"},
	{"clients empty", sound + "clients: []\n"},
	{"item is empty", sound + "clients: [1, ]\nexclude: [~]\n"},
	{"blocks", sound + "blocks: 0\n"},
	{"timeout", sound + "timeout: 0\n"},
	{"margin", sound + "margin: 5\n"},
	{"margin is not a number", sound + "margin: .nan\n"},
	{"I/O engine", sound + "io_engine: libaio\n"},
	{"seed", sound + "seed: -1\n"},
	{"unknown key in a match", sound + "exclude: [{engin: host}]\n"},
	{"baseline without place", sound + "baseline: {engine: host}\n"},
	{"quick is a list", sound + "quick: []\n"},
	{"quick name", sound + "quick: {name: x}\n"},
	{"quick unknown key", sound + "quick: {block: 1}\n"},
	{"quick bad value", sound + "quick:\n  workloads:\n    a: {count: many}\n"},
}

// badForParser lists plans that only the parser refuses, since a schema can't.
var badForParser = []struct{ name, yaml string }{
	{"empty", ""},
	{"device-wide without a rate", sound + "limits: {x: {memory: 64MiB, device_wide: true}}\n"},
	{"own device with a path", strings.Replace(sound, "bind: {}", "bind: {path: /srv, own_device: 64MiB}", 1)},
	{"comment only", "# nothing\n"},
	{"no YAML", "a: [1"},
	{"split of an ambiguous size", head + "workloads:\n  a: {rw: read, size: 1MiB, bssplit: 4k/50:8KiB/50}\n"},
	{"a share of zero", head + "workloads:\n  a: {rw: read, size: 1MiB, bssplit: 4KiB/0:8KiB/100}\n"},
	{"a share that is not a number", head + "workloads:\n  a: {rw: read, size: 1MiB, bssplit: 4KiB/1.2.3}\n"},
	{"a size twice in a split", head + "workloads:\n  a: {rw: read, size: 1MiB, bssplit: 4KiB/50:4096/50}\n"},
	{"a split out of range", head + "workloads:\n  a: {rw: read, size: 4GiB, bssplit: 2GiB/100}\n"},
	{"a round that is too short", head + "workloads:\n  a: {rw: read, size: 1MiB, runtime: 9s, steady_state: {round: 99ms}}\n"},
	{"same job, as pointers", head + "workloads:\n  a: {rw: randread, size: 1MiB, runtime: 1s, percentage_random: 100}\n  b: {rw: randread, size: 1MiB, runtime: 1s, percentage_random: 100}\n"},
	{"same job, as defaults", head + "workloads:\n  a: {rw: randread, size: 1MiB, loops: 1, thinktime: 1us, thinktime_blocks: 1, percentage_random: 100}\n  b: {rw: randread, size: 1MiB, thinktime: 1us}\n"},
	{"same split", head + "workloads:\n  a: {rw: rw, size: 1MiB, bssplit: 4KiB/50:8KiB/50}\n  b: {rw: rw, size: 1MiB, bssplit: \"4096/50:8KiB/50.0,4KiB/50:8KiB/50\"}\n"},
	{"tab", "name: t\n\tengines: []\n"},
	{"not UTF-8", "name: \xff\xfe\n"},
	{"two documents", sound + "---\nname: b\n"},
	{"too large", strings.Repeat("#", strict.MaxSize+1)},
	{"key twice", sound + "name: b\n"},
	{"key twice in a workload", head + "workloads:\n  a: {kind: append, count: 1, count: 2}\n"},
	{"key is a list", "[a, b]: 1\n"},
	{"tag", "name: !!binary aGk=\n"},
	{"custom tag", "name: !include x\n"},
	{"unknown anchor", "name: *a\n"},
	{"alias in itself", "name: &a [*a]\n"},
	{"deep", "name: " + strings.Repeat("[", 200) + strings.Repeat("]", 200)},
	{"alias bomb", bomb()},
	{"merge of text", head + "workloads:\n  a: {kind: append, <<: x}\n"},
	{"fraction of a byte", head + "workloads:\n  a: {rw: read, size: 0.3KiB}\n"},
	{"overflow", head + "workloads:\n  a: {rw: read, size: 9EiB}\n"},
	{"out of range", head + "workloads:\n  a: {rw: read, size: 7EiB}\n"},
	{"same workload", head + "workloads:\n  a: {kind: append}\n  b: {kind: append, count: 10000}\n"},
	{"same job", head + "workloads:\n  a: {rw: rw, size: 1MiB}\n  b: {rw: rw, size: 1024KiB, bs: 4096, iodepth: 1, rwmixread: 50}\n"},
	{"same place", strings.Replace(sound, "bind: {}", "bind: {path: /a}, b: {kind: bind, path: /a/./b/..}", 1)},
	{"same volume", strings.Replace(sound, "bind: {}", "volume: {driver_opts: {a: x, b: 1}}, v: {kind: volume, driver: local, driver_opts: {b: '1', a: x}}", 1)},
	{"same limits", sound + "limits: {a: {cpus: 1}, b: {cpus: 1.0}}\n"},
	{"engine twice", strings.Replace(sound, "[host, oci]", "[host, oci, host]", 1)},
	{"same engine", strings.Replace(sound, "[host, oci]", "[host, {name: h, kind: host}]", 1)},
	{"client twice", sound + "clients: [1, 2, 1]\n"},
	{"larger block than file", head + "workloads:\n  a: {rw: read, size: 4KiB, bs: 8KiB}\n"},
	{"direct and odd", head + "workloads:\n  a: {rw: read, size: 4MiB, bs: 1000, direct: true}\n"},
	{"direct and odd offset", head + "workloads:\n  a: {rw: read, size: 4MiB, offset: 100, direct: true}\n"},
	{"mix of one", head + "workloads:\n  a: {rw: read, size: 4MiB, rwmixread: 70}\n"},
	// Values that the worker would refuse in every trial.
	{"two syncs", head + "workloads:\n  a: {rw: write, size: 4MiB, fsync: 1, fdatasync: 2}\n"},
	{"buffers", head + "workloads:\n  a: {rw: read, size: 4TiB, bs: 512MiB, iodepth: 4096}\n"},
	{"less than a block a job", head + "workloads:\n  a: {rw: read, size: 4KiB, numjobs: 2}\n"},
	{"more appends than one trial takes", head + "workloads:\n  a: {kind: append, count: 20000000}\n"},
	{"a commit that is too large", head + "workloads:\n  a: {kind: wal, bs: 65MiB}\n"},
	{"sync of reads", head + "workloads:\n  a: {rw: randread, size: 4MiB, fsync: 1}\n"},
	{"runs into the timeout", head + "workloads:\n  a: {rw: read, size: 4MiB, runtime: 50s, ramp_time: 10s}\n"},
	{"unknown name in a match", sound + "exclude: [{engine: hots}]\n"},
	{"pattern that fits nothing", sound + "include: [{workload: 'rand*'}]\n"},
	{"bad pattern", sound + "include: [{workload: '[a'}]\n"},
	{"unknown clients in a match", sound + "exclude: [{clients: 3}]\n"},
	{"match of everything", sound + "exclude: [{}]\n"},
	{"baseline of no engine", sound + "baseline: {engine: docker, place: dir}\n"},
	{"baseline that can't be", sound + "baseline: {engine: host, place: layer}\n"},
	{"baseline excluded", sound + "exclude: [{engine: host}]\nbaseline: {engine: host, place: dir}\n"},
	{"baseline of no clients", sound + "baseline: {engine: host, place: dir, clients: 2}\n"},
	{"empty matrix by nature", "name: t\nengines: [host]\nplaces: {layer: {}}\nworkloads: {a: {kind: append}}\n"},
	{"empty matrix by exclude", sound + "exclude: [{workload: a}]\n"},
	{"huge matrix", huge()},
	{"control characters", "name: t\ndescription: \"\\e[2J\"\n"},
	{"long description", "name: t\ndescription: " + strings.Repeat("a", 5000) + "\n"},
	{"quick of an unknown workload", sound + "quick: {workloads: {b: {count: 1}}}\n"},
	{"quick without a value", sound + "quick: {blocks: }\n"},
	{"quick breaks a match", sound + "exclude: [{engine: oci}]\nquick: {engines: [host]}\n"},
	{"quick makes twins", sound[:len(sound)-2] + ", b: {kind: append, count: 5}}\nquick: {workloads: {a: {count: 5}}}\n"},
}

// bomb is a billion laughs.
func bomb() string {
	var b strings.Builder
	b.WriteString("name: t\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}

// huge is a plan with 600 workloads and 600 places.
func huge() string {
	var b strings.Builder
	b.WriteString("name: t\nengines: [oci]\nworkloads:\n")
	for i := range 600 {
		fmt.Fprintf(&b, "  w%d: {kind: append, count: %d}\n", i, i+1)
	}
	b.WriteString("places:\n")
	for i := range 600 {
		fmt.Fprintf(&b, "  p%d: {kind: bind, path: /%d}\n", i, i)
	}
	return b.String()
}

func TestParseRefuses(t *testing.T) {
	var sheet golden.Sheet
	for _, tt := range append(bad[:len(bad):len(bad)], badForParser...) {
		p, err := Parse("f", []byte(tt.yaml))
		sheet.Add(tt.name, err)
		var list strict.Errors
		if p != nil || !errors.As(err, &list) || len(list) == 0 {
			t.Errorf("%s: Parse = %+v, %T, want no plan and Errors", tt.name, p, err)
		}
		for _, e := range list {
			if !regexp.MustCompile(`^f:[1-9]\d*:[1-9]\d*: .|^f: and `).MatchString(e.Error()) {
				t.Errorf("%s: %q has no place", tt.name, e)
			}
		}
	}
	sheet.Check(t, "refused.txt")
}

// TestParseTellsAllFaults checks that faults come together, in the order of the
// file, and one fault once.
func TestParseTellsAllFaults(t *testing.T) {
	_, err := Parse("f.yaml", []byte(`name: t
engines: [hots, oci]
places: {dir: {paht: /x}}
workloads:
  a: {kind: append, count: -1}
  b: {rw: read, size: 10M, runtime: 5}
quick: {blocks: 2}
blok: 3
`))
	want := []string{
		"f.yaml:2:11: ", "f.yaml:3:16: ", "f.yaml:5:28: ", "f.yaml:6:23: ", "f.yaml:6:37: ", "f.yaml:8:1: ",
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("got %d faults, want %d:\n%v", len(lines), len(want), err)
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w) {
			t.Errorf("fault %d is %q, want it at %q", i, lines[i], w)
		}
	}
	var e *strict.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v has no strict.Error", err)
	}
	if at := fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column); at != "f.yaml:2:11" {
		t.Errorf("errors.As gives the fault at %s, want the first", at)
	}
}

func TestParseBoundsFaults(t *testing.T) {
	_, err := Parse("f", []byte("name: t\n"+huge()+strings.Repeat("x: 1\n", 500)))
	var list strict.Errors
	if !errors.As(err, &list) || len(list) != strict.MaxErrors+1 || !strings.Contains(err.Error(), "more faults") {
		t.Errorf("got %d faults, want %d and a word about the rest", len(list), strict.MaxErrors)
	}
}

func TestParse(t *testing.T) {
	got, err := Parse("f", []byte(`
name: full
description: |
  Two lines,
  no less.
workloads:
  zz: &z {rw: randrw, bs: 8KiB, iodepth: 4, numjobs: 2, size: 1.5MiB, offset: 4096, runtime: 1s, ramp_time: 0,
          number_ios: 10, direct: false, sync: dsync, fsync: 1, end_fsync: true, rwmixread: 0, rate_iops: 100, randseed: 7,
          rate_process: poisson, io_size: 64KiB, buffer_compress_percentage: 30, dedupe_percentage: 20, random_distribution: "zipf:1.1"}
  merged: {<<: *z, bs: 4KiB}
  append: {kind: append, count: 5, bs: 10, runtime: 2s}
  wal: {kind: wal}
  tree: {kind: tree, count: 3}
engines:
  - oci
  - {name: strict, kind: docker, image: busybox, seccomp: /etc/strict.json, runtime: kata}
  - host
places:
  layer:
  data: {kind: bind, path: /srv/data/}
  win: {kind: bind, path: 'C:\data'}
  nfs: {kind: volume, driver: local, driver_opts: {type: nfs, o: "addr=10.0.0.1,rw", vers: 4.10, soft: true, empty: ""}}
  tmpfs: {size: 1GiB}
  dir: {}
limits: {none: {}, capped: {read_bps: 10MiB/s, write_bps: 10MB, read_iops: 100, write_iops: 200, weight: 300, latency: 5ms, memory: 64MiB, cpus: 1.5, cpu_shares: 512}}
clients: [2, 1]
include: [{workload: [zz, "m*"]}, {workload: wal, clients: 1}]
exclude: [{engine: strict, place: [layer, data], limits: capped}]
baseline: {engine: host, place: dir, limits: capped, clients: 2}
blocks: 10
seed: 18446744073709551615
timeout: 2m
io_engine: psync
margin: 0.1
`))
	if err != nil {
		t.Fatal(err)
	}
	zero := 0
	job := load.Job{
		RW: "randrw", BS: 8192, IODepth: 4, NumJobs: 2, Size: 1572864, Offset: 4096, Runtime: time.Second, NumberIOs: 10,
		Sync: "dsync", Fsync: 1, EndFsync: true, RWMixRead: &zero, RateIOPS: 100, RandSeed: 7,
		RateProcess: "poisson", IOSize: 64 << 10, Compress: 30, Dedupe: 20, Distribution: "zipf:1.1",
	}
	merged := job
	merged.BS = 4096
	want := &Plan{
		Name:        "full",
		Description: "Two lines,\nno less.\n",
		Workloads: []workload.Spec{
			{Name: "zz", Kind: workload.Block, Job: job},
			{Name: "merged", Kind: workload.Block, Job: merged},
			{Name: "append", Kind: workload.Append, Count: 5, BS: 10, Runtime: 2 * time.Second},
			{Name: "wal", Kind: workload.WAL},
			{Name: "tree", Kind: workload.Tree, Count: 3},
		},
		Engines: []EngineSpec{
			{Name: "oci", Engine: "oci"},
			{Name: "strict", Engine: "docker", Image: "busybox", Seccomp: "/etc/strict.json", Runtime: "kata"},
			{Name: "host", Engine: "host"},
		},
		Places: []place.Spec{
			{Name: "layer", Kind: place.Layer},
			{Name: "data", Kind: place.Bind, Path: "/srv/data"},
			{Name: "win", Kind: place.Bind, Path: `C:\data`},
			{Name: "nfs", Kind: place.Volume, Driver: "local", DriverOpts: map[string]string{"type": "nfs", "o": "addr=10.0.0.1,rw", "vers": "4.10", "soft": "true", "empty": ""}},
			{Name: "tmpfs", Kind: place.Tmpfs, Size: 1 << 30},
			{Name: "dir", Kind: place.Dir},
		},
		Limits: []limit.Limits{
			{Name: "none"},
			{Name: "capped", ReadBPS: 10 << 20, WriteBPS: 1e7, ReadIOPS: 100, WriteIOPS: 200, Weight: 300, Latency: 5 * time.Millisecond, Memory: 64 << 20, CPUs: 1.5, CPUShares: 512},
		},
		Clients:  []int{2, 1},
		Include:  []Match{{Workload: []string{"zz", "m*"}}, {Workload: []string{"wal"}, Clients: []int{1}}},
		Exclude:  []Match{{Engine: []string{"strict"}, Place: []string{"layer", "data"}, Limits: []string{"capped"}}},
		Baseline: &Baseline{Engine: "host", Place: "dir", Limits: "capped", Clients: 2},
		Blocks:   10, Seed: 18446744073709551615, Timeout: 2 * time.Minute, IOEngine: "psync", Margin: 0.1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	back, err := Parse("marshal", got.Marshal())
	if err != nil {
		t.Fatalf("%v\n%s", err, got.Marshal())
	}
	if diff := cmp.Diff(got, back); diff != "" {
		t.Errorf("Parse(Marshal) differs: %s\n%s", diff, got.Marshal())
	}
}

func TestParseDefaults(t *testing.T) {
	got, err := Parse("f", []byte(sound))
	if err != nil {
		t.Fatal(err)
	}
	want := &Plan{
		Name:      "t",
		Workloads: []workload.Spec{{Name: "a", Kind: workload.Append}},
		Engines:   []EngineSpec{{Name: "host", Engine: "host"}, {Name: "oci", Engine: "oci"}},
		Places:    []place.Spec{{Name: "dir", Kind: place.Dir}, {Name: "layer", Kind: place.Layer}, {Name: "bind", Kind: place.Bind}},
		Limits:    []limit.Limits{{Name: "none"}},
		Clients:   []int{1},
		Blocks:    6, Timeout: time.Minute, IOEngine: "common", Margin: 0.05,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLatencyOfTheKernel: a schema can't say that a time has to be whole microseconds.
func TestLatencyOfTheKernel(t *testing.T) {
	_, err := Parse("f", []byte(sound+"limits: {x: {latency: 1500ns}}\n"))
	if want := "limits.x.latency: 1.5µs is not a whole number of microseconds"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Parse = %v, want %q", err, want)
	}
}
