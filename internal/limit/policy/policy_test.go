package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
)

// TestParseRefuses: each fault has its place and says what to write.
func TestParseRefuses(t *testing.T) {
	rule := func(s string) string { return "rules:\n- " + s + "\n" }
	good := "limits: {write_bps: 1MiB}"
	for _, row := range []struct{ in, want string }{
		{"", "p:1:1: the policy is empty: list its rules, or write rules: [] to limit nothing"},
		{"\n\n", "the policy is empty"},
		{"# nothing\n", "the policy is empty"},
		{"---\n", "the policy is empty"},
		{"null", "the policy is empty"},
		{"---\n---\nrules: []", "the policy is empty"},
		{"\x00", "p:1:1: not YAML: "},
		{"{}", "p:1:1: the policy has no rules: list them, or write rules: [] to limit nothing"},
		{"# none\n{}", "p:2:1: the policy has no rules"},
		{"rules: [", "p:1:1: not YAML: "},
		{"[]", "p:1:1: a policy is a map of keys and values, this is a list"},
		{"rule: []", "p:1:1: a policy has no key \"rule\", did you mean rules? (its keys: rules)"},
		{"rules: {}", "p:1:8: rules wants a list, one rule after each dash, got a map"},
		{"rules:", "p:1:1: rules: has no value: list them, or write rules: [] to limit nothing"},
		{`rules: [{name: "a\e[31m", match: all, limits: {cpus: 1}}]`, "p:1:16: name contains a line break or another control character"},
		{"rules: []\n---\nrules: []", "p:2:1: a second document starts here"},
		{"rules: []\nrules: []", "p:2:1: \"rules\" is given twice: first at line 1"},
		{rule("web"), "p:2:3: a rule is a map of keys and values, this is the text \"web\""},
		{rule("{match: all}"), "rule 1 has no limits"},
		{rule("{" + good + "}"), "rule 1 has no match: say which containers it is for, or write match: all"},
		{rule("{match: {}, " + good + "}"), "a match without a condition: write match: all"},
		{rule("{match: web, " + good + "}"), "a match is a map"},
		{rule("{match: {nam: web}, " + good + "}"), "p:2:12: a match has no key \"nam\", did you mean name?"},
		{rule("{match: {name: []}, " + good + "}"), "name has an empty list, which matches nothing"},
		{rule("{match: {name: {}}, " + good + "}"), "name wants a text, got a map"},
		{rule("{match: {name: \"\"}, " + good + "}"), "name is empty"},
		{rule("{match: {engine: dokcer}, " + good + "}"), "there is no engine \"dokcer\", did you mean docker?"},
		{rule("{match: {label: tier}, " + good + "}"), "label wants a map"},
		{rule("{match: {label: {}}, " + good + "}"), "label names no label"},
		{rule("{match: {label: {a: 1, a: 2}}, " + good + "}"), "p:2:26: \"a\" is given twice"},
		{rule("{match: all, limits: {}}"), "limits names no limit"},
		{rule("{match: all, limits: {write_bsp: 1}}"), "p:2:25: limits has no key \"write_bsp\", did you mean write_bps?"},
		{rule("{match: all, limits: {write_bps: 10mb}}"), "p:2:36: write_bps: "},
		{rule("{match: all, limits: {write_iops: 10k}}"), "(10000?)"},
		{rule("{match: all, limits: {write_bps: 0}}"), "0 is not a limit"},
		{rule("{match: all, limits: {write_bps: [1]}}"), "write_bps wants a value such as 10MiB, got a list"},
		{rule("{match: all, limits: {memory: 25%}}"), "only rates can have one"},
		{rule("{match: all, where: {volume: a, path: /b}, " + good + "}"), "one of volume, path, device and all, not several"},
		{rule("{match: all, where: {path: data}, " + good + "}"), "is not a whole path"},
		{rule("{match: all, where: {path: /a/../b}, " + good + "}"), "is not a whole path"},
		{rule("{match: all, where: {device: sda}, " + good + "}"), "is not the node of a block device"},
		{rule("{match: all, where: {device_wide: 1}, " + good + "}"), "device_wide wants true or false, got \"1\""},
		{rule("{match: all, where: {volume: a}, limits: {cpus: 1}}"), "where selects the data for limits on I/O, and the rule has none"},
		{rule("{match: all, where: {device_wide: true}, limits: {weight: 100}}"), "device_wide is for rates"},
		{rule("{match: all, together: 1, " + good + "}"), "together wants true or false, got \"1\""},
		{rule("{match: all, together: true, limits: {weight: 100}}"), "together is for rates, cpus and memory"},
		{rule("{match: all, together: true, limits: {write_bps: none}}"), "containers can't share the value none"},
		{rule("{match: all, together: true, where: {device_wide: true}, " + good + "}"), "leave out one of them"},
		{rule("{name: a, match: all, "+good+"}") + "- {name: a, match: all, " + good + "}", "p:3:3: the name \"a\" is also used by the rule at line 2"},
		{rule("{<<: [all], " + good + "}"), "<< takes a map or a list of maps"},
		{"a: &a [x,x,x]\nb: &b [*a,*a,*a]\nrules: [" + strings.Repeat("*b,", 40_000) + "]", "stand for too much"},
		{strings.Repeat("#", strict.MaxSize+1), "the file is larger than"},
	} {
		p, err := Parse("p", []byte(row.in))
		var faults strict.Errors
		if p != nil || !errors.As(err, &faults) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("Parse(%.80q) = %v, %v; want %q", row.in, p, err, row.want)
		}
	}
	_, err := Parse("p", []byte(rule("{mach: all, limits: {x: 1}}")))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 2 {
		t.Errorf("two faults are told as %q", lines)
	}
	_, err = Parse("p", []byte("rules:\n"+strings.Repeat("- web\n", 80)))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != strict.MaxErrors+1 || !strings.HasSuffix(lines[strict.MaxErrors], "and 30 more faults") {
		t.Errorf("80 faults end in %q", lines[len(lines)-1])
	}
}

