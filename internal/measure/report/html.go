package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/clean"
)

//go:embed page.html
var pageText string

// HTML prints one self-contained page: it runs no script and loads nothing. The JSON form is embedded in it for machines.
type HTML struct{}

// The views hold what the template shows: the model and its pictures.
type (
	pageView struct {
		Title, Note string
		Reports     []reportView
		Data        template.JS
	}
	reportView struct {
		*Report
		// ID is the prefix of the ids of the report's parts.
		ID            string
		Machine       string
		When          string
		Doubts, Notes []caveat
		// Compared and OverallText say how places were compared and ordered.
		Compared, OverallText string
		// Other says what the ratios are to.
		Other string
		// LimitsCost says which ratios are what limits cost.
		LimitsCost string
		// Signs explains the signs of the overview.
		Signs string
		// Absolute are the baseline's own figures.
		Absolute []absoluteRow
		// Ahead explains the report's Next.
		Ahead     string
		Overview  []Answer
		Workloads []workloadView
		// Stood is what the data of each place stood on.
		Stood []placeView
	}
	workloadView struct {
		*Workload
		ID                string
		ValueHead, Spread string
		// RatioSpread is the head of the column of the ratios' intervals, empty if there is none.
		RatioSpread          string
		ForestAxis, HistAxis template.HTML
		Rows                 []rowView
		Courses              bool
		// First is set for the cell whose pictures are open at first.
		First       bool
		SkippedHere []Skip
		// LimitsCost lists the cells that are compared with one without limits.
		LimitsCost string
	}
	rowView struct {
		*Cell
		Value, Range, CPU, DiskText, Short, Aside string
		Ratio, RatioRange                         string
		Percentiles                               []percentileView
		P99Range                                  string
		Odd                                       string
		Pace                                      []string
		Notes                                     []Footnote
		Forest, Hist, Course, Blocks              template.HTML
	}
	placeView struct {
		Label string
		Facts [][2]string
	}
)

// Render implements Renderer.
func (HTML) Render(w io.Writer, s Set) error {
	page, err := template.New("page").Funcs(template.FuncMap{
		"known": func(n Num) string { return known(n, shortRatio) },
		"class": func(k Kind) string { return strings.ReplaceAll(string(k), " ", "-") },
		"clean": clean.Text, "one": clean.Line,
		"last": func(i int, columns []sheetColumn) bool { return i == len(columns)-1 },
		"fail": Failure.text, "sign": func(x Ratio) string { return x.sign() }, "label": func(a Answer) string { return a.label() },
	}).Parse(pageText)
	if err != nil {
		return err
	}
	s.Reports = slices.Clone(s.Reports)
	for i, r := range s.Reports {
		s.Reports[i] = r.forPage()
	}
	v := pageView{Title: "Plimsoll report", Note: s.Note}
	for i, r := range s.Reports {
		v.Reports = append(v.Reports, viewOf(r, fmt.Sprintf("r%d", i)))
	}
	if len(s.Reports) == 1 {
		v.Title = "Plimsoll: " + clean.Line(s.Reports[0].Run.Plan) + ", " + clean.Line(s.Reports[0].Run.ID)
	}
	// Encoder escapes <, > and & in strings, so that no text can end the script element.
	data, err := json.Marshal(document{SchemaVersion, questionOfAll(s.Reports), s.Note, s.Reports})
	if err != nil {
		return err
	}
	v.Data = template.JS(data)
	// The page goes into memory first: an error must not leave half a page.
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return err
	}
	_, err = b.WriteTo(w)
	return err
}

// mostTrials is how many trials a page embeds. Those of hundred thousand would fill 17 MB, which no browser opens gladly.
const mostTrials = 20_000

// forPage is r without its trials if they are too many.
func (r *Report) forPage() *Report {
	if len(r.Trials) <= mostTrials {
		return r
	}
	less := *r
	less.Trials = nil
	less.LeftOut = fmt.Sprintf("its %d trials: plimsoll results export %s has them", len(r.Trials), r.Run.ID)
	return &less
}

