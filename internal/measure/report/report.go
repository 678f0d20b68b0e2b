// Package report turns the records of a run into an answer: where may a container's data live on this machine, and what
// does each place cost?
//
// It reads records only. Build makes the model, which holds every figure, sentence and doubt. The renderers (text, HTML,
// markdown, JSON, CSV) print it and decide nothing, so all of them say the same.
//
// Three things are easily got wrong. Percentiles come from merged histograms and are never averaged. A percentile with too
// few I/Os isn't printed. And a warning stands next to its number, never in an appendix.
package report

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// SchemaVersion is the version of the JSON form. It grows when a field changes
// its meaning or goes away; new fields leave it as it is.
const SchemaVersion = 2

// Options bound the work of Build. Zero values mean the defaults.
type Options struct {
	// Resamples is the number of resamples of the bootstrap. Default: that of package stats.
	Resamples int
	// Flags is appended to the commands that the report names, with a space before it, where they need a flag to find the
	// run: " --state /srv/plimsoll".
	Flags string
	// TrialHistograms is the most non-empty histogram buckets of single trials that the model keeps (it always keeps the
	// merged ones of cells). Default 20,000. Above it they are left out, and LeftOut says so. Negative: none.
	TrialHistograms int
}

// A Num is a figure that may be unknown. Unknown is NaN in Go and null in JSON.
type Num float64

// Unknown is the Num of a figure that isn't known.
var Unknown = Num(math.NaN())