func TestParse(t *testing.T) {
	for _, none := range []string{"rules: []", "---\nrules: []\n", "# none\nrules:\n  []\n"} {
		if p, err := Parse("p", []byte(none)); err != nil || len(p.Rules) != 0 {
			t.Errorf("Parse(%q) = %v, %v", none, p, err)
		}
	}
	p, err := Parse("p", []byte(`
base: &gold {write_bps: 10MiB}
`))
	if err == nil {
		t.Errorf("a key for anchors is taken: %v", p)
	}
	p, err = Parse("p", []byte(`
rules:
- match: all
  limits: &small {write_bps: 10MiB, read_bps: 25%, read_iops: none}
- name: databases
  match:
    engine: [docker, podman]
    label: {tier: gold, version: 16}
    volume: "pg-*"
  where: {volume: "pg-*", device_wide: true}
  limits: *small
- match: {namespace: prod, pod: web-*, container: nginx, project: a, service: b, image: nginx, name: x}
  where: {all: true}
  limits: {cpus: 1.5, latency: 5ms, memory: 1GiB}
- {match: all, together: true, limits: {cpus: 2}}
`))
	if err != nil {
		t.Fatal(err)
	}
	small := limit.Ask{Limits: limit.Limits{WriteBPS: 10 << 20}, Percent: map[limit.Key]float64{limit.ReadBPS: 25}, Remove: []limit.Key{limit.ReadIOPS}}
	want := &Policy{Rules: []Rule{
		{Name: "rule 1", Line: 3, Limits: small},
		{
			Name: "databases", Line: 5, Limits: small, Where: Where{Volume: "pg-*", DeviceWide: true},
			Match: Match{Engine: []string{"docker", "podman"}, Label: map[string][]string{"tier": {"gold"}, "version": {"16"}}, Volume: []string{"pg-*"}},
		},
		{
			Name: "rule 3", Line: 12, Limits: limit.Ask{Limits: limit.Limits{CPUs: 1.5, Latency: 5 * time.Millisecond, Memory: 1 << 30}},
			Match: Match{Namespace: []string{"prod"}, Pod: []string{"web-*"}, Container: []string{"nginx"}, Project: []string{"a"}, Service: []string{"b"}, Image: []string{"nginx"}, Name: []string{"x"}},
		},
		{Name: "rule 4", Line: 15, Together: true, Limits: limit.Ask{Limits: limit.Limits{CPUs: 2}}},
	}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("Parse() -want +got:\n%s", diff)
	}
}

