package check

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/measure/fingerprint"
	"plimsoll/internal/measure/record"
	"plimsoll/load"
)

// A cell holds its finished trials in the order in which they ran.
type cell struct {
	cell   record.Cell
	key    string
	trials []*record.Trial
}

func (c *cell) unit() string { return c.trials[0].Metric.Unit }

// name is the cell in words: "randread on oci/layer, capped, 2 clients".
func (c *cell) name() string { return c.cell.Workload + " on " + c.where() }

// where is the cell's name without its workload.
func (c *cell) where() string {
	s := c.cell.Engine + "/" + c.cell.Places()
	if c.cell.Limits != "" && c.cell.Limits != "none" {
		s += ", " + c.cell.Limits
	}
	if c.cell.Clients > 1 {
		s += fmt.Sprintf(", %d clients", c.cell.Clients)
	}
	if c.cell.Control {
		s += " (" + record.AAControl + ")"
	}
	return s
}

// byCell groups trials by cell. Each group is in the order in which its trials ran; the groups are in the order of their
// first trials.
func byCell(trials []*record.Trial) []cell {
	sorted := slices.Clone(trials)
	slices.SortStableFunc(sorted, func(a, b *record.Trial) int { return a.Order - b.Order })
	index := make(map[record.Cell]int)
	var cells []cell
	for _, t := range sorted {
		i, ok := index[t.Cell]
		if !ok {
			i = len(cells)
			index[t.Cell] = i
			cells = append(cells, cell{cell: t.Cell, key: t.Key})
		}
		cells[i].trials = append(cells[i].trials, t)
	}
	return cells
}

// byWorkload groups cells, in order of appearance.
func byWorkload(cells []cell) [][]cell {
	index := make(map[string]int)
	var out [][]cell
	for _, c := range cells {
		i, ok := index[c.cell.Workload]
		if !ok {
			i = len(out)
			index[c.cell.Workload] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], c)
	}
	return out
}

// runIOEngines is check 13: did the same I/O engine, the chosen one, run all cells that are compared?
func runIOEngines(run *record.Run, cells []cell) []record.Warning {
	var out []record.Warning
	for _, group := range byWorkload(cells) {
		var engines []string
		users := make(map[string][]string)
		for _, c := range group {
			for _, t := range c.trials {
				for i := range t.Results {
					e := t.Results[i].IOEngine
					if !slices.Contains(engines, e) {
						engines = append(engines, e)
					}
					if !slices.Contains(users[e], c.where()) {
						users[e] = append(users[e], c.where())
					}
				}
			}
		}
		name := group[0].cell.Workload
		if len(engines) > 1 {
			var parts []string
			for _, e := range engines {
				parts = append(parts, e+" ("+strings.Join(users[e], "; ")+")")
			}
			out = append(out, warning(IOEngine, record.Doubt, map[string]any{"workload": name, "engines": engines},
				"%s: different I/O engines ran the cells: %s. A difference between the cells may come from the engines. Name one engine that works in all of them (io_engine: psync does).", name, strings.Join(parts, ", "))...)
			continue
		}
		if chosen := run.IOEngine[name].Engine; chosen != "" && chosen != engines[0] {
			out = append(out, warning(IOEngine, record.Doubt, map[string]any{"workload": name, "chosen": chosen, "used": engines[0]},
				"%s: Plimsoll chose the I/O engine %s, but the trials used %s.", name, chosen, engines[0])...)
		}
	}
	return out
}

