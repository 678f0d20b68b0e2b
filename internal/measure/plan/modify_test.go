package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/testkit/golden"
)

// base is a plan for flags to change.
const base = `name: t
engines: [host, oci, docker]
places: {dir: {}, layer: , bind: {}}
workloads:
  rand-a: {rw: randread, size: 1MiB, runtime: 5s}
  rand-b: {rw: randwrite, size: 1MiB, runtime: 5s}
  append: {kind: append}
clients: [1, 2]
baseline: {engine: host, place: dir}
quick:
  clients: [1]
  workloads:
    rand-a: {runtime: 10ms, iodepth: 2}
    append: {count: 7}
`

func TestFlagsRefused(t *testing.T) {
	set := func(s ...string) Options { return Options{Set: s} }
	var sheet golden.Sheet
	for _, o := range []Options{
		set("blocks"),
		set("=1"),
		set("blocks="),
		set("blocks=[1"),
		set("blocks=many"),
		set("blocks=~"),
		set("blok=1"),
		set("workloads.apend.count=1"),
		set("workloads.append.cuont=1"),
		set("workloads.append.count.x=1", "workloads.append.count=1"),
		set("limits.x.cpus=1"),
		set("clients.0=1"),
		set("engines.dockr.image=x"),
		set("engines.host.image=x"),
		set("quick.blocks=1"),
		set("workloads.rand-a.bs=2MiB"),
		set("name=&a [*a]"),
		set("..=1"),
		{Blocks: "0"},
		{Blocks: "-3"},
		{Seed: "x"},
		{Only: "engine"},
		{Only: ""},
		{Only: ","},
		{Only: "motor=host"},
		{Only: "engine=hots"},
		{Only: "engine="},
		{Only: "engine=host|"},
		{Only: "place=[a"},
		{Only: "clients=3"},
		{Only: "engine=host,place=layer"},
	} {
		p, err := ParseWith("f", []byte(base), o)
		sheet.Add(fmt.Sprintf("--set %v --blocks %q --seed %q --only %q", o.Set, o.Blocks, o.Seed, o.Only), err)
		if (p == nil) != (err != nil) {
			t.Errorf("%+v: %v, %v", o, p, err)
		}
	}
	sheet.Check(t, "flags.txt")
}

