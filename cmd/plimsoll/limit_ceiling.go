package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/record"
	"plimsoll/internal/store"
	"plimsoll/internal/workload"
)

// resolveLimits turns percentages into numbers, of what the scope's device was measured to carry.
func (a *app) resolveLimits(ask limit.Ask, s *hold.Scope) (limit.Change, error) {
	var ceilings limit.Limits
	if len(ask.Percent) > 0 {
		devices := s.Devices()
		if len(devices) != 1 {
			return limit.Change{}, usageError("a percentage is of one device, and this is on %d: name one with --volume, --path or --device", len(devices))
		}
		var err error
		if ceilings, err = a.ceilings(devices[0].Name); err != nil {
			return limit.Change{}, err
		}
	}
	change, err := ask.Resolve(ceilings)
	if errors.Is(err, limit.ErrNoCeiling) {
		return change, &exitError{exitUsage, fmt.Errorf("%w (plimsoll run measures it)", err)}
	}
	if err != nil {
		return change, &exitError{exitUsage, err}
	}
	return change, nil
}

// ceilings are the greatest rates that the records of this machine have of a device: of each cell the median over
// its trials, and of those the greatest.
func (a *app) ceilings(device string) (limit.Limits, error) {
	path := filepath.Join(a.stateDir, "plimsoll.db")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return limit.Limits{}, nil
	}
	db, err := store.Open(path)
	if err != nil {
		return limit.Limits{}, err
	}
	defer db.Close()
	runs, err := db.IDs()
	if err != nil {
		return limit.Limits{}, err
	}
	var most [4]float64
	for _, run := range runs {
		cells := map[string][4][]float64{}
		for t, err := range db.EachTrial(run, store.TrialsOptions{}) {
			if err != nil {
				return limit.Limits{}, err
			}
			if r, ok := deviceRates(t, device); ok {
				c := cells[t.Key]
				for i := range r {
					c[i] = append(c[i], r[i])
				}
				cells[t.Key] = c
			}
		}
		for _, c := range cells {
			for i := range c {
				slices.Sort(c[i])
				most[i] = max(most[i], c[i][len(c[i])/2])
			}
		}
	}
	return limit.Limits{ReadBPS: int64(most[0]), WriteBPS: int64(most[1]), ReadIOPS: int64(most[2]), WriteIOPS: int64(most[3])}, nil
}

// deviceRates are what a trial read and wrote a second, in bytes and in I/Os, where all of it went to a device,
// past the page cache and without a limit.
func deviceRates(t record.Trial, device string) (r [4]float64, ok bool) {
	if t.Status != record.Done || t.Spec.Kind != workload.Block || !t.Spec.Job.Direct || t.Spec.Job.OpenLoop() || len(t.Results) == 0 {
		return r, false
	}
	for i, res := range t.Results {
		if i >= len(t.Truth) || t.Truth[i].Device != device || i < len(t.Where) && t.Where[i].Limits != "" || res.Elapsed <= 0 {
			return r, false
		}
		for _, c := range res.Classes {
			s := res.Elapsed.Seconds()
			switch c.Name {
			case "read":
				r[0], r[2] = r[0]+float64(c.Bytes)/s, r[2]+float64(c.Ops)/s
			case "write":
				r[1], r[3] = r[1]+float64(c.Bytes)/s, r[3]+float64(c.Ops)/s
			}
		}
	}
	return r, true
}
