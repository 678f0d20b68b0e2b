package main

import (
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
)

// checks is package check behind trial.Judge.
type checks struct{}

// Trial implements trial.Judge.
func (checks) Trial(t *record.Trial, run *record.Run) []record.Warning { return check.Trial(t, run) }

// Run implements trial.Judge.
func (checks) Run(run *record.Run, trials []record.Trial) []record.Warning {
	return check.Run(run, trials)
}
