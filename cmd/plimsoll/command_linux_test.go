package main

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/texttest"
)

// needJekyll skips where the real one isn't installed.
func needJekyll(t *testing.T) {
	t.Helper()
	needRun(t)
	if _, err := exec.LookPath("jekyll"); err != nil {
		t.Skip("needs jekyll (Debian's package jekyll)")
	}
}

// byKey are trials by their keys; each has to be there once.
func byKey(t *testing.T, trials []record.Trial) map[string]record.Trial {
	t.Helper()
	out := map[string]record.Trial{}
	for _, tr := range trials {
		if _, twice := out[tr.Key]; twice {
			t.Errorf("%s was run twice", tr.Key)
		}
		out[tr.Key] = tr
	}
	return out
}

// TestSiteBuild builds a site: jekyll where it is, a tree in every cell, sources and pages each in a place of its own, cold and warm.
func TestSiteBuild(t *testing.T) {
	t.Parallel()
	needJekyll(t)
	setVariable(t, "DOCKER_HOST", dockertest.SharedDocker(t).Host)
	state := t.TempDir()
	r := plimsoll(t, t.Context(), state, "", "run", "site-build", "--quick", "--blocks", "1", "--only", noMachines)
	if r.status != exitDone {
		t.Fatalf("status %d\n%s", r.status, r.stderr)
	}
	run, trials := records(t, state)
	got := byKey(t, trials)
	// Jekyll on the host with its control; the trees there too, in 3 pairs of oci's places and 5 of docker's.
	if want := 2 + 2*(2+3+5); len(got) != want {
		t.Errorf("%d trials, want %d: %v", len(got), want, got)
	}
	for key, tr := range got {
		if tr.Status != record.Done {
			t.Errorf("%s: %s", key, tr.Error)
			continue
		}
		res := tr.Results[0]
		files := int64(360)
		if tr.Cell.Workload != "jekyll" {
			files = 180
		}
		if s := res.Source; s == nil || s.Files != files {
			t.Errorf("%s read %+v, want %d files", key, s, files)
			continue
		}
		share, cold := res.Source.Resident, tr.Spec.Reads == workload.Cold
		if cold && share > 0.1 {
			t.Errorf("%s: cold reads with %v of the sources in the page cache", key, share)
		}
		if !cold && share < 0.9 {
			t.Errorf("%s: reads %s with %v of the sources in the page cache", key, tr.Spec.Reads, share)
		}
		if apart := tr.Cell.Source != tr.Cell.Place; apart != (tr.Where[0].From != nil) {
			t.Errorf("%s: the record says of the sources' place %+v", key, tr.Where[0].From)
		}
	}
	j := got["jekyll/host/dir:dir"]
	if j.Metric.Unit != workload.Seconds || j.Value != j.Results[0].Elapsed.Seconds() {
		t.Errorf("jekyll took %v %s, want %v", j.Value, j.Metric.Unit, j.Results[0].Elapsed)
	}
	if end := j.Results[0].Command; end.Files < 360-10 {
		t.Errorf("jekyll made %d files", end.Files)
	}
	if w := got["tree-cold/oci/bind:layer"].Where[0]; w.Path != "" || w.From.Path == "" || w.From.Device == nil {
		t.Errorf("bind -> layer stood on %+v, from %+v", w, w.From)
	}
	reasons := map[string]int{}
	for _, s := range run.Skipped {
		reasons[s.Reason]++
	}
	lacks := "there is no program jekyll in the container, which has only the worker; name an image that has it (image: of the engine %s)"
	if reasons[fmt.Sprintf(lacks, "oci")] != 3 || reasons[fmt.Sprintf(lacks, "docker")] != 5 {
		t.Errorf("skipped: %v", reasons)
	}
	r.wantOutput(t, exitDone, "bind -> layer", "volume -> volume", "oci layer -> layer, oci bind -> layer, oci bind -> bind were not measured at jekyll: ", "rate or time")
	csv := plimsoll(t, t.Context(), state, "", "results", "export", "last", "--format", "csv").stdout
	head, _, _ := strings.Cut(csv, "\n")
	if !strings.HasSuffix(head, "source,source_fs_type,source_resident,exit_status,isolation") || !strings.Contains(csv, ",bind,ext4,") {
		t.Errorf("the CSV has no sources or exit status:\n%s", csv)
	}
	show := plimsoll(t, t.Context(), state, "", "results", "show", "last", "--trial", "jekyll/host/dir:dir", "--block", "1")
	show.wantOutput(t, exitDone, "exit status 0", "place dir -> dir", "| ", "done in")
	checkClean(t, state)
}

