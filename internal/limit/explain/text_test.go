package explain

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/treetest"
)

// explainOn explains paths of the machine of disktest.StackFiles.
func explainOn(t *testing.T, groups string, targets map[uint32]string, paths ...string) Answer {
	t.Helper()
	files := disktest.StackFiles()
	maps.Copy(files, map[string]string{
		"proc/self/mountinfo": disktest.StackMounts + groups, "proc/sys/kernel/osrelease": "6.12.1\n",
		"cg/cgroup.controllers": "io memory\n", "cg/box/io.max": "", "cg/box/io.bfq.weight": "", "cg/blkio.throttle.write_bps_device": "",
		"sys/block/sde/queue/scheduler": "none [bfq]\n", "sys/block/sdd/queue/scheduler": "[none] bfq\n",
	})
	root := treetest.Make(t, files)
	fs := device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	fs.Targets = func(n device.Number) ([]device.Target, error) {
		if targets[n.Minor] == "" {
			return nil, errors.ErrUnsupported
		}
		return []device.Target{{Type: targets[n.Minor]}}, nil
	}
	h, err := Look(fs)
	if err != nil {
		t.Fatal(err)
	}
	x := Answer{Host: h}
	for _, p := range paths {
		e, err := h.Path(p)
		if err != nil {
			t.Fatal(err)
		}
		x.Paths = append(x.Paths, e)
	}
	x.Shared = Sharing(x.Paths)
	return x
}

// TestLimitExplainText holds what people read to the letter.
func TestLimitExplainText(t *testing.T) {
	const v1 = "100 1 0:30 / ROOT/cg rw - cgroup cgroup rw,blkio\n"
	const v2 = "100 1 0:30 / ROOT/cg rw - cgroup2 cgroup2 rw\n"
	targets := map[uint32]string{1: "linear", 2: "linear", 3: "linear", 4: "thin-pool", 5: "thin"}
	for _, tt := range []struct {
		file, groups string
		paths        []string
	}{
		{"thin.txt", v2, []string{"/fixture/thin"}},
		{"several.txt", v1, []string{"/fixture/mixed", "/fixture/nfs", "/fixture/md", "/fixture/heads"}},
	} {
		golden.Check(t, tt.file, explainOn(t, tt.groups, targets, tt.paths...).Text())
	}
}

// TestLimitExplainDocs: the manual shows what is printed today, and names every key of the JSON.
func TestLimitExplainDocs(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/limit-explain.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	golden, err := os.ReadFile(filepath.Join("testdata", "thin.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(golden), "/fixture/", "/srv/")) {
		if !strings.Contains(page, "    "+line) {
			t.Errorf("docs/reference/limit-explain.md lacks the line %q", line)
		}
	}
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[device.Number]() || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			// The names of a stack are for records: here is the tree.
			named := f.IsExported() && !f.Anonymous && key != "stack" && key != "-"
			if named && !strings.Contains(page, "`"+key+"`") {
				t.Errorf("docs/reference/limit-explain.md lacks the key %q of %s", key, typ)
			}
			if f.IsExported() || f.Anonymous {
				visit(f.Type)
			}
		}
	}
	visit(reflect.TypeFor[Answer]())
	if len(seen) < 9 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
