package check

import "plimsoll/internal/measure/record"

// A Judge is Trial and Run as methods, for what runs trials.
type Judge struct{}

// Trial returns the doubts about one trial.
func (Judge) Trial(t *record.Trial, run *record.Run) []record.Warning { return Trial(t, run) }

// Run returns those about all of them.
func (Judge) Run(run *record.Run, trials []record.Trial) []record.Warning {
	return Run(run, trials)
}
