package plimsoll_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCleanMachineJudges: the script fails where it proves nothing: without root or mmdebstrap, without a report.html, and without a
// trial in a container. The machine is a stand-in: a real one takes half an hour (make test-clean).
func TestCleanMachineJudges(t *testing.T) {
	row := func(engine, status string) string {
		return fmt.Sprintf("r,0,0,wal/%[1]s/dir,wal,%[1]s,dir,none,1,false,2026-11-21T15:00:00Z,%[2]s,IOPS,1/s,100\n", engine, status)
	}
	const head = "run,block,order,key,workload,engine,place,limits,clients,control,started,status,metric,unit,value\n"
	good := head + row("host", "done") + row("oci", "done")
	for _, tt := range []struct {
		name, uid, page, csv string
		without              string
		want                 string // text of a failure; "" is success
	}{
		{"not root", "1000", "<html>", good, "", "nothing was tested: making a root file system needs root"},
		{"no mmdebstrap", "0", "<html>", good, "mmdebstrap", "nothing was tested: mmdebstrap is missing"},
		{"no page", "0", "", good, "", "run: there is no report.html"},
		{"no export", "0", "<html>", "", "", "run: no trial of oci was done"},
		{"all of oci skipped", "0", "<html>", head + row("host", "done"), "", "run: no trial of oci was done"},
		{"oci failed", "0", "<html>", head + row("host", "done") + row("oci", "failed"), "", "run: no trial of oci was done"},
		{"one of oci failed", "0", "<html>", good + row("oci", "failed"), "", "run: trials of oci failed"},
		{"measured", "0", "<html>", good, "", ""},
	} {
		tr := newTree(t, "scripts/clean-machine")
		tr.stand("id", "echo "+tt.uid)
		tr.stand("mmdebstrap", `for a; do case $a in /*) mkdir -p "$a/etc" "$a/usr/local/share/ca-certificates";; esac; done`)
		tr.stand("git", "true")
		tr.stand("chroot", "true")
		// Inside, this makes the files of make run, with the text of a report for skipped cells.
		tr.stand("unshare", `echo "oci layer skipped"
[ -n "$ROOT" ] || for a; do case $a in */root) ROOT=$a; break;; esac; done
mkdir -p "$ROOT/root/plimsoll/out"
[ -z "$PAGE" ] || echo "$PAGE" >"$ROOT/root/plimsoll/report.html"
[ -z "$CSV" ] || printf '%s' "$CSV" >"$ROOT/root/plimsoll/out/trials.csv"`)
		path := "PATH=" + tr.bin + ":" + os.Getenv("PATH")
		if tt.without != "" {
			if err := os.Remove(filepath.Join(tr.bin, tt.without)); err != nil {
				t.Fatal(err)
			}
			path = "PATH=" + tr.bin
			for _, tool := range []string{"bash", "env", "dirname", "mktemp", "rm"} {
				real, err := exec.LookPath(tool)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(real, filepath.Join(tr.bin, tool)); err != nil {
					t.Fatal(err)
				}
			}
		}
		out, err := tr.run("scripts/clean-machine run", path, "PAGE="+tt.page, "CSV="+tt.csv)
		if (err == nil) != (tt.want == "") || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v, want %q\n%s", tt.name, err, tt.want, out)
		}
		if tt.uid == "0" && tt.without == "" && !strings.Contains(out, "s of the 360 that make run may take") {
			t.Errorf("%s: the time is not held against what is promised:\n%s", tt.name, out)
		}
	}
}
