package fio

import (
	"slices"
	"strings"

	"plimsoll/internal/measure/dialect"
)

// letters are the command line's options that fio also knows by one letter (l_opts in its init.c).
var letters = map[string]string{
	"o": "output", "l": "latency-log", "b": "bandwidth-log", "m": "minimal", "F": "output-format", "f": "append-terse",
	"v": "version", "h": "help", "c": "cmdhelp", "i": "enghelp", "s": "showcmd", "r": "readonly", "e": "eta", "O": "eta-interval",
	"E": "eta-newline", "d": "debug", "P": "parse-only", "x": "section", "X": "inflate-log", "a": "alloc-size", "w": "warnings-fatal",
	"j": "max-jobs", "V": "terse-version", "S": "server", "D": "daemonize", "C": "client", "R": "remote-config", "T": "cpuclock-test",
	"G": "crctest", "I": "idle-prof", "L": "status-interval", "W": "trigger-file", "B": "trigger-timeout", "H": "trigger", "J": "trigger-remote", "K": "aux-path",
}

// inFull is the option that key stands for on a command line: itself, one of fio's letters, or the only option that
// begins with it, as getopt_long_only has it. A key that matches none is returned unchanged.
func inFull(key, where string) (string, error) {
	if _, ok := commands[key]; ok || byName[key] != nil {
		return key, nil
	}
	if name, ok := letters[key]; ok {
		return name, nil
	}
	var all []string
	add := func(name string) {
		if key != "" && strings.HasPrefix(name, key) {
			all = append(all, name)
		}
	}
	for name := range commands {
		add(name)
	}
	for name := range byName {
		add(name)
	}
	switch slices.Sort(all); len(all) {
	case 0:
		return key, nil
	case 1:
		return all[0], nil
	}
	return "", dialect.Usagef(where, "there is no option %s, and several begin with it: %s", key, strings.Join(all, ", "))
}
