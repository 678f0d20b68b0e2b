//go:build linux

package enginetest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
)

// testSources: the sources have a place of their own, of every kind that the engine has. They are read there and nothing is
// written to it; a program finds both places, and one that isn't there is told apart.
func testSources(t *testing.T, s Suite) {
	e := s.New(t)
	for i, from := range s.Places {
		for j, to := range s.Places {
			if !s.tests(from, to) || s.Guest && !fewPairs(i, j, len(s.Places), to) {
				continue
			}
			t.Run(string(from)+" to "+string(to), func(t *testing.T) {
				s.parallel(t)
				sp := spec(to)
				sp.Source = &place.Spec{Name: "from-" + string(from), Kind: from}
				if from == place.Bind || from == place.Dir {
					sp.Source.Path = t.TempDir()
					t.Cleanup(func() { // After Close, which open sees to.
						if left, _ := os.ReadDir(sp.Source.Path); len(left) > 0 {
							t.Errorf("left in the place of the sources: %v", left)
						}
					})
				}
				a := open(t, e, sp)
				h := a.Hello
				if h.Source == "" || h.Source == h.Dir || h.SourceMount == nil || h.SourceMount.FSType == "" {
					t.Errorf("the worker doesn't know where its sources are: %+v", h)
				}
				if memory := h.SourceMount.FSType == "tmpfs"; memory != (from == place.Tmpfs) {
					t.Errorf("sources on %s, want those of %s", h.SourceMount.FSType, from)
				}
				res, err := trial(t, a, "1", workload.Spec{Name: "tree", Kind: workload.Tree, Count: 5, BS: 1024, Reads: workload.Warm})
				if err != nil {
					t.Fatal(err)
				}
				if res.Source == nil || res.Source.Files != 5 || res.Ops() != 5 {
					t.Errorf("read %+v in %d operations, want 5 files", res.Source, res.Ops())
				}
				path := a.Session.Info().SourcePath
				if (path == "") != (from == place.Tmpfs) {
					t.Errorf("the host's path of the sources is %q", path)
				}
				// A virtual machine's own disk is one file here, so its files can't be seen.
				if path != "" && !(s.Guest && from == place.Layer) {
					if files, _ := filepath.Glob(filepath.Join(path, "tree", "src-5-1024", "d000", "f0*")); len(files) != 5 {
						t.Errorf("%d source files in %s, want 5", len(files), path)
					}
					t.Cleanup(func() {
						if _, err := os.Stat(path); err != nil {
							t.Errorf("the sources are gone before the session: %v", err) // Cleanups run in reverse: this one is before Close.
						}
					})
				}
				data := a.Session.Info().HostPath
				if data == "" || s.Guest && to == place.Layer {
					return
				}
				if files, _ := filepath.Glob(filepath.Join(data, "tree", "src*")); len(files) > 0 && data != path {
					t.Errorf("there are sources where is written to: %v", files)
				}
			})
		}
	}
	a := open(t, e, spec(s.Places[0]))
	if path, err := a.Find(t.Context(), workload.CommandSpec{Argv: []string{"no-such-program"}}); !errors.Is(err, workload.ErrNoProgram) || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("Find(no-such-program) = %q, %v, want ErrNoProgram", path, err)
	}
	if path, err := a.Find(t.Context(), workload.CommandSpec{Argv: []string{"sh"}}); (err == nil) != (e.Name() == "host") {
		t.Errorf("Find(sh) = %q, %v: the host has one, a container of the worker alone has none", path, err)
	}
	if _, err := trial(t, a, "2", workload.Spec{Name: "tree", Kind: workload.Tree, Count: 5}); err != nil {
		t.Errorf("a trial after it: %v", err)
	}
}

// fewPairs reports whether a pair of places is tried. Each pair needs a machine that boots, so not all are: each place has the sources
// once and the trials once, and a machine has two disks or two shares once.
func fewPairs(from, to, places int, kind place.Kind) bool {
	return to == (from+1)%places || to == from && kind != place.Tmpfs
}
