package main

import (
	"plimsoll/internal/check"
	"plimsoll/internal/record"
)

// judge is package check behind trial.Judge.
type judge struct{}

// Trial implements trial.Judge.
func (judge) Trial(t *record.Trial, run *record.Run) []record.Warning { return check.Trial(t, run) }

// Run implements trial.Judge.
func (judge) Run(run *record.Run, trials []record.Trial) []record.Warning {
	return check.Run(run, trials)
}
