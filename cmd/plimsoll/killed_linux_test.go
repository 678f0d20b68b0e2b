package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/ownertest"
)

// states name the state folders of tests: what plimsoll made and noted in one stays if the test's process is killed.
var states = ownertest.Notes{Kind: "plimsoll", Remove: sweepState}

// sweepState has plimsoll sweep a killed test's state folder, but for what a daemon of that test has: package dockertest removes the daemon.
func sweepState(state string) error {
	a := &app{stderr: os.Stderr, stateDir: state}
	for _, kind := range []string{plan.Host, plan.OCI} {
		e, err := a.engines().New(kind)
		if err != nil {
			return err
		}
		a.engines().Sweep(context.Background(), e)
	}
	// What lives still, another process of that test, is for a later sweep.
	var errs []error
	for _, kind := range []string{plan.Host, plan.OCI} {
		list, err := journal.In(state).Entries(kind + "-session")
		errs = append(errs, err)
		for _, e := range list {
			errs = append(errs, fmt.Errorf("%s %s is still there", e.Kind, e.ID))
		}
	}
	return errors.Join(errs...)
}

// TestKilledTest: what a killed process of tests left is removed by the next, and what another has stays.
func TestKilledTest(t *testing.T) {
	needRun(t)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(ownertest.EnvFolder, os.TempDir()) // Notes of these processes only.
	t.Cleanup(func() { states.Sweep(t) })
	var preys [2]*exec.Cmd
	var dirs [2]string
	for i := range preys {
		dirs[i] = t.TempDir()
		preys[i] = exec.Command(os.Args[0], "-test.run=^TestPrey$")
		preys[i].Env = append(os.Environ(), preyState+"="+dirs[i])
		said := &output{}
		preys[i].Stdout = said
		mustDo(t, preys[i].Start())
		t.Cleanup(func() { preys[i].Process.Kill(); preys[i].Wait() })
		if measuring(dirs[i], 100) == 0 {
			t.Fatalf("nothing is measured:\n%s", said)
		}
	}
	// Looked at before the kill: after it the runtime may remove the groups too, once the agents in them have ended.
	dead, living := groupsOf(dirs[0]), groupsOf(dirs[1])
	if len(dead) == 0 || len(living) == 0 {
		t.Fatalf("groups of the process that is to be killed: %v, of the living one: %v", dead, living)
	}
	preys[0].Process.Kill()
	preys[0].Wait()
	if left, err := journal.In(dirs[0]).Entries(plan.OCI + "-session"); err != nil || len(left) == 0 {
		t.Fatalf("the killed process left %d sessions to sweep, error %v", len(left), err)
	}
	states.Sweep(t)
	if left := leaktest.Find(append(dead, dirs[0])...); len(left) > 0 {
		t.Errorf("of the killed process there is still %v", left)
	}
	if len(leaktest.Find(living...)) == 0 {
		t.Error("a living process's groups are gone")
	}
}

// preyState is the environment's state folder for TestPrey.
const preyState = "PLIMSOLL_TEST_PREY"

// TestPrey is the process that TestKilledTest kills, in the middle of a run.
func TestPrey(t *testing.T) {
	state := os.Getenv(preyState)
	if state == "" {
		return // TestKilledTest starts it.
	}
	r := plimsoll(t, t.Context(), state, `
name: prey
workloads: {r: {rw: randread, bs: 4KiB, size: 1MiB, runtime: 50s}}
engines: [oci]
places: {layer: {}}
io_engine: psync
blocks: 1
`, "run", "-")
	t.Fatalf("it ended: status %d, %s", r.status, r.stderr)
}

// groupsOf are the control groups of the oci engine's sessions in a state folder's journal that are there, by the sessions' names.
func groupsOf(state string) (names []string) {
	list, _ := journal.In(state).Entries(plan.OCI + "-session")
	for _, e := range list {
		if name := "/plimsoll-" + e.ID; len(leaktest.Find(name)) > 0 {
			names = append(names, name)
		}
	}
	return names
}
