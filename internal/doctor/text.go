package doctor

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/text/clean"
)

// WriteText writes a report by groups.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s: %s, %d CPUs, %d MiB, %s/%s %s", clean.Line(m.Hostname), clean.Line(cmp.Or(m.CPUModel, "unnamed CPU")), m.CPUs, m.Memory>>20, m.OS, m.Arch, m.Kernel)
	if m.Virtual != "" {
		fmt.Fprintf(&b, ", virtual (%s)", m.Virtual)
	}
	if m.Cgroup != "" {
		fmt.Fprintf(&b, ", cgroup %s", m.Cgroup)
	}
	b.WriteByte('\n')
	for _, group := range []string{Measure, Limit, Provide} {
		fmt.Fprintf(&b, "\n%s\n", group)
		for _, i := range r.Items {
			if i.Group == group {
				printItem(&b, i)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printItem(b *strings.Builder, i Item) {
	// DOCKER_HOST, file systems and daemons say what they like.
	fmt.Fprintf(b, "  %-6s  %s", i.Status, clean.Line(i.What))
	if i.Why != "" {
		fmt.Fprintf(b, ": %s", clean.Line(i.Why))
	}
	b.WriteByte('\n')
	if i.Fix != "" {
		fmt.Fprintf(b, "          fix: %s\n", clean.Line(i.Fix))
	}
}
