package fio

import (
	"fmt"
	"slices"
	"strings"
)

// command is an option of the program rather than of a job.
type command struct {
	value bool
	text  string
	do    func(p *parser, value string) error
}

func refusedCommand(name string, value bool, reason string) command {
	return command{value, "refused: " + why(name, reason), func(*parser, string) error { return fmt.Errorf("not supported: %s", why(name, reason)) }}
}

func ignoredCommand(value bool, why string) command {
	return command{value, "accepted: " + why, func(*parser, string) error { return nil }}
}

// commands are fio's options that belong to no job. docs/reference/fio.md is checked against it.
var commands = map[string]command{
	"section": {true, "only that job of the files; may be repeated", func(p *parser, v string) error {
		p.only = append(p.only, v)
		return nil
	}},
	"output": {true, "the file for the output", func(p *parser, v string) error {
		if v == "" || strings.ContainsRune(v, 0) {
			return fmt.Errorf("a file name is missing")
		}
		p.test.Output = v
		return nil
	}},
	"output-format": {true, "normal, json, json+, terse (minimal), or several with commas", setFormat},
	"readonly": {false, "refuses jobs that write", func(p *parser, _ string) error {
		p.test.readonly = true
		return nil
	}},
	"parse-only": {false, "checks the jobs and runs nothing", func(p *parser, _ string) error {
		p.test.ParseOnly = true
		return nil
	}},
	"eta":            ignoredCommand(true, "no progress line is printed"),
	"eta-newline":    ignoredCommand(true, "no progress line is printed"),
	"eta-interval":   ignoredCommand(true, "no progress line is printed"),
	"max-jobs":       ignoredCommand(true, "the maximum is always 1024 clones"),
	"alloc-size":     ignoredCommand(true, "memory is allocated as needed"),
	"warnings-fatal": ignoredCommand(false, "a mistake in a job is always an error"),
	"minimal": {false, "same as --output-format=terse", func(p *parser, _ string) error {
		p.test.Formats = []string{"terse"}
		return nil
	}},
	"append-terse": {false, "adds the terse output", func(p *parser, _ string) error {
		if !slices.Contains(p.test.Formats, "terse") {
			p.test.Formats = append(p.test.Formats, "terse")
		}
		return nil
	}},
	"terse-version": {true, "2, 3 (default), 4 or 5", func(p *parser, v string) error {
		n, err := parseInt(v, 2, 5)
		p.test.terseVersion = int(n)
		return err
	}},
	"status-interval": {true, "prints the results so far at this interval; in seconds without a unit, at least 1 ms", setStatus},
	"bandwidth-log":   refusedCommand("bandwidth-log", false, "use write_bw_log"),
	"latency-log":     refusedCommand("latency-log", false, "use write_lat_log"),
	"idle-prof":       {true, "system, percpu or calibrate, as in fio", setIdle},
	"showcmd":         refusedCommand("showcmd", true, "write the command yourself"),
	"client":          refusedCommand("client", true, "use Plimsoll's engines and places"),
	"server":          refusedCommand("server", false, "use Plimsoll's engines and places"),
	"remote-config":   refusedCommand("remote-config", true, "use Plimsoll's engines and places"),
	"daemonize":       refusedCommand("daemonize", true, "use Plimsoll's engines and places"),
	"trigger":         refusedCommand("trigger", true, "Plimsoll runs no commands for a job"),
	"trigger-file":    refusedCommand("trigger-file", true, "Plimsoll runs no commands for a job"),
	"trigger-timeout": refusedCommand("trigger-timeout", true, "Plimsoll runs no commands for a job"),
	"trigger-remote":  refusedCommand("trigger-remote", true, "Plimsoll runs no commands for a job"),
	"aux-path":        refusedCommand("aux-path", true, "name the file with --output"),
	"debug":           refusedCommand("debug", true, "Plimsoll has no debug messages"),
	"inflate-log":     refusedCommand("inflate-log", true, "logs are not compressed"),
	"cpuclock-test":   refusedCommand("cpuclock-test", false, "plimsoll doctor checks the clock"),
	"crctest":         refusedCommand("crctest", false, "only crc32c is used"),
	"version": {false, "prints the version of fio whose output format is used, and runs nothing", func(p *parser, _ string) error {
		p.test.Version = true
		return nil
	}},
	"merge-blktrace-only": refusedCommand("merge-blktrace-only", false, noReplay),
	"cmdhelp":             refusedCommand("cmdhelp", true, "docs/reference/fio.md lists the options"),
	"enghelp":             refusedCommand("enghelp", true, "docs/reference/fio.md lists the engines"),
}

var commandNames = func() []string {
	var all []string
	for n, c := range commands {
		if !strings.HasPrefix(c.text, "refused") {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}()

func setFormat(p *parser, v string) error {
	p.test.Formats = nil
	for _, f := range strings.Split(v, ",") {
		if f == "minimal" {
			f = "terse"
		}
		w, err := oneOf(f, "normal", "json", "json+", "terse")
		if err != nil {
			return err
		}
		// json+ has all that json has.
		i := slices.IndexFunc(p.test.Formats, func(f string) bool { return f[0] == w[0] })
		switch {
		case i < 0:
			p.test.Formats = append(p.test.Formats, w)
		case w == "json+":
			p.test.Formats[i] = w
		}
	}
	return nil
}
