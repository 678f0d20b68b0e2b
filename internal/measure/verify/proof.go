package verify

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
)

// A Result is the result for one subject, as limit verify prints it.
type Result struct {
	GroupSet string    `json:"group_set"`
	Place    string    `json:"place"`
	Device   string    `json:"device"`
	Rows     []row.Row `json:"rows"`
	// Error says why the verification ended early, after the rows that it has.
	Error string `json:"error,omitempty"`

	number  device.Number
	members int
}

// Write writes a result for people.
func (v Result) Write(out io.Writer) error {
	if len(v.Rows) == 0 && v.Error != "" {
		return nil // The error has been printed.
	}
	of := ""
	if v.members > 1 {
		of = fmt.Sprintf(", one of the %d devices of its data, each with the limit: judged by the I/O of this one", v.members)
	}
	fmt.Fprintf(out, "%s, %s, on %s (%s)%s:\n", clean.Line(v.GroupSet), clean.Line(v.Place), v.Device, v.number, of)
	if len(v.Rows) == 0 {
		return nil
	}
	if err := writeRows(out, v.Rows); err != nil {
		return err
	}
	for _, r := range v.Rows {
		if r.Verdict != judge.NotHeld || r.Why == "" {
			continue
		}
		fmt.Fprintf(out, "%s, %s, is not held: %s\n", r.Key, r.Mode, clean.Line(r.Why))
		if r.Fix != "" {
			fmt.Fprintf(out, "  fix: %s\n", clean.Line(r.Fix))
		}
	}
	return nil
}

// ended records why a verification ended early.
func (v *Result) ended(err error) {
	if v.Rows == nil {
		v.Rows = []row.Row{}
	}
	if err != nil {
		v.Error = err.Error()
	}
}

// writeRows writes a table of the results.
func writeRows(out io.Writer, rows []row.Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "limit\tmode\tasked\tapplication\tdevice\terror\tfirst second\tsettled after\tverdict")
	for _, r := range rows {
		settled, over := "", ""
		if r.Converged >= 0 && r.Elapsed > 0 && r.Mode != row.BufferedSync {
			settled = size.Duration(r.Converged)
		}
		if r.Elapsed > 0 && r.Mode != row.BufferedSync && r.Mode != row.Buffered && r.Mode != row.Elsewhere {
			over = fmt.Sprintf("+%.0f %%", r.Overshoot*100)
		}
		app, dev, off := "", "", ""
		if r.Elapsed > 0 {
			app, dev, off = r.Rate(r.App), r.Rate(r.Device), fmt.Sprintf("%+.1f %%", r.Off*100)
			if r.Mode == row.Elsewhere {
				app = ""
			}
			dev += shares(r)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Key, r.Mode, r.Rate(r.Asked), app, dev, off, over, settled, clean.Line(r.Words()))
	}
	return w.Flush()
}

// shares reports how much of the device's work was not done by the row's own group: that of the target's other groups,
// and of others.
func shares(r row.Row) string {
	var of []string
	if r.OtherGroups > 0 {
		of = append(of, r.Rate(r.OtherGroups)+" the target's other groups'")
	}
	if r.Others > r.Device/20 && r.Others > r.Asked/20 {
		of = append(of, r.Rate(r.Others)+" others'")
	}
	if len(of) == 0 {
		return ""
	}
	return " (" + strings.Join(of, ", ") + ")"
}
