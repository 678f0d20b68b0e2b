package report

import (
	"slices"

	"plimsoll/internal/text/clean"
)

// A sheet is a table about the run as a whole, beside the overview: of the limits, or of the interference.
type sheet struct {
	Title, Legend string
	Columns       []sheetColumn
	Rows          []sheetRow
	// Notes stand under the table.
	Notes []string
}

// A sheetColumn is the head of a column and the alignment of its cells.
type sheetColumn struct {
	Head string
	// Left is set for columns of words.
	Left bool
	// Group is set for a column that a terminal has no room for: sheetRow.Group replaces it there.
	Group bool
	// Drop is the same as column's.
	Drop int
}

// A sheetRow is one row. Its last cell is a verdict, of the given kind.
type sheetRow struct {
	Cells []string
	Kind  Kind
	// Group is the heading of the row on a terminal.
	Group string
}

// sheets are the report's tables.
func (r *Report) sheets() (all []*sheet) {
	for _, s := range []*sheet{r.interferenceSheet(), r.limitsSheet()} {
		if s != nil {
			all = append(all, s)
		}
	}
	return all
}

// note adds a note, unless it is there already.
func (s *sheet) note(text string) {
	if !slices.Contains(s.Notes, text) {
		s.Notes = append(s.Notes, text)
	}
}

// Sheets is for the page's template.
func (v reportView) Sheets() []*sheet { return v.Report.sheets() }

// grouped returns the rows by heading, in the order in which the headings first occur.
func (s *sheet) grouped() (rows []sheetRow) {
	var order []string
	for _, r := range s.Rows {
		if !slices.Contains(order, r.Group) {
			order = append(order, r.Group)
		}
	}
	for _, g := range order {
		for _, r := range s.Rows {
			if r.Group == g {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// sheets prints the tables about the run as a whole.
func (p *textPage) sheets() {
	for _, s := range p.r.sheets() {
		p.f("%s %s\n", p.paint(bold, "━━ "+s.Title), p.paint(dim, wrap(s.Legend, p.width, len(s.Title)+4)))
		rows := s.grouped()
		var columns []column
		for i, c := range s.Columns {
			if c.Group {
				continue
			}
			out := column{head: c.Head, left: c.Left, drop: c.Drop}
			for _, row := range rows {
				out.cells = append(out.cells, clean.Line(row.Cells[i]))
			}
			if i == len(s.Columns)-1 {
				out.style = func(row int) style { return styleOf(rows[row].Kind) }
			}
			columns = append(columns, out)
		}
		p.f("\n")
		for i, l := range lines(fit(columns, p.width-5), p.paint) {
			if i > 0 && (i == 1 || rows[i-1].Group != rows[i-2].Group) {
				p.f("   %s\n", p.paint(bold, clean.Line(rows[i-1].Group)))
			}
			p.f("     %s\n", l)
		}
		for _, n := range s.Notes {
			p.f("   %s\n", p.paint(dim, wrap(clean.Line(n), p.width, 3)))
		}
		p.f("\n")
	}
}

// mdSheets prints the same tables in markdown.
func mdSheets(p *printer, r *Report) {
	for _, s := range r.sheets() {
		p.f("\n## %s\n", md(s.Title))
		mdFold(p, s.Legend, func() { mdSheet(p, s) })
	}
}

// mdSheet prints one table with its notes.
func mdSheet(p *printer, s *sheet) {
	var head []string
	for _, c := range s.Columns {
		head = append(head, c.Head)
	}
	var rows [][]string
	for _, row := range s.Rows {
		rows = append(rows, row.Cells)
	}
	mdTable(p, head, rows)
	for _, n := range s.Notes {
		p.f("\n%s\n", md(n))
	}
}
