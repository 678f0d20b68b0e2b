package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
)

// manualYAML finds the YAML of the manual.
var manualYAML = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// skippedAsTold are the reasons for which the manual itself says that cells are skipped: no daemon, no
// volume of oci's, limits that the host has not, a virtual machine without a kernel, and programs that a container of the worker
// alone has not.
var skippedAsTold = regexp.MustCompile(`docker\.sock|engine oci has no place volume|engine host has no limit (memory|cpus)|no Linux kernel is installed|kernel: stat|qemu-(system-x86_64|img) is not installed|(virtiofs|smb|ganesha\.nfs)d is not installed|only root may run ganesha\.nfsd|there is no program (jekyll|cp) `)

// whole makes a plan of a piece of one: the keys that it lacks are those of a small plan.
func whole(piece string) string {
	for _, line := range []string{
		"name: piece", "engines: [host, oci]", "places: {dir: {}, layer: {}, bind: {}}", "workloads: {rand: {kind: append, count: 100}}",
	} {
		key, _, _ := strings.Cut(line, ":")
		if !regexp.MustCompile(`(?m)^` + key + `:`).MatchString(piece) {
			piece = line + "\n" + piece
		}
	}
	return piece
}

// lesser replaces what makes a plan take minutes and gigabytes, and puts the folders that it names
// below another.
func lesser(t *testing.T, text, folder string) string {
	t.Helper()
	path := regexp.MustCompile(`path: (/[a-z/]+)`)
	for _, m := range path.FindAllStringSubmatch(text, -1) {
		mustDo(t, os.MkdirAll(filepath.Join(folder, m[1]), 0o755))
	}
	for _, r := range []struct{ find, with string }{
		{`size: \d+[GM]iB`, "size: 4MiB"},
		{`(runtime|ramp_time): \d+m?s`, "$1: 200ms"}, // In 50 ms a busy disk may do nothing.
		{`runtime: \d+m\b`, "runtime: 2s"},           // Of a job that ends when it is steady.
		{`round: \d+s`, "round: 100ms"},
		{`count: \d+`, "count: 100"},
		{path.String(), "path: " + folder + "$1"},
	} {
		text = regexp.MustCompile(r.find).ReplaceAllString(text, r.with)
	}
	// A tmpfs holds the files of all of its jobs.
	return regexp.MustCompile(`(tmpfs: +\{size): 4MiB`).ReplaceAllString(text, "$1: 64MiB")
}

// TestManualPlansRun runs every plan of the manual, and every piece of one in a small plan: one block of
// it, shorter and on smaller files. No cell may fail; those of a daemon are skipped here, and
// TestManualToolLines and TestRunEngines have one.
func TestManualPlansRun(t *testing.T) {
	t.Parallel()
	needRun(t)
	setVariable(t, "DOCKER_HOST", "unix:///nowhere/docker.sock")
	var plans []subtest
	for _, page := range manual(t) {
		b, err := os.ReadFile(page)
		mustDo(t, err)
		for _, m := range manualYAML.FindAllStringSubmatch(string(b), -1) {
			if strings.HasPrefix(m[1], "rules:") || filepath.Base(page) == "profile.md" || strings.Contains(filepath.Base(page), "volume") {
				continue // A policy; TestManualPolicies reads those. Or a profile, which package profile's tests read, or a file of Compose.
			}
			name := strings.Trim(strings.Fields(m[1])[0], ":")
			plans = append(plans, subtest{filepath.Base(page) + " " + name, func(t *testing.T) {
				text, dir := lesser(t, whole(m[1]), t.TempDir()), t.TempDir()
				r := plimsoll(t, t.Context(), dir, text, "run", "-", "--blocks", "1")
				if r.status != exitDone {
					t.Errorf("status %d\n%s\n%s", r.status, text, r.stderr)
				}
				run, trials := records(t, dir)
				if run.Status != record.Done || len(trials) == 0 {
					t.Errorf("the run is %s with %d trials", run.Status, len(trials))
				}
				for _, tr := range trials {
					if tr.Status != record.Done || len(tr.Results) == 0 || tr.Results[0].Ops() == 0 {
						t.Errorf("%s: %s %s\n%s\n%s", tr.Key, tr.Status, tr.Error, strings.Join(tr.Waits, "\n"), tr.Log)
					}
				}
				for _, s := range run.Skipped {
					if !skippedAsTold.MatchString(s.Reason) {
						t.Errorf("skipped %+v: %s", s.Cell, s.Reason)
					}
				}
				checkClean(t, dir)
			}})
		}
	}
	abreast(t, 2, plans)
	if len(plans) < 9 {
		t.Errorf("only %d plans and pieces were found", len(plans))
	}
}