// Known reports whether n is a finite number.
func (n Num) Known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON writes seven significant digits at most, and null for an unknown figure.
func (n Num) MarshalJSON() ([]byte, error) {
	if !n.Known() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', 7, 64), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Num) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Unknown
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// A Report is the model of one run.
type Report struct {
	// Run is the record of the run: plan, command, seed, machine, skipped cells.
	Run record.Run `json:"run"`
	// Question is the plan's question, in its own words.
	Question string `json:"question"`
	// Against names the baseline in the answers: "host dir", or "the workload's
	// baseline" where workloads have different ones.
	Against string `json:"against"`
	// AgainstWhy is the reason why there are no ratios; empty if there are some.
	AgainstWhy string `json:"against_why,omitempty"`
	// Ranked are the workloads that the overall figures rest on: those in which every place has a ratio that is not in
	// doubt. If it is empty, there are no overall figures.
	Ranked []string `json:"ranked"`
	// Order says how much of the order of Answers within an engine is proved.
	Order Order `json:"order"`
	// Brief is the short answer, made of the verdicts.
	Brief []Point `json:"brief,omitempty"`
	// Answers holds a sentence for each engine and place. Engines are in the plan's order; within an engine the cheapest
	// place comes first, if there is an Order.
	Answers []Answer `json:"answers"`
	// Places are the Answers with those together that say the same.
	Places []PlaceGroup `json:"-"`
	// Remarks are sentences about the run as a whole, the gravest first.
	Remarks []Remark `json:"remarks"`
	// Concerns are the warnings of all trials, each kind once, doubts first.
	Concerns []Concern `json:"concerns,omitempty"`
	// Next says what would settle the cells that are inconclusive; nil if none is.
	Next *Next `json:"next,omitempty"`
	// InDoubt is how many figures of the Answers are in doubt (Ratio.Doubt).
	InDoubt int `json:"in_doubt"`
	// Workloads are in the order in which they were first run.
	Workloads []Workload `json:"workloads"`
	// Summary sums up Interference and Limits, what the run can tell, and safety, in sentences for programs. Brief has them for
	// people.
	Summary []string `json:"summary,omitempty"`
	// Interference is how much clients lose next to each other, for cells that differ only in the number of clients.
	Interference []Interference `json:"interference,omitempty"`
	// Limits says of each limit of a cell, if it is a rate or CPUs, whether it held.
	Limits []LimitRow `json:"limits,omitempty"`
	// Trials holds the raw figures, in the order in which they were run.
	Trials []Trial `json:"trials"`
	// LeftOut says what was left out for its size; empty if nothing was.
	LeftOut string `json:"left_out,omitempty"`
}

// An Answer says what one place of one engine costs over all workloads.
type Answer struct {
	Engine string `json:"engine"`
	// Place includes limits and clients unless they are the plain ones: "layer, capped, 2 clients".
	Place string `json:"place"`
	// Text is the sentence after the engine and the place.
	Text string `json:"text"`
	// On says what the data stood on: "data on ext4 (vda) in /srv". Empty for memory.
	On string `json:"on,omitempty"`
	// Overall is the geometric mean of the ratios to the baseline over the report's Ranked workloads: a point estimate.
	// OverallLow and OverallHigh bound it, simultaneously with all other ratios of the report; they are unknown where the
	// ratios have no intervals.
	Overall     Num `json:"overall"`
	OverallLow  Num `json:"overall_low"`
	OverallHigh Num `json:"overall_high"`
	// Memory is set for tmpfs, and for other storage that is memory: fast, and gone with the container.
	Memory bool `json:"memory,omitempty"`
	// Unsafe are the workloads at which a power cut may lose data that the place has synced. Such a place has no Overall.
	Unsafe []string `json:"unsafe,omitempty"`
	// Unfit are the programs for which a check found the place unsafe, or safe for one side alone.
	Unfit []record.Use `json:"unfit,omitempty"`
	// Baseline is set for the place that the others are compared with.
	Baseline bool `json:"baseline,omitempty"`
	// Ratios holds an entry per workload, in the report's order.
	Ratios []Ratio `json:"ratios"`
	// memoryWhy says why a place that looks like a disk is memory; empty for tmpfs, whose name says it.
	memoryWhy string
	// limits is the set of limits that the place is under.
	limits string
}

// A Ratio is one field of the overview.
type Ratio struct {
	Workload string `json:"workload"`
	Ratio    Num    `json:"ratio"`
	// Low and High are the simultaneous interval of the ratio, unknown with a single block.
	Low  Num `json:"low"`
	High Num `json:"high"`
	// Kind is the kind of the verdict, or Failed, Skipped or Missing.
	Kind Kind `json:"kind"`
	// Tentative is set when there were too few blocks to prove the verdict.
	Tentative bool `json:"tentative,omitempty"`
	// Doubt is set when the ratio exists, and at least half of the cell's trials, or of the baseline's, have a Doubt.
	Doubt bool `json:"doubt,omitempty"`
	// LimitsCost is set when the ratio is to the baseline without the place's limits: see Compared.Against.
	LimitsCost bool `json:"limits_cost,omitempty"`
	// verdict is the short verdict of the cell, without the aside, which compares its safety with the baseline's.
	verdict, aside string
}

// A Kind is the kind of a verdict.
type Kind string

// The kinds of verdicts, and of missing ones.
const (
	Slower       Kind = "slower"
	Faster       Kind = "faster"
	Equivalent   Kind = "equivalent"
	Inconclusive Kind = "inconclusive"
	Control      Kind = "control"
	Base         Kind = "baseline"
	Failed       Kind = "failed"
	Skipped      Kind = "skipped"
	Missing      Kind = "not measured"
)

// A Remark is a sentence about the run.
type Remark struct {
	// Severity is record.Note or record.Doubt.
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

// A Workload is the comparison of all cells of one workload.
type Workload struct {
	Name string `json:"name"`
	// What describes the I/O in words: "random read of 4 KiB, depth 32, direct".
	What string `json:"what"`
	// everyday says what programs do such work: "commits".
	everyday string
	Metric   workload.Metric `json:"metric"`
	// IOEngine did the I/O; Why says why it was used. If the plan left the choice to each cell and they differ, IOEngine
	// names them with their cells: "io_uring (host dir), psync (docker layer)". It is empty for the workloads that have
	// none: append, wal, tree.
	IOEngine string `json:"io_engine,omitempty"`
	Why      string `json:"io_engine_why,omitempty"`
	// Baseline is the label of the baseline. BaselineWhy says why there is none.
	Baseline    string `json:"baseline,omitempty"`
	BaselineWhy string `json:"baseline_why,omitempty"`
	// Noise is the result of the A/A control; nil if there was none.
	Noise *Noise `json:"noise,omitempty"`
	// Class is the operation whose latency the tables show: "read", "commit".
	Class string `json:"class,omitempty"`
	Cells []Cell `json:"cells"`
	// Skipped lists the cells of this workload that were not run.
	Skipped []Skip `json:"skipped,omitempty"`
	// Footnotes are the warnings of all cells; a cell's Marks are indices + 1.
	Footnotes []Footnote `json:"footnotes,omitempty"`
}

// Noise is the noise floor: how much two copies of the same cell differ.
type Noise struct {
	// Floor is how far the copies may differ: 0.03 is 3 %.
	Floor Num    `json:"floor"`
	Text  string `json:"text"`
	// Loud is set when the floor is above the margin: the workload is not steady here.
	Loud bool `json:"loud,omitempty"`
}

// A Skip is a cell that was not run.
type Skip struct {
	Label  string `json:"label"`
	Reason string `json:"reason"`
	// Everywhere is set when the place was skipped in all workloads; the answers say so already.
	Everywhere bool `json:"everywhere,omitempty"`
}

// A Footnote is a warning and the cells that have it.
type Footnote struct {
	// Mark is "1" for a note and "!1" for a doubt.
	Mark     string `json:"mark"`
	Check    string `json:"check"`
	Severity string `json:"severity"`
	// Text is the warning of the trial in which it is gravest. Warnings that differ only in figures count as the same.
	Text string `json:"text"`
	// Concern is the mark of the report's Concern that the footnote belongs to.
	Concern string `json:"concern"`
	// Where says in which cells and trials: "host dir (5 of 6 trials)".
	Where string `json:"where"`
}

// A Cell holds the results of one cell over all blocks.
type Cell struct {
	record.Cell
	// Index numbers the cells of a report from 0; Trial.Cell refers to it.
	Index int    `json:"index"`
	Key   string `json:"key"`
	// Label is the engine, the place and everything that is not plain: "oci layer, capped".
	Label string `json:"label"`
	// N is how many trials were measured, FailedN how many failed.
	N       int `json:"n"`
	FailedN int `json:"failed"`
	// Median is over the trials, in the unit of the workload's metric.
	Median Num `json:"median"`
	// Low and High are a distribution-free interval of the median, or the range if there are fewer than 6 trials. Interval
	// says which: "95 % interval" or "range".
	Low      Num    `json:"low"`
	High     Num    `json:"high"`
	Interval string `json:"interval"`
	// Compared is the comparison with the baseline; nil for the baseline itself.
	Compared *Compared `json:"compared,omitempty"`
	// Kind and Verdict are the verdict on the cell.
	Kind    Kind   `json:"kind"`
	Verdict string `json:"verdict"`
	// Latency holds an entry per class of operation, from merged histograms.
	Latency []Latency `json:"latency,omitempty"`
	// CPUPerOp is the CPU time of one counted operation in ns, the generator's included.
	CPUPerOp Num `json:"cpu_per_op_ns"`
	// Disk is the share of the bytes that reached the device.
	Disk Disk `json:"disk"`
	// PerClient holds the median of each client's value, for cells with several.
	PerClient []Num `json:"per_client,omitempty"`
	// Scaling compares the cell with the same cell at one client, in words.
	Scaling string `json:"scaling,omitempty"`
	// Stalls are the waits that the ratio does not show; nil if there were none.
	Stalls *Stalls `json:"stalls,omitempty"`
	// Marks are the numbers of the cell's footnotes in the workload.
	Marks []int `json:"marks,omitempty"`
	// Doubt is set when at least half of the trials have a Doubt.
	Doubt bool `json:"doubt,omitempty"`
	// Unsafe is set when in at least half of the trials a power cut may have lost synced data.
	Unsafe bool `json:"unsafe,omitempty"`
	// Outliers are the blocks of trials that lie far from the cell's others. All figures include them.
	Outliers []int `json:"outliers,omitempty"`
	// Open is set for an open loop, Steady if the job asked for a steady state.
	Open   *OpenLoop `json:"open_loop,omitempty"`
	Steady *Steady   `json:"steady,omitempty"`
	// Failures are the errors of the failed trials, equal ones together.
	Failures []Failure `json:"failures,omitempty"`
	// IOEngine is the I/O engine that the cell's trials report: "io_uring", or "syscalls" for workloads without one.
	// Several are separated by commas; it is empty if there is none.
	IOEngine string `json:"io_engine,omitempty"`
	// Where is the fingerprint of the storage under the data, of the first trial's first client.
	Where record.Where `json:"where"`
	// own is the cell that it is compared with; nil if it isn't.
	own *Cell
	// aside is the part of Verdict that compares the cell's safety with the baseline's: ", less safe".
	aside string
	// series holds the courses of the trials, for drawing.
	series []series
}

// Compared is a comparison with the baseline.
type Compared struct {
	// Against is the label of the other cell: the baseline with as many clients and under the same limits. If that was not
	// measured, or is this cell, it is the baseline without these limits, and Ratio is what the limits cost.
	Against string `json:"against"`
	Ratio   Num    `json:"ratio"`
	// Low and High are the simultaneous interval of the ratio. For the A/A control it is the narrower interval of this
	// comparison alone, which the noise floor is derived from.
	Low  Num `json:"low"`
	High Num `json:"high"`
	// P is the p value of the paired signed-rank test. It is shown, but decides nothing.
	P Num `json:"p"`
	// Wins is in how many of N blocks this cell was the faster one.
	Wins int `json:"wins"`
	N    int `json:"n"`
	// Tentative is set when there are too few blocks to prove the verdict.
	Tentative bool `json:"tentative,omitempty"`
	// More is about how many more blocks would settle an inconclusive or tentative verdict if the ratio stays as it is;
	// 1,000 means that or more.
	More int `json:"more,omitempty"`
}

// Latency is the merged histogram of one class of operations of one cell.
type Latency struct {
	Class string `json:"class"`
	Ops   uint64 `json:"ops"`
	// P50, P99 and P999 are nanoseconds; unknown with fewer than 10/(1-p) operations.
	P50  Num `json:"p50_ns"`
	P99  Num `json:"p99_ns"`
	P999 Num `json:"p999_ns"`
	Max  Num `json:"max_ns"`
	// P99Low and P99High are an interval of P99 over the trials, for the workload's Class only. With fewer than 6 trials
	// they are the smallest and the largest p99 of one trial, and P99Range is set.
	P99Low   Num  `json:"p99_low_ns"`
	P99High  Num  `json:"p99_high_ns"`
	P99Range bool `json:"p99_range,omitempty"`
	// Buckets are pairs of a bucket's value in ns and its count.
	Buckets [][2]uint64 `json:"buckets,omitempty"`
	hist    *hist.Histogram
}

// Disk compares application and device bytes over all trials of a cell.
type Disk struct {
	// Read and Write are device bytes over application bytes; unknown if the application moved none or the device isn't
	// known.
	Read  Num `json:"read"`
	Write Num `json:"write"`
	// Device names the disk; Why says why there is none.
	Device string `json:"device,omitempty"`
	Why    string `json:"why,omitempty"`
	// Memory is set for tmpfs, and for a disk that is memory; Why then says how that is known.
	Memory bool `json:"memory,omitempty"`
}

// A Failure is an error and the trials of a cell that died of it.
type Failure struct {
	Trials   int    `json:"trials"`
	Error    string `json:"error"`
	Phase    string `json:"phase,omitempty"`
	Progress string `json:"progress,omitempty"`
	Log      string `json:"log,omitempty"`
}

// A Trial is one row of the raw figures.
type Trial struct {
	// Cell is Cell.Index.
	Cell   int    `json:"cell"`
	Block  int    `json:"block"`
	Order  int    `json:"order"`
	Status string `json:"status"`
	Value  Num    `json:"value"`
	// Outlier is set if the trial lies far from the cell's others (see Cell.Outliers).
	Outlier bool `json:"outlier,omitempty"`
	// Started is when it began, in milliseconds since the run's start.
	Started int64 `json:"started_ms"`
	// Overhead is the part of the trial that was not measured, in milliseconds.
	Overhead int64 `json:"overhead_ms"`
	// Rates is the metric in each interval, Second the interval's length in seconds.
	Rates  []Num   `json:"rates,omitempty"`
	Second float64 `json:"interval_s,omitempty"`
	// Steady is the course of a trial with a steady state: Value and Rates are of the rounds that count.
	Steady *TrialSteady `json:"steady,omitempty"`
	// Buckets is the histogram of the first class: see Latency.Buckets.
	Buckets [][2]uint64 `json:"buckets,omitempty"`
}

// series is the course of one trial, for the pictures.
type series struct {
	block int
	value float64
	rates []float64
	// outlier: see Cell.Outliers.
	outlier bool
	// step is the length of an interval.
	step time.Duration
}
