package main

import (
	"os/exec"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// TestVMRefusingShare: a machine's cell whose share refuses an operation half-way keeps the error, and how far it got, and the other cells
// are measured. The folder that is shared has no room for all of the tree's files.
func TestVMRefusingShare(t *testing.T) {
	kernel := needVM(t)
	share, dir := disktest.Mount(t, "share", "tmpfs", 0, "size=64m,nr_inodes=60,mode=0755"), machineState(t)
	shares := []string{"9p", "virtiofs"}
	for name, program := range map[string]string{"smb": "smbd", "nfs": "ganesha.nfsd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: scripts/setup guest installs it", err)
		}
		shares = append(shares, name)
	}
	plan := "name: refusing\nworkloads: {tree: {kind: tree, count: 100, bs: 4KiB}}\nengines: [vm]\nplaces: {layer: {}, share: {kind: bind, path: " + share + "}}\nsources: [layer]\n" +
		"exclude: [{engine: [virtiofs, smb, nfs], place: layer}]\nblocks: 1\n"
	plan = strings.Replace(plan, "engines: [vm]", strings.Replace(machines(kernel, shares...), "=", ": ", 1), 1)
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitCellsFailed {
		t.Fatalf("status %d, want %d\n%s\n%s", r.status, exitCellsFailed, r.stdout, r.stderr)
	}
	_, trials := records(t, dir)
	got := byKey(t, trials)
	if tr := got["tree/9p/layer:layer"]; tr.Status != record.Done {
		t.Errorf("the machine's own disk: %s", tr.Error)
	}
	// The one after the run tells the first of them, and how many there are.
	full := plimsoll(t, t.Context(), dir, "", "report", "last", "--full").stdout
	for _, name := range shares {
		tr := got["tree/"+name+"/layer:share"]
		if tr.Status != record.Failed || tr.Phase != "run" || tr.Progress == "" {
			t.Errorf("%s: %s at %s, got as far as %q", name, tr.Status, tr.Phase, tr.Progress)
			continue
		}
		texttest.Has(t, strings.ToLower(tr.Error), []string{"no space left on device"}, name)
		if !strings.Contains(strings.Join(strings.Fields(full), " "), tr.Progress) {
			t.Errorf("%s: the report lacks how far it got, %q:\n%s", name, tr.Progress, full)
		}
	}
	checkClean(t, dir)
}
