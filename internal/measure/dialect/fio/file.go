package fio

import (
	"fmt"
	"path"
	"strings"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/dialect"
)

// file reads a job file.
func (p *parser) file(name string, depth int) error {
	return p.include(&fileParser{p: p, name: name, depth: depth})
}

// fileParser is where in a job file the parser is.
type fileParser struct {
	p      *parser
	name   string
	depth  int
	at     *section
	inside bool // of any section
}

func (f *fileParser) line(line, where string) error {
	p := f.p
	if i := strings.IndexAny(line, ";#"); i >= 0 {
		line = line[:i]
	}
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return nil
	case strings.ContainsRune(line, 0):
		return dialect.Usagef(where, "holds a NUL byte")
	case line[0] == '[':
		name, ok := strings.CutSuffix(line[1:], "]")
		if !ok && name != "" {
			name = name[:len(name)-1]
			p.test.note("%s: a section is written [name]; fio and Plimsoll drop the last letter of this one and call it %s", where, name)
		}
		if name == "" {
			return dialect.Usagef(where, "a section is written [name]")
		}
		f.at, f.inside = nil, true
		p.blocks++
		if name == "global" {
			return nil
		}
		var err error
		f.at, err = p.section(name, where, p.globals)
		return err
	case strings.HasPrefix(line, "include "):
		file := strings.TrimSpace(strings.TrimPrefix(line, "include "))
		if !path.IsAbs(file) {
			file = path.Join(path.Dir(f.name), file)
		}
		// Options of an included file belong to the section that includes it.
		inner := &fileParser{p: p, name: file, depth: f.depth + 1, at: f.at, inside: f.inside}
		return p.include(inner)
	case !f.inside:
		return dialect.Usagef(where, "an option before the first section; begin with [global] or [name]")
	}
	if plain, changed := dialect.Plain([]string{line}, func(string) bool { return true }); changed {
		line = strings.TrimLeft(plain[0], "-")
		p.test.note("%s: typographic dashes and quotes are read as plain ones: %s", where, line)
	}
	key, value, has := strings.Cut(line, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	value, err := p.expand(value)
	if err == nil {
		value, err = p.keyword(value)
	}
	if err != nil {
		return dialect.Usagef(where, "%v", err)
	}
	opt, err := find(key, where, false)
	if err != nil {
		return err
	}
	if opt.Name == "name" {
		if value == "" || len(value) > maxName {
			return dialect.Usagef(where, "name needs a value of up to %d bytes", maxName)
		}
		if f.at != nil {
			f.at.title = value
		} // As in fio, a name in [global] is printed among its options and names no job.
	}
	if p.count++; p.count > maxOptions {
		return dialect.Usagef(where, "more than %d options", maxOptions)
	}
	a := assignment{opt: opt, key: key, value: value, hasValue: has, where: where, block: p.blocks}
	if f.at == nil {
		p.globals = append(p.globals, a)
	} else {
		f.at.own = append(f.at.own, a)
	}
	return nil
}

// include reads a file. Its options before its first section belong to f's current section.
func (p *parser) include(f *fileParser) error {
	if f.depth > maxIncludes || p.includes > maxIncludes*4 {
		return dialect.Usagef(f.name, "too many includes, or a file includes itself")
	}
	p.includes++
	if p.src.ReadFile == nil {
		return dialect.Usagef(f.name, "job files can't be read here")
	}
	text, err := p.src.ReadFile(f.name, maxFile)
	if err != nil {
		return dialect.Usagef(f.name, "%v", userfile.Reason(err))
	}
	if f.name != "-" {
		p.test.sources = append(p.test.sources, f.name)
	}
	if p.text += len(text); p.text > maxFile {
		return dialect.Usagef(f.name, "the job files have more than %d bytes together", maxFile)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if err := f.line(strings.TrimSuffix(line, "\r"), fmt.Sprintf("%s:%d", f.name, i+1)); err != nil {
			return err
		}
	}
	return nil
}

// expand replaces ${NAME} by the environment variable.
func (p *parser) expand(s string) (string, error) {
	var out strings.Builder
	for {
		if out.Len()+len(s) > maxValue {
			return "", fmt.Errorf("a value of more than %d bytes", maxValue)
		}
		before, rest, ok := strings.Cut(s, "${")
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return "", fmt.Errorf("${%s: a brace is missing", rest)
		}
		value := ""
		if p.src.Env != nil {
			value = p.src.Env(name)
		}
		if value == "" {
			return "", fmt.Errorf("${%s} is not set", name)
		}
		out.WriteString(value)
		s = after
	}
}