func TestMatches(t *testing.T) {
	web := target.Target{
		Kind: target.Container, Engine: target.Docker, Name: "web-1", Image: "registry:5000/team/nginx:1.27@sha256:00",
		Labels: map[string]string{"tier": "gold", "com.docker.compose.project": "shop", "com.docker.compose.service": "front", "io.kubernetes.pod.namespace": "prod", "io.kubernetes.pod.name": "web-0", "io.kubernetes.container.name": "nginx", "empty": ""},
		Mounts: []target.Mount{{Destination: "/srv"}, {Destination: "/data", Volume: "data"}},
	}
	// The project under podman-compose's own name alone.
	pod := target.Target{Kind: target.Container, Engine: target.Podman, Name: "db-1", Labels: map[string]string{"io.podman.compose.project": "shop", "com.docker.compose.service": "db"}}
	for _, row := range []struct {
		rule string
		want bool
	}{
		{"match: all", true},
		{"match: {name: web-1}", true},
		{"match: {name: web}", false},
		{"match: {name: \"web*\"}", true},
		{"match: {name: [db, \"?eb-1\"]}", true},
		{"match: {name: \"web-*\", engine: podman}", false},
		{"match: {image: registry:5000/team/nginx}", true},
		{"match: {image: \"*/nginx:1.27*\"}", true},
		{"match: {image: nginx}", false},
		{"match: {label: {tier: gold}}", true},
		{"match: {label: {tier: [silver, gold]}}", true},
		{"match: {label: {tier: silver}}", false},
		{"match: {label: {empty: \"*\"}}", true},
		{"match: {label: {none: \"*\"}}", false},
		{"match: {project: shop, service: front}", true},
		{"match: {project: shop, service: back}", false},
		{"match: {namespace: prod, pod: \"web-*\", container: nginx}", true},
		{"match: {namespace: test}", false},
		{"match: {volume: \"d*\"}", true},
		{"match: {volume: srv}", false},
		{"match: all, where: {volume: data}", true},
		{"match: all, where: {volume: other}", false},
	} {
		p, err := Parse("p", []byte("rules: [{"+row.rule+", limits: {write_bps: 1MiB}}]"))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(p.Of(web)) == 1; got != row.want {
			t.Errorf("%s: %v, want %v", row.rule, got, row.want)
		}
	}
	for rule, want := range map[string]bool{"match: {project: shop}": true, "match: {project: \"sh*\", service: db}": true, "match: {project: db}": false} {
		p, err := Parse("p", []byte("rules: [{"+rule+", limits: {write_bps: 1MiB}}]"))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(p.Of(pod)) == 1; got != want {
			t.Errorf("podman-compose's, %s: %v, want %v", rule, got, want)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, row := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "a/b", true}, {"a*", "a", true}, {"*a", "ba", true}, {"*a", "ab", false},
		{"a*b*c", "aXbYc", true}, {"a*b*c", "acb", false}, {"?", "", false}, {"?", "a", true}, {"a?c", "abc", true}, {"**", "x", true}, {"[a]", "a", false},
	} {
		if got := glob(row.pattern, row.s); got != row.want {
			t.Errorf("glob(%q, %q) = %v", row.pattern, row.s, got)
		}
	}
	// It does not try all ways to cut the text.
	began := time.Now()
	if glob(strings.Repeat("*a", 500)+"b", strings.Repeat("a", 5000)) || time.Since(began) > 5*time.Second {
		t.Errorf("a pattern of many stars took %v", time.Since(began))
	}
}

