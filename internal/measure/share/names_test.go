package share

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/hist"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/plans"
)

// secrets are what a user would not give away: names of a host, a user and a company, a folder, serial numbers, a container's id.
var secrets = []string{
	"quay-7", "quay-7.wharf.example", "/home/alice/data", `C:\Users\alice`, "alice", "S4EVNX0R123456", "0x5002538e40b21f5a", "60014380125f0a1b",
	"c0ffee5eed1e4d0c0ffee5eed1e4d0c0", "registry.wharf.example/alice:7", "10.1.2.3", "fe80::5054:ff:fe12:3456", "52:54:00:12:34:56", "alice@wharf.example",
	"3.11.22.33", "WHARFNAS01",
}

// spoil sets each text below v to a secret, and each number to 1. What a kind of value can't hold is made first.
func spoil(v reflect.Value, secret string, texts *int) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Date(2026, 11, 21, 15, 30, 0, 0, time.UTC)
		return
	case *json.RawMessage:
		*x, _ = json.Marshal(map[string]string{secret: secret, "direction": secret})
		*texts++
		return
	case **hist.Histogram:
		*x = new(hist.Histogram)
		(*x).Record(100)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(secret)
		*texts++
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint64, reflect.Uint32, reflect.Uint8:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		spoil(v.Elem(), secret, texts)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		spoil(v.Index(0), secret, texts)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		spoil(key, secret, texts)
		spoil(value, secret, texts)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				spoil(v.Field(i), secret, texts)
			}
		}
	}
}

// spoiltPlan has a secret in each text that a plan can have. name is the secret as a name.
func spoiltPlan(secret, name string) string {
	q, _ := json.Marshal(secret)
	return strings.NewReplacer("SECRET", string(q), "NAME", name, "FOLDER", strings.Trim(strings.ReplaceAll(string(q), `\\`, "/"), `"/`)).Replace(`name: 'NAME'
description: SECRET
workloads:
  w-NAME: {kind: wal}
  c-NAME: {kind: command, argv: [SECRET, "--x=FOLDER"], env: {HOME_OF: SECRET}, dir: "/srv/FOLDER", reads: cold}
engines:
  - {name: d-NAME, kind: docker, image: SECRET, seccomp: "/etc/FOLDER", runtime: SECRET}
  - {name: v-NAME, kind: vm, kernel: "/boot/FOLDER", modules: "/lib/FOLDER"}
places:
  b-NAME: {kind: bind, path: "/srv/FOLDER"}
  o-NAME: {kind: bind, path: "/mnt/FOLDER"}
  s-NAME: {kind: volume, driver: SECRET, driver_opts: {device: SECRET, o: "addr=FOLDER"}}
limits: {l-NAME: {write_bps: 1MiB}, m-NAME: {}}
sources: [b-NAME, o-NAME]
exclude:
  - {engine: "v-*", place: "s-NAME"}
  - {workload: "c-N*", limits: "m-*"}
  - {workload: "c-NAME*", limits: [m-NAME]}
baseline: {engine: d-NAME, place: b-NAME, limits: l-NAME}
blocks: 6
`)
}

// TestNoNames: no secret is in a file, whatever text of a run has it.
func TestNoNames(t *testing.T) {
	for _, secret := range secrets {
		name := strings.Map(func(r rune) rune {
			if r < 128 && (r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
				return r
			}
			return '_'
		}, strings.Trim(secret, "/"))
		text := strings.ReplaceAll(spoiltPlan(secret, name), `"c-N*"`, `"c-`+name[:3]+`*"`)
		p, err := plan.Parse("spoilt.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v in\n%s", secret, err, text)
		}
		var run record.Run
		texts := 0
		spoil(reflect.ValueOf(&run).Elem(), secret, &texts)
		run.ID, run.PlanText = "20261121-153000-3f9a", text
		run.Skipped[0].Cell = p.Cells()[0]
		run.IOEngine["w-"+name] = record.EngineChoice{Engine: secret, Why: secret}
		var trials []record.Trial
		for i, c := range p.Cells() {
			var tr record.Trial
			spoil(reflect.ValueOf(&tr).Elem(), secret, &texts)
			tr.Run, tr.Cell, tr.Key, tr.Block, tr.Order = run.ID, c, p.Key(c), 0, i
			if i%2 == 0 {
				tr.Status = record.Done
			}
			trials = append(trials, tr)
		}
		if texts < 100 {
			t.Fatalf("only %d texts have the secret", texts)
		}
		if len(trials) < 8 {
			t.Fatalf("only %d cells", len(trials))
		}
		data := string(file(t, run, trials))
		for _, part := range parts(secret) {
			if at := strings.Index(strings.ToLower(data), strings.ToLower(part)); at >= 0 {
				t.Errorf("%s is in the file: ...%s...", part, data[max(0, at-80):min(len(data), at+60)])
			}
		}
		if !strings.Contains(data, "hidden-1") {
			t.Error("nothing was replaced: the test plants nothing")
		}
	}
}

