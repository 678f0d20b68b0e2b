package weight

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/testkit/golden"
)

// TestEffect: the rule is the same for a group and for no group in particular, but for what the group itself
// lacks.
func TestEffect(t *testing.T) {
	var sheet golden.Sheet
	for _, tt := range []struct {
		name, scheduler, qos string
		version              int
		files                string // of the group
		others               string // of another group
		any, group           string // by
		ready                bool
	}{
		{name: "bfq", version: 2, scheduler: "none [bfq]", files: "io.bfq.weight", any: ByBFQ, group: ByBFQ},
		{name: "bfq, version 1", version: 1, scheduler: "[bfq]", files: "blkio.bfq.weight_device", any: ByBFQ, group: ByBFQ},
		{name: "bfq of old kernels", version: 1, scheduler: "[bfq]", files: "blkio.bfq.weight", any: ByBFQ, group: ByBFQ},
		{name: "not given to the group", version: 2, scheduler: "[bfq]", others: "io.bfq.weight", any: ByBFQ},
		{name: "bfq without weights", version: 2, scheduler: "[bfq]"},
		{name: "cfq", version: 1, scheduler: "[cfq]", files: "blkio.weight", any: ByCFQ, group: ByCFQ},
		{name: "cfq is none of version 2", version: 2, scheduler: "[cfq]", files: "blkio.weight"},
		{name: "iocost", version: 2, scheduler: "[none]", qos: "8:0 enable=1 ctrl=auto\n", files: "io.weight", any: ByIOCost, group: ByIOCost},
		{name: "iocost, not given to the group", version: 2, scheduler: "[none]", qos: "8:0 enable=1\n", any: ByIOCost},
		{name: "iocost of another disk", version: 2, scheduler: "[none]", qos: "8:00 enable=1\n18:0 enable=1\n", files: "io.weight", ready: true},
		{name: "iocost is off", version: 2, scheduler: "[none]", qos: "8:0 enable=0\n", files: "io.weight", ready: true},
		{name: "iocost's file in version 1", version: 1, scheduler: "[none]", qos: "8:0 enable=1\n", files: "io.weight"},
		{name: "bfq could", version: 2, scheduler: "[none] bfq", qos: "", files: "io.weight", ready: true},
	} {
		dir := t.TempDir()
		put := func(name, text string) {
			t.Helper()
			name = filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		put("sda/queue/scheduler", tt.scheduler+"\n")
		put("cg/a/cgroup.procs", "")
		if tt.files != "" {
			put("cg/a/"+tt.files, "100\n")
		}
		if tt.others != "" {
			put("cg/b/"+tt.others, "100\n")
		}
		if tt.qos != "" {
			put("cg/io.cost.qos", tt.qos)
		}
		root := &hierarchy.Group{Controller: hierarchy.IO, Version: tt.version, Dir: filepath.Join(dir, "cg"), Root: filepath.Join(dir, "cg"), Path: "/"}
		group := *root
		group.Dir, group.Path = filepath.Join(dir, "cg/a"), "/a"
		d := Disk{Name: "sda", Number: device.Number{Major: 8}, Dir: filepath.Join(dir, "sda")}
		e := Place{Root: root}.Effect(d)
		if e.By != tt.any || e.Ready != tt.ready {
			t.Errorf("%s, no group: by %q, ready %v, want %q, %v", tt.name, e.By, e.Ready, tt.any, tt.ready)
		}
		sheet.Add(tt.name, strings.ReplaceAll(strings.TrimSuffix("why: "+e.Why+"\nfix: "+e.Fix, "\nfix: "), dir, "DIR"))
		if e := (Place{Root: root, Group: &group}).Effect(d); e.By != tt.group || e.Works() != (tt.group != "") {
			t.Errorf("%s, group: %+v", tt.name, e)
		}
	}
	sheet.Check(t, "effect.txt")
	if e := (Place{}).Effect(Disk{Name: "sda", Number: device.Number{Major: 8}, Dir: t.TempDir()}); e.Works() || e.Why != "no I/O controller" {
		t.Errorf("no controller: %+v", e)
	}
	if e := (Place{Root: &hierarchy.Group{}}).Effect(Disk{Number: device.Number{Major: 8}}); !strings.Contains(e.Why, "no block device 8:0") {
		t.Errorf("gone: %+v", e)
	}
}

// TestInAnyGroup: the group's own files and those of two levels below it count, whatever the folder is called.
func TestInAnyGroup(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a[b]*\?`)
	for _, g := range []string{".", "web", "shop/web", "shop/web/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, g), 0o755); err != nil {
			t.Fatal(err)
		}
		file := "io." + strings.ReplaceAll(g, "/", "-")
		if err := os.WriteFile(filepath.Join(dir, g, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, want := InAnyGroup(dir, file), g != "shop/web/deep"; got != want {
			t.Errorf("InAnyGroup(%s) of a file of %s = %v", dir, g, got)
		}
	}
	if InAnyGroup(dir, "io.max") || InAnyGroup("", "weight.go") {
		t.Error("a file that is in no group is found")
	}
}

// TestSchedulers: a bare "none" means that there is no queue to schedule, "[none]" that a queue has no scheduler. Plimsoll advised bfq
// for both.
func TestSchedulers(t *testing.T) {
	for text, want := range map[string]struct {
		chosen  string
		offered []string
	}{
		"none [mq-deadline] bfq\n": {"mq-deadline", []string{"none", "mq-deadline", "bfq"}},
		"[none] mq-deadline\n":     {"none", []string{"none", "mq-deadline"}},
		"[none]\n":                 {"none", []string{"none"}},
		"none\n":                   {},
		"":                         {},
	} {
		chosen, offered := Schedulers(text)
		if chosen != want.chosen {
			t.Errorf("%q: %q is chosen, want %q", text, chosen, want.chosen)
		}
		if !slices.Equal(offered, want.offered) || (offered == nil) != (want.offered == nil) {
			t.Errorf("%q: %q are offered, want %q", text, offered, want.offered)
		}
	}
}