// runBuffers finds compared cells if only some of them had io_uring's buffers registered. Plain buffers cost CPU time with
// each I/O, and more of it with larger I/Os.
func runBuffers(cells []cell) []record.Warning {
	var out []record.Warning
	for _, group := range byWorkload(cells) {
		users := make(map[string][]string)
		for _, c := range group {
			for _, t := range c.trials {
				for i := range t.Results {
					b := t.Results[i].Buffers
					if b != "" && !slices.Contains(users[b], c.where()) {
						users[b] = append(users[b], c.where())
					}
				}
			}
		}
		with, without := users[load.BuffersRegistered], users[load.BuffersPlain]
		if len(with) == 0 || len(without) == 0 {
			continue
		}
		name := group[0].cell.Workload
		out = append(out, warning(IOEngine, record.Doubt, map[string]any{"workload": name, "registered": with, "plain": without},
			"%s: io_uring had registered buffers in %s, but not in %s (RLIMIT_MEMLOCK), where it is slower. A difference between the cells may come from the load generator.",
			name, strings.Join(with, "; "), strings.Join(without, "; "))...)
	}
	return out
}

// runUnlike is check 14: did the cells run under the same conditions? One warning covers
// all cells that differ from their baseline in the same way.
func runUnlike(run *record.Run, cells []cell) []record.Warning {
	var order []string
	differ := make(map[string][]string)
	for _, group := range byWorkload(cells) {
		base := baseline(run, group)
		for i := range group {
			c := &group[i]
			if c == base {
				continue
			}
			diffs := unasked(fingerprint.SameWhere(base.trials[0].FirstWhere(), c.trials[0].FirstWhere()))
			if len(diffs) == 0 {
				continue
			}
			text := strings.Join(diffs, "; ")
			if !slices.Contains(order, text) {
				order = append(order, text)
			}
			if pair := base.where() + " and " + c.where(); !slices.Contains(differ[text], pair) {
				differ[text] = append(differ[text], pair)
			}
		}
	}
	var out []record.Warning
	for _, text := range order {
		out = append(out, warning(Unlike, record.Note, map[string]any{"cells": differ[text], "differences": text},
			"Cells that are compared differ in more than the plan varies (%s): %s.", strings.Join(differ[text], ", "), text)...)
	}
	return append(out, runMoved(cells)...)
}

// baseline returns the cell of group that others are compared with: the first one if the run names none.
func baseline(run *record.Run, group []cell) *cell {
	for i := range group {
		if group[i].key != "" && group[i].key == run.Baseline[group[i].cell.Workload] && !group[i].cell.Control {
			return &group[i]
		}
	}
	return &group[0]
}

// matrix are the differences that the plan varies on purpose.
var matrix = []string{"file system: ", "runtime: ", "daemon: ", "storage driver: ", "limits: ", "source: "}

// unasked returns the differences that the plan did not ask for. A cell without a device (tmpfs) is another kind of cell,
// and its trials say so.
func unasked(diffs []string) []string {
	var out []string
	for _, d := range diffs {
		asked := slices.ContainsFunc(matrix, func(m string) bool { return strings.HasPrefix(d, m) })
		memory := strings.HasPrefix(d, "device: ") && (strings.HasSuffix(d, "/ none") || strings.HasPrefix(d, "device: none /"))
		if !asked && !memory {
			out = append(out, d)
		}
	}
	return out
}

// moved returns the differences between the clients' storage in a and in b.
func moved(a, b *record.Trial) []string {
	var diffs []string
	for i := range min(len(a.Where), len(b.Where)) {
		for _, d := range fingerprint.SameWhere(a.Where[i], b.Where[i]) {
			if !slices.Contains(diffs, d) {
				diffs = append(diffs, d)
			}
		}
	}
	return diffs
}

// runMoved finds cells whose trials ran on different storage, as when a run is resumed after a change.
func runMoved(cells []cell) []record.Warning {
	var out []record.Warning
	for _, c := range cells {
		for _, t := range c.trials[1:] {
			diffs := moved(c.trials[0], t)
			if len(diffs) == 0 {
				continue
			}
			out = append(out, warning(Unlike, record.Doubt, map[string]any{"cell": c.name(), "block": t.Block, "differences": diffs},
				"%s: from %s on its trials ran under other conditions than before: %s.", c.name(), record.BlockName(t.Block), strings.Join(diffs, "; "))...)
			break
		}
	}
	return out
}
