package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"plimsoll/internal/dialect/fio"
	"plimsoll/internal/plan"
	"plimsoll/plans"
)

// isJobFile reports whether a plan's text is a job file of fio: by its name, or since a section comes first, as in no plan.
func isJobFile(file string, text []byte) bool {
	if filepath.Ext(file) == ".fio" {
		return true
	}
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && line[0] != ';' {
			return line[0] == '[' && line[len(line)-1] == ']'
		}
	}
	return false
}

// planOfJobs is the plan of a job file: its jobs in the engines and places of the default plan.
func (a *app) planOfJobs(ctx context.Context, file string, text []byte) ([]byte, error) {
	read := a.fileReader(ctx)
	test, err := fio.Parse([]string{file}, fio.Source{Env: os.Getenv, Machine: machineWord, ReadFile: func(name string, limit int64) ([]byte, error) {
		if name == file {
			return text, nil // It may have been standard input.
		}
		return read(name, limit)
	}})
	if err != nil {
		return nil, usageError("%w", err)
	}
	jobs, err := test.Plan(lengthOf)
	if err != nil {
		return nil, usageError("%w", err)
	}
	base, err := plans.Get(defaultPlan)
	if err != nil {
		return nil, err
	}
	p, err := plan.Parse(plans.File(defaultPlan), base)
	if err != nil {
		return nil, err
	}
	p.Name, p.Description = fio.PlanName(strings.TrimSuffix(filepath.Base(file), ".fio")), "The jobs of "+filepath.Base(file)
	p.Workloads, p.IOEngine = jobs.Workloads, jobs.IOEngine
	p.Include, p.Exclude, p.Sources = nil, nil, nil
	p.FitTimeout()
	out := p.Marshal()
	// An option that a plan has no word for would be lost silently.
	q, err := plan.Parse(file+" as a plan", out)
	if err != nil {
		return nil, usageError("%w", err)
	}
	for i, w := range jobs.Workloads {
		if lost := differs(w.Job, q.Workloads[i].Job); lost != "" {
			return nil, usageError("%s: job %s has options that a plan's workload doesn't have: %s; run it with 'plimsoll fio', in any place", file, w.Name, lost)
		}
	}
	for _, n := range jobs.Notes {
		fmt.Fprintln(a.stderr, "note: "+n)
	}
	return out, nil
}

// lengthOf is the length of a file that is there, for a job without a size.
func lengthOf(name string) (int64, error) {
	st, err := os.Stat(name)
	switch {
	case err != nil:
		return 0, fmt.Errorf("give a size: a plan makes the job's file in each place, and there is none here to take its length from: %w", err)
	case !st.Mode().IsRegular():
		return 0, fmt.Errorf("give a size in bytes: a plan makes the job's file in each place, and %s is none", name)
	}
	return st.Size(), nil
}

// differs names the fields in which two structs of one type differ, by their words in JSON.
func differs(a, b any) string {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	var all []string
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			word, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("json"), ",")
			all = append(all, word)
		}
	}
	return strings.Join(all, ", ")
}
