package fio

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"plimsoll/internal/measure/dialect"
)

// Bounds of the parser. They protect the machine from a typing error or a hostile file.
const (
	maxFile     = 1 << 20
	maxIncludes = 16
	maxSections = 1024
	maxOptions  = 20000
	maxClones   = 1024
	maxFiles    = 16384
	maxValue    = 64 << 10
	maxName     = 255     // NAME_MAX: a job's name is part of its files'
	maxPath     = 4095    // PATH_MAX without its NUL
	maxPaths    = 8 << 20 // bytes of all paths
	// maxWork bounds the bytes of global options, counted once for each job that inherits them.
	maxWork = 16 << 20
)

// A Source gives Parse access to everything but its arguments.
type Source struct {
	// ReadFile reads a job file; "-" is standard input, as in fio. nil: no files.
	ReadFile dialect.FileReader
	// Env is os.Getenv: ${NAME} in a job file.
	Env func(name string) string
	// Machine is the value of a job file's keyword: pagesize, mb_memory or ncpus. nil or 0: not known.
	Machine func(keyword string) int64
	// Device reports whether a path is a device of this machine: a job of that name uses it. nil: no path is.
	Device func(path string) bool
}

// assignment is an option as it was written.
type assignment struct {
	opt        *Option
	key, value string
	hasValue   bool
	where      string
	// block is the number of the file's section that contains it, 0 on a command line.
	block int
}

// parser collects jobs from a command line and its files.
type parser struct {
	src      Source
	test     *Test
	cmd      []assignment // before the first --name
	globals  []assignment
	sections []*section
	only     []string // --section
	count    int
	work     int
	text     int // bytes of all files
	blocks   int // sections of files, including [global]
	includes int
}

// section is a job before its options are applied.
type section struct {
	name, where string
	// title is the job's name if name= sets one. As in fio, --section and file names use name all the same.
	title   string
	globals []assignment
	own     []assignment
}

// Parse reads a fio command line, without the program's name, and its job files. Errors are *dialect.UsageErrors.
func Parse(args []string, src Source) (*Test, error) {
	p := &parser{src: src, test: &Test{Formats: []string{"normal"}, terseVersion: 3, isDevice: src.Device, readFile: src.ReadFile}}
	files, err := p.line(args)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		// Each file begins with the command line's globals.
		p.globals = slices.Clone(p.cmd)
		if err := p.file(f, 0); err != nil {
			return nil, err
		}
	}
	return p.finish()
}

// line parses the arguments and returns the job files.
func (p *parser) line(args []string) (files []string, err error) {
	var at *section
	all := len(args)
	for len(args) > 0 {
		arg, n := args[0], all-len(args)
		args = args[1:]
		if arg == "--" {
			files = append(files, args...)
			break
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			files = append(files, arg)
			continue
		}
		key, value, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		where := dialect.Argument(n, arg)
		takes := func() error {
			if has {
				return nil
			}
			if len(args) == 0 {
				return dialect.Usagef(where, "needs a value")
			}
			value, has, args = args[0], true, args[1:]
			where += " " + value
			return nil
		}
		if key, err = inFull(key, where); err != nil {
			return nil, err
		}
		if c, ok := commands[key]; ok {
			if c.value {
				if err := takes(); err != nil {
					return nil, err
				}
			}
			if err := c.do(p, value); err != nil {
				return nil, dialect.Usagef(where, "%v", err)
			}
			continue
		}
		opt, err := find(key, where, true)
		if err != nil {
			return nil, err
		}
		if !opt.Bare {
			if err := takes(); err != nil {
				return nil, err
			}
		}
		if opt.Name == "name" {
			if value == "" {
				return nil, dialect.Usagef(where, "a job needs a name")
			}
			if at = nil; value == "global" {
				continue
			}
			if at, err = p.section(value, where, p.cmd); err != nil {
				return nil, err
			}
		}
		if p.count++; p.count > maxOptions || len(value) > maxValue {
			return nil, dialect.Usagef("fio", "there are more than %d options, or a value has more than %d bytes", maxOptions, maxValue)
		}
		a := assignment{opt: opt, key: key, value: value, hasValue: has, where: where}
		if at == nil {
			p.cmd = append(p.cmd, a)
		} else {
			at.own = append(at.own, a)
		}
	}
	return files, nil
}

// section begins a job.
func (p *parser) section(name, where string, globals []assignment) (*section, error) {
	if len(p.sections) >= maxSections {
		return nil, dialect.Usagef(where, "there are more than %d jobs", maxSections)
	}
	if len(name) > maxName {
		return nil, dialect.Usagef("fio", "the name of a job has more than %d bytes", maxName)
	}
	s := &section{name: name, where: where, globals: slices.Clip(globals)}
	for _, g := range globals {
		p.work += len(g.key) + len(g.value)
	}
	if p.work > maxWork {
		return nil, dialect.Usagef(where, "too many jobs for that many global options")
	}
	p.sections = append(p.sections, s)
	return s, nil
}

// find looks up an option, and refuses an unknown or unsupported one.
func find(key, where string, line bool) (*Option, error) {
	opt, ok := byName[key]
	if ok {
		return opt, nil
	}
	names := supportedNames
	if line {
		names = append(slices.Clone(names), commandNames...)
	}
	if n := dialect.Nearest(key, names); n != "" {
		return nil, dialect.Usagef(where, "there is no option %s; did you mean %s?", key, n)
	}
	return nil, dialect.Usagef(where, "there is no option %s; docs/reference/fio.md has the list", key)
}

