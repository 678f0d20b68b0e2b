package vm_test

import (
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
)

// TestVMSources: both places of a machine may be shares with daemons of their own: what is read comes from one, what is written goes to
// the other. With 9p, NFS and the virtiofsd in C
// the engines' suite has that.
func TestVMSources(t *testing.T) {
	needVM(t)
	t.Run("smb", func(t *testing.T) {
		needSMBD(t)
		o := testOptions(t, sharedState(t))
		o.Share = vm.ShareSMB
		fromOneToTheOther(t, o)
	})
	t.Run("virtiofs", func(t *testing.T) {
		eachVirtioFS(t, func(t *testing.T, language string, o func(*testing.T, string) vm.Options) {
			if language == "Rust" {
				fromOneToTheOther(t, o(t, sharedState(t)))
			}
		})
	})
}

// fromOneToTheOther has a machine with two shares copy files from one to the other.
func fromOneToTheOther(t *testing.T, o vm.Options) {
	t.Helper()
	share := o.Share
	from, to := t.TempDir(), t.TempDir()
	spec := engine.Spec{Place: place.Spec{Kind: place.Bind, Path: to}, Source: &place.Spec{Kind: place.Bind, Path: from}}
	a := openVM(t, vm.New(o), "sources-"+share, spec)
	info := a.Session.Info()
	if info.SourcePath == "" || info.SourcePath == info.HostPath || !strings.Contains(info.Storage, "; sources: "+share) {
		t.Errorf("Info() = %+v", info)
	}
	if err := a.Prepare(t.Context(), "1", workload.Spec{Name: "tree", Kind: workload.Tree, Count: 5, BS: 1024, Reads: workload.Cold}); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	res, err := a.Wait(t.Context(), "1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Ops() != 5 || res.Source == nil || res.Source.Files != 5 {
		t.Errorf("%d operations, sources %+v", res.Ops(), res.Source)
	}
	for folder, want := range map[string]int{info.SourcePath: 5, info.HostPath: 0} {
		if files, _ := filepath.Glob(filepath.Join(folder, "tree", "src-5-1024", "d000", "f0*")); len(files) != want {
			t.Errorf("%d source files in %s, want %d", len(files), folder, want)
		}
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNothingLeft(t, o.State, "sources-"+share)
	for _, dir := range []string{from, to} {
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}
