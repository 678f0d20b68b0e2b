package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// noMachines leaves the engines vm out of a built-in plan: they have tests of their own, in which nothing else measures time.
const noMachines = "engine=host|oci|docker"

// machineStarts makes QEMU's program one that notes each start before it goes on, and returns what tells which machines have a
// place that is measured: a line each. Those that the run's probe tries have none.
func machineStarts(t *testing.T) func() []string {
	t.Helper()
	qemu, err := exec.LookPath("qemu-system-x86_64")
	mustDo(t, err)
	dir := t.TempDir()
	log := filepath.Join(dir, "starts")
	mustDo(t, os.WriteFile(filepath.Join(dir, "qemu-system-x86_64"), []byte("#!/bin/sh\necho \"$*\" | tr '\\n' ' ' >>"+log+"\necho >>"+log+"\nexec "+qemu+" \"$@\"\n"), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() []string {
		b, err := os.ReadFile(log)
		mustDo(t, err)
		return slices.DeleteFunc(strings.Split(string(b), "\n"), func(line string) bool {
			return !strings.HasPrefix(line, "-name plimsoll-") || strings.HasPrefix(line, "-name plimsoll-try-")
		})
	}
}

// TestVMPlans: the plans site-build and raw-write have cells in machines, by the machine's own disk, by 9p and by virtiofs. Each of these has
// a figure, cold reads are distinguished from warm ones, and the report says that warm ones of a share don't show the border.
func TestVMPlans(t *testing.T) {
	kernel := needVM(t)
	const files = 30 // A tree's, of which each is read and written by an emulated processor.
	for plan, want := range map[string]struct {
		cells []string
		lacks string
		says  string
	}{
		"raw-write": {
			[]string{
				"write/vm/layer", "write/vm/bind", "write/virtiofs/bind", "synced/vm/layer", "synced/vm/bind", "synced/virtiofs/bind",
				"append/vm/layer", "append/vm/bind", "append/virtiofs/bind",
			},
			"there is no program dd in the virtual machine", "",
		},
		"site-build": {
			[]string{
				"tree-cold/vm/layer:layer", "tree-cold/vm/bind:layer", "tree-cold/vm/bind:bind", "tree-cold/virtiofs/bind:layer", "tree-cold/virtiofs/bind:bind",
				"tree-warm/vm/layer:layer", "tree-warm/vm/bind:layer", "tree-warm/vm/bind:bind", "tree-warm/virtiofs/bind:layer", "tree-warm/virtiofs/bind:bind",
			},
			"there is no program jekyll in the virtual machine",
			"Warm reads of a share (",
		},
	} {
		t.Run(plan, func(t *testing.T) {
			starts, dir := machineStarts(t), machineState(t)
			args := []string{"run", plan, "--quick", "--blocks", "1", "--only", "engine=host|vm|virtiofs"}
			if plan == "site-build" {
				args = append(args, "--set", fmt.Sprintf("workloads.tree-cold.count=%d", files), "--set", fmt.Sprintf("workloads.tree-warm.count=%d", files))
			} else {
				args = append(args, "--set", "workloads.write.size=8MiB", "--set", "workloads.synced.size=8MiB")
			}
			for _, e := range []string{"vm", "virtiofs"} {
				args = append(args, "--set", "engines."+e+".kernel="+kernel, "--set", "engines."+e+".accel=tcg", "--set", "engines."+e+".cpus=1")
			}
			r := plimsoll(t, t.Context(), dir, "", args...)
			if r.status != exitDone {
				t.Fatalf("status %d\n%s", r.status, r.stderr)
			}
			run, trials := records(t, dir)
			done := map[string]int{}
			for _, tr := range trials {
				if tr.Status != record.Done {
					t.Errorf("%s: %s", tr.Key, tr.Error)
					continue
				}
				done[tr.Key]++
				if tr.Spec.Kind != workload.Tree {
					continue
				}
				share := tr.Where[0].FSType
				if from := tr.Where[0].From; from != nil {
					share = from.FSType
				}
				told := slices.ContainsFunc(tr.Warnings, func(w record.Warning) bool {
					return w.Check == check.Warm && strings.Contains(w.Text, "Warm reads of a share ("+share+")")
				})
				if want := tr.Spec.Reads == workload.Warm && (share == "9p" || share == "virtiofs"); told != want {
					t.Errorf("%s, which reads from %s, is told as warm reads of a share: %v, want %v", tr.Key, share, told, want)
				}
				// What the guest's kernel has of its own disk can be seen; a share is dropped from that kernel's cache alone.
				s := tr.Results[0].Source
				if s == nil || s.Files != files {
					t.Fatalf("%s read %+v, want %d files", tr.Key, s, files)
				}
				if tr.Spec.Reads == workload.Cold && s.Resident > 0.1 {
					t.Errorf("%s: cold reads with %v of the sources in the page cache", tr.Key, s.Resident)
				}
			}
			for _, key := range want.cells {
				if done[key] != 1 {
					t.Errorf("%s was measured %d times, want 1", key, done[key])
				}
			}
			for _, s := range run.Skipped {
				if !strings.Contains(s.Reason, want.lacks) {
					t.Errorf("skipped: %+v", s)
				}
			}
			if !strings.Contains(r.stdout, want.says) {
				t.Errorf("the report lacks %q:\n%s", want.says, r.stdout)
			}
			// One machine for all that is measured in one place of one engine.
			places := map[string]bool{}
			for _, key := range want.cells {
				_, place, _ := strings.Cut(key, "/")
				places[place] = true
			}
			all := starts()
			if n := len(all); n != len(places) {
				t.Errorf("%d machines were started for %d places:\n%s", n, len(places), strings.Join(all, "\n"))
			}
			checkClean(t, dir)
		})
	}
}