func TestFromBlockIO(t *testing.T) {
	text, err := FromBlockIO("b.yaml", []byte(`
Classes:
  LowPrioThrottled:
  - Weight: 80
  - <<: {ThrottleReadBps: 50M, Weight: 70}
    Devices: [/dev/vda, "/dev/disk/by-id/*SSD*"]
    ThrottleWriteBps: 10Mi
    ThrottleReadIOPS: 10k
    ThrottleWriteIOPS: 500
    Weight: 50
  NoLimit: []
`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("b.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range p.Rules {
		got = append(got, fmt.Sprintf("%s %v %+v: %s", r.Name, r.Match.Label, r.Where, r.Limits.Limits))
	}
	label := "map[blockio.resources.beta.kubernetes.io/pod:[LowPrioThrottled]]"
	limits := "read_bps=50000000 write_bps=10MiB read_iops=10000 write_iops=500 weight=50"
	want := []string{
		fmt.Sprintf("LowPrioThrottled 1 %s %+v: weight=80", label, Where{}),
		fmt.Sprintf("LowPrioThrottled 2 %s %+v: %s", label, Where{Device: "/dev/vda"}, limits),
		fmt.Sprintf("LowPrioThrottled 3 %s %+v: %s", label, Where{Device: "/dev/disk/by-id/*SSD*"}, limits),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("FromBlockIO() -want +got:\n%s\n%s", diff, text)
	}
	for in, want := range map[string]string{
		"":                                      "is empty",
		"a: [":                                  "not YAML",
		"classes: {}":                           "has no key \"classes\", did you mean Classes?",
		"Classes: {}":                           "no class with a limit",
		"Classes: []":                           "Classes wants a map",
		"Classes: {a: 5}":                       "class \"a\" wants a list of parameters",
		"Classes: {'': [{Weight: 50}]}":         "no pod can select it",
		"Classes: {on: [{Weight: 50}]}":         "put it in quotes",
		"Classes: {a*: [{Weight: 50}]}":         "give the class another name",
		"Classes: {a: [{Wieght: 5}]}":           "did you mean Weight?",
		"Classes: {a: [{Weight: 5x}]}":          "is not a quantity",
		"Classes: {a: [{Weight: 9}]}":           "from 10 to 1000",
		"Classes: {a: [{Weight: 1000.5}]}":      "1001 is not a weight of a class",
		"Classes: {a: [{Weight: -5}]}":          "is not a quantity",
		"Classes: {a: [{Weight: 99999Pi}]}":     "is too large",
		"Classes: {a: [{Devices: /dev/sda}]}":   "Devices wants a list",
		"Classes: {a: [{ThrottleReadBps: 5M}]}": "the limits need Devices",
	} {
		if text, err := FromBlockIO("b.yaml", []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("FromBlockIO(%q) = %s, %v; want %q", in, text, err, want)
		}
	}
}

// TestQuantity: numbers are what Kubernetes takes them for; internal/limit/keeper's TestBlockIO compares them with its own reader.
func TestQuantity(t *testing.T) {
	for in, want := range map[string]int64{
		"": -1, ".": -1, "k": -1, "5x": -1, "-5": -1, "++5": -1, "5 M": -1, "5MM": -1, "1.2.3": -1, "5e": -1, "5e+": -1, "1e19": -1, "1e127": -1, "1e128": -1, "٣": -1,
		strings.Repeat("9", 41): -1, "9223372036854775807": 1<<63 - 1, "9223372036854775808": -1, "8Ei": -1, "7Ei": 7 << 60,
		"0": 0, "5": 5, "+5": 5, "5.": 5, ".5": 1, "5.5": 6, "50M": 50e6, "50Mi": 50 << 20, "1.5k": 1500, "1500m": 2, "1n": 1, "2000000u": 2, "5e3": 5000, "5E3": 5000, "12E-1": 2, "1E": 1e18,
	} {
		if got, err := quantity(in); (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("quantity(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
}