// TestRawWrite writes a file: dd where it is, the worker everywhere.
func TestRawWrite(t *testing.T) {
	t.Parallel()
	needRun(t)
	setVariable(t, "DOCKER_HOST", dockertest.SharedDocker(t).Host)
	state := t.TempDir()
	r := plimsoll(t, t.Context(), state, "", "run", "raw-write", "--quick", "--blocks", "1", "--only", noMachines, "--set", "workloads.write.size=8MiB", "--set", "workloads.synced.size=8MiB",
		"--set", `workloads.dd.argv=[dd, "if=/dev/urandom", "of=largefile", "bs=1048576", "count=8"]`)
	if r.status != exitDone {
		t.Fatalf("status %d\n%s", r.status, r.stderr)
	}
	_, trials := records(t, state)
	got := byKey(t, trials)
	if want := 2 + 3*(2+2+3); len(got) != want {
		t.Errorf("%d trials, want %d", len(got), want)
	}
	for key, tr := range got {
		if tr.Status != record.Done {
			t.Errorf("%s: %s", key, tr.Error)
			continue
		}
		res := tr.Results[0]
		switch tr.Cell.Workload {
		case "dd":
			if end := res.Command; end.Files != 1 || end.Bytes != 8<<20 || !strings.Contains(end.Stderr, "8388608 bytes") {
				t.Errorf("%s: %+v", key, end)
			}
		case "write", "synced":
			if _, written := res.Bytes(); written != 8<<20 || res.Prepared > res.Elapsed+1e9 || res.File.FirstTouch != 0 {
				t.Errorf("%s wrote %d bytes; prepared in %v, first touch %v: nothing is to be laid out", key, written, res.Prepared, res.File.FirstTouch)
			}
		}
		if tr.Cell.Source != "" {
			t.Errorf("%s has a source", key)
		}
	}
	checkClean(t, state)
}

// refusing is a plan of a build on a share that refuses to make a file in its middle: its file system has no more inodes. One
// cell has room, and ends well.
const refusing = `
name: refusing
workloads:
  jekyll:
    kind: command
    argv: [jekyll, build, --disable-disk-cache, --source, "{source}", --destination, "{destination}"]
    site: {posts: 12, files: 200, size: 2MB}
  tree: {kind: tree, count: 200, bs: 4KiB}
engines: [host, oci]
places:
  dir: {}
  layer: {}
  share: {kind: KIND, path: SHARE}
sources: [dir, layer]
baseline: {engine: host, place: dir}
exclude: [{engine: oci, workload: jekyll}]
blocks: 1
`

// TestRefusingShare: a cell whose share refuses an operation half-way is a result. It keeps the error, how far it got, its exit
// status and its last words, the report shows them, and the other cells are measured.
func TestRefusingShare(t *testing.T) {
	t.Parallel()
	needJekyll(t)
	for kind, keys := range map[string][]string{"dir": {"jekyll/host/dir:share", "tree/host/dir:share"}, "bind": {"tree/oci/layer:share"}} {
		share := disktest.Mount(t, "share", "tmpfs", 0, "size=64m,nr_inodes=120,mode=0755")
		state := t.TempDir()
		text := strings.NewReplacer("KIND", kind, "SHARE", share).Replace(refusing)
		args := []string{"run", "-"}
		if kind == "bind" {
			args = append(args, "--only", "workload=tree") // Jekyll is measured on the host, which has no binds.
		}
		r := plimsoll(t, t.Context(), state, text, args...)
		if r.status != exitCellsFailed {
			t.Fatalf("status %d, want %d\n%s", r.status, exitCellsFailed, r.stderr)
		}
		_, trials := records(t, state)
		failed := 0
		for _, tr := range trials {
			if tr.Status == record.Failed {
				failed++
			} else if tr.Cell.Place == "share" {
				t.Errorf("%s went well", tr.Key)
			}
		}
		if failed != len(keys) {
			t.Errorf("%d trials failed of %d, want %v", failed, len(trials), keys)
		}
		got := byKey(t, trials)
		for _, key := range keys {
			tr := got[key]
			if tr.Phase != "run" || tr.Progress == "" {
				t.Errorf("%s: failed at %s, got as far as %q", key, tr.Phase, tr.Progress)
			}
			if !strings.Contains(strings.ToLower(tr.Error), "no space left on device") {
				t.Errorf("%s: %s", key, tr.Error)
			}
			if tr.Cell.Workload != "jekyll" {
				continue
			}
			end := tr.Command
			if end == nil {
				t.Fatalf("%s: nothing is kept of the command", key)
			}
			if end.Exit != 1 {
				t.Errorf("%s: exit status %d, want 1", key, end.Exit)
			}
			if end.Files < 10 || end.Files >= 200 {
				t.Errorf("%s: %d files, want some of 200", key, end.Files)
			}
			if !strings.Contains(end.Stdout, "Generating") {
				t.Errorf("%s: printed %q", key, end.Stdout)
			}
			if !strings.Contains(tr.Log, end.Stdout) {
				t.Errorf("%s: the log %q lacks what was printed", key, tr.Log)
			}
			if !strings.Contains(tr.Progress, fmt.Sprintf("%d files and ", end.Files)) {
				t.Errorf("%s got as far as %q, with %d files", key, tr.Progress, end.Files)
			}
		}
		if kind != "dir" {
			continue
		}
		page := filepath.Join(t.TempDir(), "report.html")
		full := plimsoll(t, t.Context(), state, "", "report", "last", "--full")
		if made := plimsoll(t, t.Context(), state, "", "report", "last", "-o", page); made.status != exitDone {
			t.Errorf("report: %s", made.stderr)
		}
		b, err := os.ReadFile(page)
		mustDo(t, err)
		for name, text := range map[string]string{"the report after the run": r.stdout, "the full report": full.stdout, "the page": string(b)} {
			texttest.Has(t, strings.Join(strings.Fields(html.UnescapeString(text)), " "), []string{"dir -> share", "jekyll ended with exit status 1:", "No space left", "files and", "in the destination after"}, name)
		}
		if !strings.Contains(string(b), "Generating") || !strings.Contains(full.stdout, "| ") {
			t.Error("the log of jekyll is not shown")
		}
		show := plimsoll(t, t.Context(), state, "", "results", "show", "last", "--trial", "jekyll/host/dir:share", "--block", "1")
		show.wantOutput(t, exitDone, "exit status 1", "Generating")
		checkClean(t, state)
	}
}