// parts are the words of a secret that must not be in a file. A figure of few digits is no secret.
func parts(secret string) []string {
	out := []string{secret}
	for _, w := range strings.FieldsFunc(secret, func(r rune) bool { return strings.ContainsRune(`/\.:-@`, r) }) {
		if len(w) > 3 && !known(w) && w != "home" && w != "data" && w != "Users" && w != "fe80" && w != "5054" && w != "3456" {
			out = append(out, w)
		}
	}
	return out
}

// TestBuiltInPlansStay: a built-in plan is the same in a file, so that anybody can see that it is.
func TestBuiltInPlansStay(t *testing.T) {
	for _, name := range plans.Names() {
		text, err := plans.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, quick := range []bool{false, true} {
			p, err := plan.ParseWith(name, text, plan.Options{Quick: quick})
			if err != nil {
				t.Fatal(err)
			}
			got, err := newNames().plan(string(p.Marshal()))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if string(got.Marshal()) != string(p.Marshal()) {
				t.Errorf("%s, quick %t, was changed:\n%s", name, quick, got.Marshal())
			}
		}
	}
}

// TestKeysStay: the settings of a workload, a limit and a machine are in a file as they are.
func TestKeysStay(t *testing.T) {
	text := `name: places
workloads:
  wal: {rw: randrw, rwmixread: 70, bssplit: "4KiB/60:64KiB/40", size: 64MiB, runtime: 5s, random_distribution: "zoned:60/10:40/90", direct: true, sync: dsync}
  read: {rw: randread, bsrange: 4KiB-16KiB, size: 64MiB, runtime: 1m30s, random_distribution: "zipf:1.1", cpus_allowed: "0-3,5", iodepth: 4}
  write: {rw: write, bs: 1MiB, size: 1GiB, runtime: 10s, buffer_pattern: 0xaaaa, rate: 100MiB, thinktime: 5ms}
  append: {rw: randread, bs: 4KiB, size: 64MiB, runtime: 60s, rate_iops: 500, rate_process: poisson, iodepth: 16}
engines: [{name: virtiofs, kind: vm, share: virtiofs, memory: 1GiB, cpus: 2}, host]
places: {disk: {kind: bind, own_device: 1280MiB}, tmpfs: {size: 4GiB}}
limits: {cpu: {cpus: 0.25, memory: 256MiB, write_bps: 10MiB, read_iops: 300}}
timeout: 5m
`
	p, err := plan.Parse("keys.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := newNames().plan(text)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(p.Marshal()), string(got.Marshal())); d != "" {
		t.Errorf("the plan in a file (-want +got):\n%s", d)
	}
	secret := strings.Replace(text, "0xaaaa", `"alice's data"`, 1)
	if got, err = newNames().plan(secret); err != nil || len(got.Workloads[2].Job.Pattern) != 12 || strings.Contains(string(got.Workloads[2].Job.Pattern), "alice") {
		t.Errorf("the pattern is %q, %v; want 12 bytes of no text", got.Workloads[2].Job.Pattern, err)
	}
}

// TestNamesStayApart: two names never become one, also if one looks like a replacement already.
func TestNamesStayApart(t *testing.T) {
	text := "name: x\nworkloads: {wal: {kind: wal}}\nengines: [host]\nplaces: {hidden-1: {kind: dir, path: /hidden-2}, quay: {kind: dir, path: /srv}, wharf: {kind: dir, path: /home}}\n"
	p, err := newNames().plan(text)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range p.Places {
		seen[s.Name], seen[s.Path] = true, true
	}
	if len(seen) != 6 || !seen["hidden-1"] || !seen["/hidden-2"] {
		t.Errorf("the names are %v, want six, with hidden-1 and /hidden-2", seen)
	}
}

