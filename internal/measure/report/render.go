package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/usage"
)

// A Renderer prints a set of reports. It makes no decisions: all figures and sentences are in the model.
type Renderer interface {
	Render(w io.Writer, s Set) error
}

// A Set is one or more reports that are printed together.
type Set struct {
	Reports []*Report
	// Note says, for several reports, that they are not compared with each other, and how their machines differ.
	Note string
}

// NewSet makes a set of reports. Each run is compared only within itself, and the note says so.
func NewSet(reports ...*Report) Set {
	s := Set{Reports: reports}
	if len(reports) < 2 {
		return s
	}
	s.Note = fmt.Sprintf("%d runs, one after another. Each is compared within itself only", len(reports))
	if d := differences(reports); len(d) > 0 {
		s.Note += "; they were measured on machines that differ in " + strings.Join(d, ", ") +
			", so a figure of one run says nothing about another's"
	} else {
		s.Note += ": they ran on the same machine, but blocks of different runs are not paired"
	}
	s.Note += "."
	return s
}

// differences names the properties in which the machines of the reports differ.
func differences(reports []*Report) []string {
	var out []string
	first := reports[0].Run.Machine
	for _, f := range []struct {
		name string
		get  func(record.Machine) any
	}{
		{"host name", func(m record.Machine) any { return m.Hostname }},
		{"operating system", func(m record.Machine) any { return m.OS }},
		{"kernel", func(m record.Machine) any { return m.Kernel }},
		{"architecture", func(m record.Machine) any { return m.Arch }},
		{"CPU", func(m record.Machine) any { return m.CPUModel }},
		{"number of CPUs", func(m record.Machine) any { return m.CPUs }},
		{"memory", func(m record.Machine) any { return m.Memory }},
		{"hypervisor", func(m record.Machine) any { return m.Virtual }},
		{"cgroup version", func(m record.Machine) any { return m.Cgroup }},
		{"clock source", func(m record.Machine) any { return m.Clock }},
	} {
		if slices.ContainsFunc(reports, func(r *Report) bool { return f.get(r.Run.Machine) != f.get(first) }) {
			out = append(out, f.name)
		}
	}
	return out
}

// Formats are the names of the formats that New knows.
var Formats = []string{"text", "html", "md", "json", "csv"}

// Choose is the format of an output: the named one, else that of the file's ending, else text. The error is a *usage.Error.
func Choose(file, named string) (string, error) {
	if named == "" && file != "" {
		if named = FormatOf(file); named == "" {
			return "", usage.Errorf("the ending of %s names no format: use .html, .md, .json, .csv or .txt, or give --format", file)
		}
	}
	if named == "" {
		named = "text"
	}
	_, err := New(named, Terminal{})
	return named, err
}

// Render prints a set of reports in a format.
func Render(w io.Writer, format string, s Set, term Terminal) error {
	r, err := New(format, term)
	if err != nil {
		return err
	}
	return r.Render(w, s)
}

// New returns the renderer of a format. Only the text format uses term. The error is a *usage.Error.
func New(format string, term Terminal) (Renderer, error) {
	switch format {
	case "text":
		return Text{term}, nil
	case "html":
		return HTML{}, nil
	case "md":
		return Markdown{}, nil
	case "json":
		return JSON{}, nil
	case "csv":
		return CSV{}, nil
	}
	return nil, usage.Errorf("unknown format %q: it is one of %s", format, strings.Join(Formats, ", "))
}

// FormatOf derives the format from a file's name; "" if its extension is unknown.
func FormatOf(file string) string {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".html", ".htm":
		return "html"
	case ".md", ".markdown":
		return "md"
	case ".json":
		return "json"
	case ".csv":
		return "csv"
	case ".txt", ".text":
		return "text"
	}
	return ""
}

// printer writes, and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
