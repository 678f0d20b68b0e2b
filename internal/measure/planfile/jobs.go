package planfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/fio"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/usage"
	"plimsoll/load"
	"plimsoll/plans"
)

// isJobFile reports whether a plan's text is a job file of fio: by its name, or because it begins with a section, as no
// plan does.
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

// planOfJobs returns the plan of a job file: its jobs in the engines and places of the default plan.
func planOfJobs(file string, text []byte, read dialect.FileReader, note func(string)) ([]byte, error) {
	test, err := fio.Parse([]string{file}, fio.Source{Env: os.Getenv, Machine: fio.MachineWord, ReadFile: func(name string, limit int64) ([]byte, error) {
		if name == file {
			return text, nil // It may have been standard input.
		}
		return read(name, limit)
	}})
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	jobs, err := test.Plan(lengthOf)
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	base, err := plans.Get(plans.Default)
	if err != nil {
		return nil, err
	}
	p, err := plan.Parse(plans.File(plans.Default), base)
	if err != nil {
		return nil, err
	}
	p.Name, p.Description = fio.PlanName(strings.TrimSuffix(filepath.Base(file), ".fio")), "The jobs of "+filepath.Base(file)
	p.Workloads, p.IOEngine = jobs.Workloads, cmp.Or(jobs.IOEngine, plan.Common)
	p.Include, p.Exclude, p.Sources = nil, nil, nil
	p.FitTimeout()
	where, err := putIn(p, jobs.Folders)
	if err != nil {
		return nil, err
	}
	jobs.Notes = append(jobs.Notes, where)
	out := p.Marshal()
	// An option that a plan can't express would be lost silently.
	q, err := plan.Parse(file+" as a plan", out)
	if err != nil {
		return nil, usage.Errorf("%w", inJobFile(err, jobs))
	}
	for i, w := range jobs.Workloads {
		if lost := differs(w.Job, q.Workloads[i].Job) + differs(plain(w), plain(q.Workloads[i])); lost != "" {
			return nil, usage.Errorf("%s: job %s has options that a plan's workload doesn't have: %s; run it with 'plimsoll fio', in any place", jobs.Where[i], w.Name, lost)
		}
	}
	for _, n := range jobs.Notes {
		note(n)
	}
	return out, nil
}

// inJobFile replaces the positions of a plan's faults by the lines of the job file, because that is what the user
// wrote.
func inJobFile(err error, jobs *fio.Planned) error {
	var all strict.Errors
	if !errors.As(err, &all) {
		return err
	}
	var out []error
	for _, e := range all {
		var fault *strict.Error
		if errors.As(e, &fault) {
			for i, w := range jobs.Workloads {
				if rest, ok := strings.CutPrefix(fault.Message, "workloads."+w.Name); ok && (rest[0] == ':' || rest[0] == '.') {
					e = fmt.Errorf("%s: job %s as a plan's workload: %s", jobs.Where[i], w.Name, strings.TrimLeft(rest, ":. "))
				}
			}
		}
		out = append(out, e)
	}
	return errors.Join(out...)
}

// plain returns a workload without its job.
func plain(w workload.Spec) workload.Spec {
	w.Job = load.Job{}
	return w
}

// putIn sets the plan's host folders to those of the jobs, and says so. A second folder adds a pair of places.
func putIn(p *plan.Plan, folders []string) (note string, err error) {
	if len(folders) == 0 {
		return "no job names a folder: the places dir and bind are folders of Plimsoll's own; directory=FOLDER in the job file moves both there", nil
	}
	var at []string
	for i, f := range folders {
		if f, err = filepath.Abs(f); err != nil {
			return "", err
		}
		at = append(at, f)
		for _, kind := range []place.Kind{place.Dir, place.Bind} {
			if k := slices.IndexFunc(p.Places, func(s place.Spec) bool { return s.Name == string(kind) }); i == 0 && k >= 0 {
				p.Places[k].Path = f
				continue
			}
			p.Places = append(p.Places, place.Spec{Name: fmt.Sprintf("%s-%d", kind, i+1), Kind: kind, Path: f})
		}
	}
	return "the places dir and bind are in the folder of the jobs' files: " + strings.Join(at, ", ") + "; a plan makes files of its own there, in a sub-folder that it removes, and each job is measured in all places", nil
}

// lengthOf returns the length of an existing file, for a job without a size.
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

// differs names the fields in which two structs of the same type differ, by their names in JSON.
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
