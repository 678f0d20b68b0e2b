package plimsoll_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A layer is a set of packages, which may import each other as far as Go allows, and the layers that they may import.
type layer struct {
	name string
	// rooms are folders of packages, with all below them. A $ at the end means that one package.
	rooms []string
	// below are the layers that its packages may import.
	below []string
}

// layers are the layers of CONTRIBUTING.md. A package is in the layer with the longest room that begins its path.
var layers = []layer{
	{"generator", []string{"load", "hist"}, nil},
	{"host", []string{"internal/host", "internal/state", "internal/conf", "internal/text"}, nil},
	{"container", []string{"internal/container"}, []string{"host"}},
	{"limit values", []string{"internal/limit$"}, []string{"host"}},
	{"limit", []string{"internal/limit"}, []string{"limit values", "container", "host"}},
	{"watch", []string{"internal/watch"}, []string{"limit", "limit values", "container", "host"}},
	{"provide", []string{"internal/provide"}, []string{"limit", "limit values", "container", "host"}},
	// The worker's side of measuring goes into every container, and knows of no engine.
	{"worker", []string{"internal/measure/worker", "internal/measure/wire", "internal/measure/step", "internal/measure/workload", "internal/measure/command", "internal/measure/httpload", "internal/measure/website", "internal/measure/steady"},
		[]string{"generator", "host", "limit values"}},
	{"measure", []string{"internal/measure", "plans"}, []string{"worker", "generator", "limit", "limit values", "container", "host"}},
	// Volumes and shares know nothing of measuring.
	{"provide", []string{"internal/provide"}, []string{"limit", "limit values", "container", "host"}},
	{"daemon", []string{"internal/daemon", "internal/doctor"}, []string{"provide", "measure", "worker", "generator", "watch", "limit", "limit values", "container", "host"}},
	{"commands", []string{"cmd", "scripts"}, []string{"daemon", "provide", "measure", "worker", "generator", "watch", "limit", "limit values", "container", "host"}},
	// Only tests import these, and they may import anything.
	{"tests", []string{"internal/testkit", "internal/measure/engine/enginetest", "internal/measure/dialect/dialecttest", "internal/measure/engine/docker/testdata"},
		[]string{"commands", "daemon", "provide", "measure", "worker", "generator", "watch", "limit", "limit values", "container", "host"}},
}

// of returns the layer of a package, nil if it is in none.
func of(pkg string) (in *layer) {
	longest := 0
	for i := range layers {
		for _, room := range layers[i].rooms {
			exact, only := strings.CutSuffix(room, "$")
			if (pkg == exact || !only && strings.HasPrefix(pkg, room+"/")) && len(room) > longest {
				in, longest = &layers[i], len(room)
			}
		}
	}
	return in
}

// TestLayers checks each package's imports against the layers, on Linux and on Windows. A package in no layer fails.
func TestLayers(t *testing.T) {
	for _, system := range []string{"linux", "windows"} {
		c := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
		c.Env = append(os.Environ(), "GOOS="+system)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			words := strings.Fields(line)
			pkg, ours := strings.CutPrefix(words[0], "plimsoll/")
			if !ours {
				continue // The root, which has only tests.
			}
			l := of(pkg)
			if l == nil {
				t.Errorf("%s is in no layer", pkg)
				continue
			}
			for _, w := range words[1:] {
				dep, ours := strings.CutPrefix(w, "plimsoll/")
				if !ours {
					continue
				}
				if d := of(dep); d != nil && d.name != l.name && !slices.Contains(l.below, d.name) {
					t.Errorf("%s -> %s: layer %q may not import layer %q", pkg, dep, l.name, d.name)
				}
			}
		}
	}
}
