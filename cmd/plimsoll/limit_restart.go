package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/engineapi"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/clean"
)

// restartPolicy is the policy with which plimsoll daemon keeps limits across restarts: one rule for each container that loses its limits
// when it restarts. It is empty if no container does, as for a process or a unit of systemd.
func restartPolicy(s *hold.Scope, c limit.Change, where limitWhere) string {
	var rules strings.Builder
	for _, p := range s.Parts {
		if p.DeviceWide || p.Target == nil || p.Target.Kind != target.Container || p.Target.Name == "" {
			continue
		}
		rules.WriteString(restartRule(*p.Target, s, c.Set, where))
	}
	if rules.Len() == 0 || c.Set.IsZero() {
		return ""
	}
	return "rules:\n" + rules.String()
}

// restartRule is the rule for one container, in a policy's words (docs/reference/daemon.md).
func restartRule(t target.Target, s *hold.Scope, set limit.Limits, where limitWhere) string {
	var limits, places []string
	for _, k := range limit.Keys {
		if set.Has(k) {
			limits = append(limits, string(k)+": "+set.Text(k))
		}
	}
	switch {
	case s.Target.Kind == target.Volume:
		places = append(places, "volume: "+yamlWord(s.Target.Name))
	case where.Volume != "":
		places = append(places, "volume: "+yamlWord(where.Volume))
	case where.Path != "":
		places = append(places, "path: "+yamlWord(where.Path))
	case where.Device != "":
		places = append(places, "device: "+yamlWord(where.Device))
	}
	if where.DeviceWide {
		places = append(places, "device_wide: true")
	}
	text := fmt.Sprintf("  - name: %s\n    match: {engine: %s, name: %s}\n", yamlWord(t.Name), t.Engine, yamlWord(t.Name))
	if len(places) > 0 {
		text += "    where: {" + strings.Join(places, ", ") + "}\n"
	}
	return text + "    limits: {" + strings.Join(limits, ", ") + "}\n"
}

// yamlWord is a word as YAML reads it back: in quotes unless it is plainly one.
func yamlWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./", r)
	}
	letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "all":
		return "'" + s + "'"
	}
	if s != "" && (s[0] == '/' || letter(rune(s[0]))) && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	if clean.Name(s) != s && utf8.ValidString(s) {
		return strconv.Quote(s) // A terminal would not show it as it is. YAML has the escapes of Go.
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// stored reports whether an engine has stored what was set.
func stored(done []hold.Done) bool {
	return slices.ContainsFunc(done, func(d hold.Done) bool { return d.Kept != "" })
}

// tellRestart prints that the limits end when the container restarts, and the policy that keeps them.
func (a *app) tellRestart(s *hold.Scope, c limit.Change, done []hold.Done, where limitWhere) {
	text := restartPolicy(s, c, where)
	if text == "" || stored(done) {
		return
	}
	fmt.Fprint(a.stdout, clean.Text("note: these limits end when the container restarts. plimsoll daemon keeps them across restarts, with this in "+defaultPolicy+
		":\n\n"+indented(text)+"\n"))
}

// indented puts four blanks before each line.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// keepInstead adds to the refusal of --keep the policy that keeps the limits across restarts instead.
func keepInstead(err error, s *hold.Scope, c limit.Change, where limitWhere) error {
	var refused *engineapi.UnsupportedError
	text := restartPolicy(s, c, where)
	if text == "" || !errors.As(err, &refused) {
		return err
	}
	return &exitError{exitCannot, fmt.Errorf("%w. Or set them without --keep, and let plimsoll daemon keep them across restarts, with this in %s:\n\n%s", err, defaultPolicy, indented(text))}
}