// TestFacts: a machine is described as far as its words are known.
func TestFacts(t *testing.T) {
	for _, x := range []struct{ kind, in, want string }{
		{"", "6.1.0-30-cloud-amd64", "6.1.0-30-cloud-amd64"},
		{"", "5.14.0-427.13.1.el9_4.x86_64", "5.14.0-427.13.1.el9_4.x86_64"},
		{"", "6.8.12-4-pve", "6.8.12-4-pve"},
		{"", "6.1.0-alice+", "6.1.0-*+"},
		{"", "5.15.153.1-microsoft-standard-WSL2", "5.15.153.1-microsoft-standard-WSL2"},
		{"cpu", "Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", "Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz"},
		{"cpu", "AMD EPYC 7R32", "AMD EPYC 7R32"},
		{"cpu", "12th Gen Intel(R) Core(TM) i7-1260P", "12th Gen Intel(R) Core(TM) i7-1260P"},
		{"cpu", "implementer 0x41 part 0xd0c", "implementer 0x41 part 0xd0c"},
		{"disk", "Samsung SSD 970 EVO Plus 1TB", "Samsung SSD 970 EVO Plus 1TB"},
		{"disk", "INTEL SSDPE2KX040T8", "INTEL SSDPE2KX040T8"},
		{"disk", "ST4000NM0035-1V4107", "ST4000NM0035-*"},
		{"disk", "alice-lun0", "*-*"},
		{"disk", "Amazon Elastic Block Store", "Amazon Elastic Block Store"},
		{"", "rw,relatime,lowerdir=/var/lib/docker/overlay2/c0ffee/diff", "rw,relatime,*=*"},
		{"", "rw,vers=4.2,addr=10.1.2.3,clientaddr=10.1.2.4", "rw,vers=4.2,*=*,*=*"},
		{"", "runc 1.1.5", "runc 1.1.5"},
		{"", "write back", "write back"},
	} {
		got := fact(x.in, kernelVersion)
		switch x.kind {
		case "cpu":
			got = fact(x.in, cpuCode)
		case "disk":
			got = fact(x.in, diskCode)
		}
		if got != x.want {
			t.Errorf("fact(%q) = %q, want %q", x.in, got, x.want)
		}
		if again := fact(got, cpuCode, diskCode, kernelVersion); again != got {
			t.Errorf("fact(%q) = %q: a file that is read would change", got, again)
		}
	}
	for in, want := range map[string]string{"nvme0n1 + nvme1n1": "nvme0n1 + nvme1n1", "vg_quay-home": "disk", "": "", "dm-0": "dm-0"} {
		if got := disk(in); got != want {
			t.Errorf("disk(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestHostile: a file with a hash that fits and any value in it is judged, and makes no panic.
func TestHostile(t *testing.T) {
	r, trials := recorded(t, "own.yaml", []byte("name: own\nworkloads: {wal: {kind: wal}}\nengines: [host]\nplaces: {dir: {}}\nclients: [1, 2]\nblocks: 2\n"), plan.Options{})
	var h header
	if err := json.Unmarshal(file(t, r, trials), &h); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	values := []any{nil, 0, -1, 1e18, -1e18, 0.5, "", "x", []any{}, map[string]any{}, true, "2026-01-01T00:00:00Z", "[", "name: [", []any{nil}}
	for range 400 {
		var tree any
		if err := json.Unmarshal(h.Content, &tree); err != nil {
			t.Fatal(err)
		}
		where := ""
		mutate(tree, rng, values, &where)
		b, err := encode(tree)
		if err != nil {
			t.Fatal(err)
		}
		data := fmt.Sprintf(`{"format":%q,"version":%d,"hash":%q,"content":%s}`, Format, Version, digest(b), b)
		if _, err := Check([]byte(data), version); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// mutate replaces a value somewhere below v.
func mutate(v any, rng *rand.Rand, values []any, where *string) {
	set := func(name string, child any, put func(any)) {
		*where += "." + name
		switch child.(type) {
		case map[string]any, []any:
			if rng.IntN(8) > 0 {
				mutate(child, rng, values, where)
				return
			}
		}
		x := values[rng.IntN(len(values))]
		*where += fmt.Sprintf("=%v", x)
		put(x)
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return
		}
		n := rng.IntN(len(v))
		for k, child := range v {
			if n--; n < 0 {
				set(k, child, func(x any) { v[k] = x })
				return
			}
		}
	case []any:
		if len(v) > 0 {
			i := rng.IntN(len(v))
			set(fmt.Sprint(i), v[i], func(x any) { v[i] = x })
		}
	}
}
