package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{set("blocks"), "--set blocks: wants KEY=VALUE"},
		{set("=1"), "--set =1: wants KEY=VALUE"},
		{set("blocks="), "--set blocks=: wants KEY=VALUE"},
		{set("blocks=[1"), "--set blocks=[1: not YAML"},
		{set("blocks=many"), `--set blocks=many: blocks: wants a whole number from 1 to 1000, got the text "many"`},
		{set("blocks=~"), "--set blocks=~: blocks: has no value"},
		{set("blok=1"), `--set blok=1: a plan has no key "blok", did you mean blocks?`},
		{set("workloads.apend.count=1"), "--set workloads.apend.count=1: there is no workloads.apend in the plan, did you mean append? (workloads has rand-a, rand-b, append)"},
		{set("workloads.append.cuont=1"), `an append workload has no key "cuont", did you mean count?`},
		{set("workloads.append.count.x=1", "workloads.append.count=1"), "there is no workloads.append.count in the plan"},
		{set("limits.x.cpus=1"), "there is no limits in the plan"},
		{set("clients.0=1"), "clients is no map of keys: set it as a whole"},
		{set("engines.dockr.image=x"), "there is no engines.dockr in the plan, did you mean docker?"},
		{set("engines.host.image=x"), `--set engines.host.image=x: engines.0: the host engine has no key "image"`},
		{set("quick.blocks=1"), "there is no quick in the plan"},
		{set("workloads.rand-a.bs=2MiB"), "is smaller than one I/O (bs is 2097152 bytes): make it 2097152 or more (with --set workloads.rand-a.bs=2MiB)"},
		{set("name=&a [*a]"), "nested too deeply"},
		{set("..=1"), "there is no "},
		{Options{Blocks: "0"}, "--blocks 0: blocks: wants a whole number from 1 to 1000, got 0"},
		{Options{Blocks: "-3"}, "--blocks -3: "},
		{Options{Seed: "x"}, "--seed x: seed: wants a whole number"},
		{Options{Only: "engine"}, `--only engine: "engine" is no term`},
		{Options{Only: ""}, ""},
		{Options{Only: ","}, "is no term"},
		{Options{Only: "motor=host"}, "is no term"},
		{Options{Only: "engine=hots"}, `no engine of the plan is called "hots", did you mean host? (there are host, oci, docker)`},
		{Options{Only: "engine="}, "a name is empty"},
		{Options{Only: "engine=host|"}, "a name is empty"},
		{Options{Only: "place=[a"}, "no place of the plan"},
		{Options{Only: "clients=3"}, `no clients of the plan is called "3"`},
		{Options{Only: "engine=host,place=layer"}, "no cell is left: the plan has workload rand-a, rand-b, append; engine/place host/dir, oci/layer"},
	} {
		p, err := ParseWith("f", []byte(base), tt.o)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%+v: %v", tt.o, err)
			}
			continue
		}
		if err == nil || p != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v\nwant an error with %q", tt.o, err, tt.want)
		}
	}
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
	if p.Blocks != 9 || p.Seed != 77 || p.Margin != 0.2 || p.Workloads[2].Count != 100 || p.Workloads[0].Kind != "wal" || p.Workloads[3].Name != "new" ||
		p.Places[1].Path != "/srv" || p.Places[0].Path != "/data" || p.Engines[2].Seccomp != "unconfined" || p.Limits[0].WriteBPS != 10<<20 {
		t.Errorf("got\n%s", p.Marshal())
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
	if p.Blocks != QuickBlocks || p.Workloads[0].Job.Runtime != 10e6 || p.Workloads[0].Job.IODepth != 2 || p.Workloads[1].Job.Runtime != 5e9 || p.Workloads[2].Count != 7 || len(p.Clients) != 1 {
		t.Errorf("got\n%s", p.Marshal())
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

// TestProfiles: the seccomp profiles of engines that have cells are looked at once, and
// what is wrong is told with its place.
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