// jekyllRoot makes a root file system with this machine's jekyll in it, of hard links.
func jekyllRoot(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("/var/tmp", "plimsoll-test-jekyll-")
	mustDo(t, err)
	t.Cleanup(func() { os.RemoveAll(root) })
	script := `set -e
cd "$1"
mkdir -p usr/bin usr/lib usr/share var/lib tmp
for l in bin lib lib64; do ln -s usr/$l $l; done
for p in /usr/lib/ruby /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu /usr/lib64 /usr/share/rubygems-integration /usr/share/ruby* /var/lib/gems /usr/share/zoneinfo; do
  [ ! -d "$p" ] || { mkdir -p ".${p%/*}"; cp -al "$p" ".$p" 2>/dev/null || cp -a "$p" ".$p"; }
done
for b in ruby jekyll env sh dash; do cp -L "$(command -v $b)" usr/bin/$b; done
`
	if out, err := exec.Command("sh", "-c", script, "sh", root).CombinedOutput(); err != nil {
		t.Skipf("needs a root file system with jekyll, which could not be made of this one: %v: %s", err, out)
	}
	return root
}

// TestJekyllInContainer: the real Jekyll in a container of an image that has it, from a bind into the layer.
func TestJekyllInContainer(t *testing.T) {
	t.Parallel()
	needJekyll(t)
	root := jekyllRoot(t)
	state := t.TempDir()
	r := plimsoll(t, t.Context(), state, "", "run", "site-build", "--quick", "--blocks", "1", "--set", "engines.oci.image="+root,
		"--set", "workloads.jekyll.site={posts: 6, files: 40, size: 400kB}", "--only", "engine=oci,workload=jekyll,source=bind|layer,place=layer|bind")
	if r.status != exitDone {
		t.Fatalf("status %d\n%s\n%s", r.status, r.stdout, r.stderr)
	}
	run, trials := records(t, state)
	if len(run.Skipped) > 0 || len(trials) != 4 {
		t.Errorf("%d trials, skipped %v; want 3 cells and a control", len(trials), run.Skipped)
	}
	for _, tr := range trials {
		if tr.Status != record.Done || tr.Results[0].Command.Files < 30 || tr.Results[0].Source.Files != 40 {
			t.Errorf("%s: %s, %+v", tr.Key, tr.Error, tr.Command)
		}
	}
	checkClean(t, state)

	// A second block goes on with the same cells.
	if r := plimsoll(t, t.Context(), state, "", "run", "--resume", "last", "--blocks", "2"); r.status != exitDone {
		t.Fatalf("resume: status %d\n%s", r.status, r.stderr)
	}
	if _, trials = records(t, state); len(trials) != 8 {
		t.Errorf("%d trials after a second block, want 8", len(trials))
	}
	checkClean(t, state)
}