func viewOf(r *Report, id string) reportView {
	v := reportView{Report: r, ID: id, Machine: machineText(r.Run.Machine), When: whenText(r.Run), Compared: r.comparedText(), Other: r.againstText(), LimitsCost: r.limitsCostText(), Absolute: r.absolute()}
	v.Signs = r.signsText("")
	v.Doubts, v.Notes = r.doubtsAndNotes()
	if text := r.overallText(); text != "" {
		v.OverallText = strings.ToUpper(text[:1]) + text[1:]
	}
	if r.Next != nil {
		v.Ahead = r.Next.why()
	}
	v.Overview = r.withRatios()
	seen := map[string]bool{}
	for i := range r.Workloads {
		v.Workloads = append(v.Workloads, workloadViewOf(r, &r.Workloads[i], fmt.Sprintf("%sw%d", id, i)))
		v.Workloads[i].First = i == 0
		for _, c := range r.Workloads[i].Cells {
			p := placeView{Label: c.Label, Facts: factsOf(c.Where)}
			if key := fmt.Sprint(p); !c.Control && len(p.Facts) > 0 && !seen[key] {
				seen[key] = true
				v.Stood = append(v.Stood, p)
			}
		}
	}
	return v
}

func workloadViewOf(r *Report, w *Workload, id string) workloadView {
	u := rateUnit(w.Metric, w.Cells)
	v := workloadView{Workload: w, ID: id, ValueHead: w.valueHead(u), Spread: w.spreadHead(), LimitsCost: w.limitsCostText()}
	ratios, lat := forestScale(w, r.Run.Margin), histScale(w)
	v.ForestAxis = forestAxis(ratios, r.Run.Margin)
	outline := map[*Cell]string{} // The ids of the baselines' pictures.
	for i := range w.Cells {
		c := &w.Cells[i]
		row := rowView{Cell: c, Odd: c.outlierText(), Pace: c.paceText(w.Class), Forest: forest(c, ratios, r.Run.Margin)}
		for _, m := range c.Marks {
			row.Notes = append(row.Notes, w.Footnotes[m-1])
		}
		if c.N > 0 {
			row.Value, row.Range = u.format(c.Median), u.format(c.Low)+" – "+u.format(c.High)
			row.CPU, row.DiskText = known(c.CPUPerOp, durationText), c.Disk.String()
			row.Course, row.Blocks = courseOf(c), blocksOf(c, r.Run.Blocks)
			v.Courses = v.Courses || row.Course != "" || row.Blocks != ""
		}
		p := ""
		if x := c.Compared; x != nil {
			if x.P.Known() {
				p = pText(x.P)
			}
			row.Ratio, row.RatioRange = ratioText(x.Ratio), c.intervalText(" – ")
		}
		row.Short, row.Aside = c.verdictView(p)
		l := c.of(w.Class)
		row.Percentiles = l.percentileViews()
		if l != nil {
			row.P99Range = l.p99Text()
			if c.Kind == Base {
				outline[c] = fmt.Sprintf("%sb%d", id, i)
			}
			row.Hist = histogram(c, l, lat, outline[c.baseline()], c.Kind == Base)
			v.HistAxis = histAxis(lat)
		}
		v.Rows = append(v.Rows, row)
	}
	if w.hasIntervals() {
		v.RatioSpread = headInterval
	}
	for _, s := range skipsByReason(w.Skipped) {
		if !s.Everywhere {
			v.SkippedHere = append(v.SkippedHere, s)
		}
	}
	return v
}

// factsOf lists the facts about the place under a cell.
func factsOf(w record.Where) [][2]string {
	var out [][2]string
	add := func(name, value string) {
		if value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	add("file system", strings.TrimSpace(w.FSType+" "+w.Options))
	add("folder", w.Path)
	add("source", w.Source)
	if f := w.From; f != nil {
		on := strings.TrimSpace(f.FSType + " " + f.Options)
		if f.Device != nil {
			on += " on " + f.Device.Name
		}
		add("sources read from", strings.TrimSpace(on+" "+f.Path))
	}
	if d := w.Device; d != nil {
		kind := "solid state or virtual"
		if d.Rotational {
			kind = "rotational"
		}
		add("device", fmt.Sprintf("%s %s %s, %s, scheduler %s, %d requests, %s", d.Name, d.Model, bytesText(d.Size), kind, d.Scheduler, d.NrRequests, d.WriteCache))
		add("stack", strings.Join(d.Stack, " on "))
	}
	add("runtime", w.Runtime)
	add("isolation", w.Isolation)
	add("daemon", w.Daemon)
	add("storage", w.Storage)
	add("kernel", w.Kernel)
	if w.CgroupVersion > 0 {
		add("cgroup", fmt.Sprintf("v%d", w.CgroupVersion))
	}
	add("limits", w.Limits)
	return out
}
