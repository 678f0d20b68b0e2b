package change

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/clean"
)

// rulesFor is a policy for plimsoll daemon that keeps limits across restarts: one rule for each container that loses its
// limits when it restarts. It is empty if none does, as for a process or a unit of systemd.
func rulesFor(s *hold.Scope, c limit.Change, where hold.Where) string {
	var rules strings.Builder
	for _, p := range s.GroupSets {
		if p.DeviceWide || p.Target == nil || p.Target.Kind != target.Container || p.Target.Name == "" {
			continue
		}
		rules.WriteString(containerRule(*p.Target, s, c.Set, where))
	}
	if rules.Len() == 0 || c.Set.IsZero() {
		return ""
	}
	return "rules:\n" + rules.String()
}

// containerRule is the rule for one container, in a policy's words (docs/reference/daemon.md).
func containerRule(t target.Target, s *hold.Scope, set limit.Limits, where hold.Where) string {
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

// yamlWord is a word in YAML, in quotes unless it is plainly a word.
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
		return strconv.Quote(s) // A terminal would not show it unchanged. Go's escapes are valid in YAML.
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
