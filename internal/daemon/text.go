package daemon

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/text/clean"
	"plimsoll/internal/watch"
)

// Text returns the state as of now: the keeper's limits, the containers' I/O, and how much of their limits they used.
// width is that of the terminal, 0 for none.
func (s *Status) Text(now time.Time, width int) string {
	text := s.Status.Text(now)
	switch {
	case len(s.Containers)+len(s.Together) == 0 && s.RootGroup == nil:
		return text
	case s.UsageError != "":
		return text + fmt.Sprintf("\ntheir I/O isn't known: %s\n", clean.Line(s.UsageError))
	case s.Usage == nil:
		return text
	}
	return text + usageText(s.Usage, width)
}

// usageText is the containers' I/O.
func usageText(usage *watch.Interval, width int) string {
	idle := 0
	for _, u := range usage.Subjects {
		if !u.Busy() {
			idle++
		}
	}
	text := watch.Text{Width: width}
	rows := text.Targets(usage) // It leaves out idle ones.
	var b strings.Builder
	fmt.Fprintf(&b, "\nin the last %.1f s, %d idle\n", usage.Seconds, idle)
	if rows.Len() > 0 {
		rows.Write(&b)
	}
	text.Volumes(&b, usage.Volumes)
	return b.String()
}
