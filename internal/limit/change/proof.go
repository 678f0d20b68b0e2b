package change

import (
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/clean"
)

// verifyCommand returns the command that tests the rates that were set, or "" if none can be tested.
func (m *Maker) verifyCommand(s *hold.Scope, c limit.Change, where Options) string {
	if !slices.ContainsFunc(limit.Keys, func(k limit.Key) bool { return k.Rate() && c.Set.Has(k) }) {
		return ""
	}
	words := []string{"plimsoll", "limit", "verify", s.Target.Ref()}
	switch {
	case s.Target.Kind == target.Volume && len(s.Target.Users) == 0:
		if s.Target.Host == "" {
			return "" // No API creates a container with it.
		}
		words = append(words, "--probe")
	case where.Volume != "":
		words = append(words, "--volume", where.Volume)
	case where.Path != "":
		words = append(words, "--path", where.Path)
	case where.Device != "":
		at := m.folderOn(s)
		if at == "" {
			return ""
		}
		words = append(words, "--path", at)
	}
	if where.DeviceWide {
		words = append(words, "--device-wide")
	}
	for i, w := range words {
		words[i] = clean.Shell(w)
	}
	return strings.Join(words, " ") + m.Flags
}

// folderOn returns a folder on the device that a scope is for: one of the target's own, or one of the machine's if the
// target has none.
func (m *Maker) folderOn(s *hold.Scope) string {
	if s.Target.PID == 0 {
		for _, g := range s.Places {
			if others := g.Explanation.Others(); len(others) > 0 {
				return others[0]
			}
		}
		return ""
	}
	all, err := m.Look(s.Target)
	if err != nil {
		return ""
	}
	for _, g := range all.Places {
		if _, ok := sharedDevice(g.Explanation, s.Devices()); ok {
			return g.Path
		}
	}
	return ""
}
