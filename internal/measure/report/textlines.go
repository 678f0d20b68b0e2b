package report

import "strings"

// skipsByReason merges cells that were skipped for the same reason.
func skipsByReason(all []Skip) []Skip {
	var out []Skip
next:
	for _, s := range all {
		for i := range out {
			if out[i].Reason == s.Reason && out[i].Everywhere == s.Everywhere {
				out[i].Label += ", " + s.Label
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

// lastLines returns the last n lines of a log.
func lastLines(s string, n int) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return lines
}