func TestSet(t *testing.T) {
	p, err := ParseWith("f", []byte(base), Options{
		Set: []string{
			"blocks=3", "workloads.append.count=100", "workloads.rand-a={kind: wal}", "places.layer.kind=bind", "places.layer.path=/srv",
			"engines.docker.seccomp=unconfined", "clients=[3]", "places.dir.path=/data", "limits={capped: {write_bps: 10MiB}}", "margin=0.1", "margin=0.2",
			"workloads.new={kind: tree}",
		},
		Blocks: "9", Seed: "77",
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Blocks != 9 || p.Seed != 77 || p.Margin != 0.2 {
		t.Errorf("%d blocks, seed %d, margin %v, want 9, 77, 0.2", p.Blocks, p.Seed, p.Margin)
	}
	if w := p.Workloads; w[2].Count != 100 || w[0].Kind != "wal" || w[3].Name != "new" {
		t.Errorf("the workloads are not changed:\n%s", p.Marshal())
	}
	if p.Places[1].Path != "/srv" || p.Places[0].Path != "/data" {
		t.Errorf("places in %q and %q, want /data and /srv", p.Places[0].Path, p.Places[1].Path)
	}
	if got := p.Engines[2].Seccomp; got != "unconfined" {
		t.Errorf("seccomp %q, want unconfined", got)
	}
	if got := p.Limits[0].WriteBPS; got != 10<<20 {
		t.Errorf("write_bps %v, want 10 MiB", got)
	}
	if diff := cmp.Diff([]int{3}, p.Clients); diff != "" {
		t.Error(diff)
	}
}

func TestQuick(t *testing.T) {
	p, err := ParseWith("f", []byte(base), Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	if p.Blocks != QuickBlocks || len(p.Clients) != 1 {
		t.Errorf("%d blocks, clients %v, want %d and one number of clients", p.Blocks, p.Clients, QuickBlocks)
	}
	if j := p.Workloads[0].Job; j.Runtime != 10e6 || j.IODepth != 2 {
		t.Errorf("the first workload runs for %v at depth %d, want 10 ms and 2", j.Runtime, j.IODepth)
	}
	if got := p.Workloads[1].Job.Runtime; got != 5e9 {
		t.Errorf("the second workload runs for %v, want 5 s", got)
	}
	if got := p.Workloads[2].Count; got != 7 {
		t.Errorf("the third workload's count is %d, want 7", got)
	}
	plain := parse(t, base)
	if plain.Blocks != DefaultBlocks || plain.Workloads[2].Count != 0 || len(plain.Clients) != 2 {
		t.Errorf("the quick section changed a plain run:\n%s", plain.Marshal())
	}
	for _, tt := range []struct {
		name, yaml string
		o          Options
		want       int
	}{
		{"no section", sound, Options{Quick: true}, 3},
		{"fewer blocks anyway", sound + "blocks: 2\n", Options{Quick: true}, 2},
		{"the section's own", sound + "blocks: 2\nquick: {blocks: 5}\n", Options{Quick: true}, 5},
		{"flags win", sound + "quick: {blocks: 5}\n", Options{Quick: true, Blocks: "8"}, 8},
		{"not quick", sound + "quick: {blocks: 5}\n", Options{}, 6},
	} {
		p, err := ParseWith("f", []byte(tt.yaml), tt.o)
		if err != nil || p.Blocks != tt.want {
			t.Errorf("%s: blocks = %v, %v, want %d", tt.name, p, err, tt.want)
		}
	}
}

func TestOnly(t *testing.T) {
	for _, tt := range []struct {
		expr, want string
		based      bool
	}{
		{"workload=append,clients=1,engine=host|oci", "append/host/dir append/host/dir#control append/oci/layer append/oci/bind", true},
		{"workload=rand-*, clients=2, engine=host", "rand-a/host/dir/x2 rand-a/host/dir/x2#control rand-b/host/dir/x2 rand-b/host/dir/x2#control", false},
		{"workload=*-a,clients=1,place=b?nd,limits=none", "rand-a/oci/bind rand-a/oci/bind#control rand-a/docker/bind", false},
	} {
		p, err := ParseWith("f", []byte(base), Options{Only: tt.expr})
		if err != nil {
			t.Errorf("%s: %v", tt.expr, err)
			continue
		}
		if got := cellKeys(p); got != tt.want || (p.Baseline != nil) != tt.based {
			t.Errorf("--only %s: %s, baseline %v\nwant %s", tt.expr, got, p.Baseline, tt.want)
		}
		back, err := Parse("marshal", p.Marshal())
		if err != nil {
			t.Fatalf("%v\n%s", err, p.Marshal())
		}
		if diff := cmp.Diff(p, back); diff != "" {
			t.Errorf("--only %s does not survive Marshal: %s", tt.expr, diff)
		}
	}
}

// TestOnlyLeavesPlanOnError checks that a refused expression changes nothing.
func TestOnlyLeavesPlanOnError(t *testing.T) {
	p, want := parse(t, base), parse(t, base)
	if err := p.Only("engine=host,place=layer"); err == nil {
		t.Fatal("Only accepts an expression that leaves no cell")
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}

// TestProfiles: the seccomp profile of an engine that has cells is checked once, and an error names
// its place in the plan.
func TestProfiles(t *testing.T) {
	text := "name: t\nworkloads: {a: {kind: append}}\nengines:\n  - host\n" +
		"  - {name: one, kind: oci, seccomp: /bad}\n  - {name: two, kind: docker, seccomp: /bad}\n  - {name: good, kind: docker, seccomp: unconfined}\n" +
		"places: {dir: {}, layer: {}}\n"
	check := func(profile string) error {
		if strings.HasPrefix(profile, "/bad") {
			return errors.New("it is bad")
		}
		return nil
	}
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{}, "plan.yaml:5:28: engines.1.seccomp: it is bad\nplan.yaml:6:31: engines.2.seccomp: it is bad"},
		{Options{Only: "engine=host|two"}, "plan.yaml:6:31: engines.2.seccomp: it is bad"},
		{Options{Only: "engine=host|good"}, ""},
		{Options{Set: []string{"engines.one.seccomp=unconfined", "engines.two.seccomp=/good"}}, ""},
		{Options{Set: []string{"engines.good.seccomp=/bad/2"}, Only: "engine=good"}, "--set engines.good.seccomp=/bad/2: engines.3.seccomp: it is bad"},
	} {
		tt.o.Seccomp = check
		_, err := ParseWith("plan.yaml", []byte(text), tt.o)
		if got := fmt.Sprint(err); got != tt.want && (err != nil || tt.want != "") {
			t.Errorf("%+v:\n%s\nwant\n%s", tt.o, got, tt.want)
		}
	}
}

// TestPath: --path is the folder of all places that are folders, by their kind; a plan without one is refused.
func TestPath(t *testing.T) {
	const text = "name: p\nworkloads: {append: {kind: append, count: 1}}\nengines: [host, oci]\nplaces: "
	p, err := ParseWith("f", []byte(text+"{dir: {}, mine: {kind: bind, path: /old}, layer: {}}\n"), Options{Path: "/srv/my data"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Places {
		want := "/srv/my data"
		if s.Kind == "layer" {
			want = ""
		}
		if s.Path != want {
			t.Errorf("place %s has the path %q, want %q", s.Name, s.Path, want)
		}
	}
	_, err = ParseWith("f", []byte(text+"{layer: {}}\n"), Options{Path: "/srv"})
	if err == nil || !strings.Contains(err.Error(), "--path /srv: the plan has no place of kind dir or bind") {
		t.Errorf("without a folder: %v", err)
	}
}