// nameless are options that need no value in a file: they default to the job's name. On a command line they take the
// next word, as in fio.
var nameless = []string{"write_bw_log", "write_lat_log", "write_iops_log"}

// apply sets the option in j.
func (a assignment) apply(j *job) error {
	value := a.value
	switch {
	case a.opt.Bare && !a.hasValue:
		value = "1"
	case value == "" && slices.Contains(nameless, a.opt.Name):
	case !a.hasValue || value == "":
		return dialect.Usagef(a.where, "%s needs a value", a.key)
	}
	if a.opt.Support == Refused {
		if slices.Contains(a.opt.Off, value) {
			return nil
		}
		return dialect.Usagef(a.where, "%s is not supported: %s", a.key, why(a.opt.Name, a.opt.Text))
	}
	if err := a.opt.set(j, value); err != nil {
		return dialect.Usagef(a.where, "%s: %v", a.key, err)
	}
	return nil
}

// finish turns the sections into jobs.
func (p *parser) finish() (*Test, error) {
	t := p.test
	clones, files := 0, 0
	var looked []assignment // globals that were checked; most sections share them
	for _, s := range p.sections {
		if len(p.only) > 0 && !slices.Contains(p.only, s.name) {
			continue
		}
		if len(s.globals) > 0 && (len(looked) != len(s.globals) || &looked[0] != &s.globals[0]) {
			looked = s.globals
			if err := t.contradictions("global", s.globals); err != nil {
				return nil, err
			}
		}
		if err := t.contradictions(s.name, s.own); err != nil {
			return nil, err
		}
		j, err := s.job()
		if err != nil {
			return nil, err
		}
		if clones += j.numjobs; clones > maxClones {
			return nil, dialect.Usagef(s.where, "there are more than %d clones in all", maxClones)
		}
		if files += j.numjobs * j.nrfiles; files > maxFiles {
			return nil, dialect.Usagef(s.where, "there are more than %d files in all", maxFiles)
		}
		t.jobs = append(t.jobs, j)
	}
	for _, o := range p.only {
		if !slices.ContainsFunc(p.sections, func(s *section) bool { return s.name == o }) {
			var names []string
			for _, s := range p.sections {
				names = append(names, s.name)
			}
			if n := dialect.Nearest(o, names); n != "" {
				return nil, dialect.Usagef("--section="+o, "there is no such job; did you mean %s?", n)
			}
			return nil, dialect.Usagef("--section="+o, "there is no such job")
		}
	}
	if t.Version {
		return t, nil
	}
	if len(t.jobs) == 0 && t.ParseOnly && p.includes > 0 {
		return t, nil // As in fio, a file may have only [global], for others to include.
	}
	if t.idle == calibrateOnly {
		return t, nil
	}
	if len(t.jobs) == 0 {
		return nil, dialect.Usagef("command line", "no job: name a job file, or begin a job with --name=NAME --rw=...")
	}
	if len(p.sections) > 0 {
		for _, a := range p.sections[0].globals {
			t.globals = append(t.globals, a.pair()...)
		}
	}
	if err := t.plan(); err != nil {
		return nil, err
	}
	return t, nil
}

// pair is the option as fio's JSON shows it; one without a value is left out.
func (a assignment) pair() []keyValue {
	if !a.hasValue {
		return nil
	}
	return []keyValue{{a.opt.Name, a.value}}
}

// job makes a job from the section's options.
func (s *section) job() (*job, error) {
	j := newJob()
	j.name, j.section, j.where = cmp.Or(s.title, s.name), s.name, s.where
	own := basesFirst(s.own)
	for _, a := range own {
		j.own = append(j.own, a.pair()...)
	}
	for _, a := range slices.Concat(basesFirst(s.globals), own) {
		if a.opt.Name == "name" {
			continue
		}
		if err := a.apply(j); err != nil {
			return nil, err
		}
	}
	bad := func(format string, args ...any) error { return dialect.Usagef(j.where, format, args...) }
	if err := errors.Join(j.unalign(slices.Concat(basesFirst(s.globals), own)), j.sizesByWay(bad)); err != nil {
		return nil, err
	}
	j.spans = [3]string{span(j.readSplit, j.bs.read, j.kbBase), span(j.writeSplit, j.bs.write, j.kbBase), span(j.trimSplit, j.bs.trim, j.kbBase)}
	switch {
	case j.trims():
		j.trimsAreReads()
	case j.pairs():
		j.writesAreTrims()
	}
	j.invalidate = j.invalidate && !j.preRead // As in fio.
	return j, j.check()
}

// basesFirst sorts a file section's options as fio does: kb_base first, filename last. On a command line their order
// matters: kb_base applies to later sizes, and nrfiles after filename limits the files used.
func basesFirst(all []assignment) []assignment {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b assignment) int {
		rank := func(a assignment) int {
			switch {
			case a.block == 0:
				return 0
			case a.opt.Name == "kb_base":
				return 3 * a.block
			case a.opt.Name == "filename":
				return 3*a.block + 2
			}
			return 3*a.block + 1
		}
		return rank(a) - rank(b)
	})
	return out
}
