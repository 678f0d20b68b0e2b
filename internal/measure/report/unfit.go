package report

import (
	"fmt"
	"strings"

	"plimsoll/internal/measure/record"
)

// unfit are the programs for which a cell's place was found unsafe, or safe for one side alone.
func unfit(checked []record.PlaceSafety, c record.Cell) (uses []record.Use) {
	for _, s := range checked {
		if s.Engine != c.Engine || s.Place != c.Place {
			continue
		}
		for _, u := range s.Uses {
			if u.Safe == record.SafeNo || u.Safe == record.SafeAlone {
				uses = append(uses, u)
			}
		}
	}
	return uses
}

// unfitText names the programs that a place is not safe for.
func unfitText(uses []record.Use) string {
	var no, alone []string
	for _, u := range uses {
		if u.Safe == record.SafeNo {
			no = append(no, u.Name)
		} else {
			alone = append(alone, u.Name)
		}
	}
	var parts []string
	if len(no) > 0 {
		parts = append(parts, "NOT SAFE for "+strings.Join(no, "; "))
	}
	if len(alone) > 0 {
		parts = append(parts, "safe for one side alone: "+strings.Join(alone, "; "))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + " (plimsoll check says why)"
}

// fitText says what all places that were checked are safe for; empty if none was checked, or one is not safe for something.
func (r *Report) fitText() string {
	names, all := r.fitNames()
	switch {
	case !all:
		return "Some places are not safe for all programs: see below, and plimsoll check."
	case len(names) == 0:
		return ""
	}
	return fmt.Sprintf("All places that keep data on a disk are safe for %s, as far as plimsoll check can tell.", strings.Join(names, "; "))
}

// fitNames are the programs that the first place is safe for. If another place is not safe for one of them, all is false.
func (r *Report) fitNames() (names []string, all bool) {
	for _, s := range r.Run.Safety {
		for _, u := range s.Uses {
			switch {
			case u.Safe == record.SafeNo || u.Safe == record.SafeAlone:
				return nil, false
			case u.Safe == record.SafeYes && s.Engine == r.Run.Safety[0].Engine && s.Place == r.Run.Safety[0].Place:
				names = append(names, u.Name)
			}
		}
	}
	return names, true
}
