// Package report turns the records of a run into an answer: where may a
// container's data live on this machine, and what does each place cost?
//
// It reads records only. Build makes the model, which holds every figure, every
// sentence and every doubt; the renderers (text, HTML, markdown, JSON, CSV) print
// it and decide nothing. So all of them say the same.
//
// Three things are easily got wrong here. Percentiles are taken from merged
// histograms and are never averaged. A percentile with too few I/Os behind it isn't
// printed. And a warning stands next to its number, never in an appendix.
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
const SchemaVersion = 1

// Options bound the work of Build. Zero values mean the defaults.
type Options struct {
	// Resamples of the bootstrap. Default: what package stats takes.
	Resamples int
	// Flags follows the commands that the report names, with a space before it, where they
	// need a flag to find the run: " --state /srv/plimsoll".
	Flags string
	// TrialHistograms is how many non-empty histogram buckets of single trials
	// are kept at most in the model (the merged ones of cells always are). Default 20,000; above
	// it they are left out and LeftOut says so. Negative: none.
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
	// Question is what the plan asks, in its own words.
	Question string `json:"question"`
	// Against names the baseline in the answers: "host dir", or "the workload's
	// baseline" where workloads have different ones.
	Against string `json:"against"`
	// AgainstWhy reports why there is no ratio at all; empty where there are some.
	AgainstWhy string `json:"against_why,omitempty"`
	// Ranked are the workloads that the overall figures rest on: those in which every place
	// has a ratio that is not in doubt. Empty: there are no overall figures.
	Ranked []string `json:"ranked"`
	// Order says what the order of the Answers within an engine shows.
	Order Order `json:"order"`
	// Answers holds a sentence per engine and place; engines are in the plan's order. Within an engine the
	// cheapest comes first where there is an Order.
	Answers []Answer `json:"answers"`
	// Remarks are sentences about the run as a whole, the gravest first.
	Remarks []Remark `json:"remarks"`
	// Concerns are the warnings of all trials, each kind once: the doubts first.
	Concerns []Concern `json:"concerns,omitempty"`
	// Next says what would settle the cells that are inconclusive; nil if none is.
	Next *Next `json:"next,omitempty"`
	// InDoubt is how many figures of the Answers are in doubt (Ratio.Doubt).
	InDoubt int `json:"in_doubt"`
	// Workloads are in the order in which they were first run.
	Workloads []Workload `json:"workloads"`
	// Summary is what Interference and Limits come to, in sentences.
	Summary []string `json:"summary,omitempty"`
	// Interference says what clients lose next to each other, where cells differ in the number of clients alone.
	Interference []Interference `json:"interference,omitempty"`
	// Limits says of each limit of a cell that is a rate, or of CPUs, whether it held.
	Limits []LimitRow `json:"limits,omitempty"`
	// Trials holds the raw figures, in the order in which they were run.
	Trials []Trial `json:"trials"`
	// LeftOut says what was left out for size; empty: nothing.
	LeftOut string `json:"left_out,omitempty"`
}

// An Answer says what one place of one engine costs over all workloads.
type Answer struct {
	Engine string `json:"engine"`
	// Place includes limits and clients where they are not the plain ones:
	// "layer, capped, 2 clients".
	Place string `json:"place"`
	// Text is the rest of the sentence.
	Text string `json:"text"`
	// On says what the data stood on: "data on ext4 (vda) in /srv". Empty for memory.
	On string `json:"on,omitempty"`
	// Overall is the geometric mean of the ratios to the baseline over the report's
	// Ranked workloads: a point estimate. OverallLow and OverallHigh bound it, together with all
	// other ratios of the report; they are unknown where the ratios have no intervals.
	Overall     Num `json:"overall"`
	OverallLow  Num `json:"overall_low"`
	OverallHigh Num `json:"overall_high"`
	// Memory is set for tmpfs, and for what else is memory: fast, and gone with the container.
	Memory bool `json:"memory,omitempty"`
	// Unsafe are the workloads at which a power cut may take what the place has synced. Such a place has no Overall.
	Unsafe []string `json:"unsafe,omitempty"`
	// Baseline is set for the place that the others are compared with.
	Baseline bool `json:"baseline,omitempty"`
	// Ratios holds an entry per workload, in the report's order.
	Ratios []Ratio `json:"ratios"`
	// memoryWhy reports why what looks like a disk is memory; empty for tmpfs, which says so itself.
	memoryWhy string
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
	// Doubt is set when the number, or the baseline's, has a Doubt in at least
	// half of its trials. Where there is no ratio there is none.
	Doubt bool `json:"doubt,omitempty"`
}

// A Kind is the sort of a verdict.
type Kind string

// Kinds of verdicts, and of the absence of one.
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
	What   string          `json:"what"`
	Metric workload.Metric `json:"metric"`
	// IOEngine did the I/O, Why says why this one. Where the plan left it to each cell and they
	// differ, it names them with their cells: "io_uring (host dir), psync (docker layer)". Empty for
	// the workloads that have none: append, wal, tree.
	IOEngine string `json:"io_engine,omitempty"`
	Why      string `json:"io_engine_why,omitempty"`
	// Baseline is the label of the baseline, BaselineWhy why there is none.
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
	// Floor is how far they may be apart: 0.03 is 3 %.
	Floor Num    `json:"floor"`
	Text  string `json:"text"`
	// Loud is set when the floor is above the margin, so that nothing can be
	// called equivalent.
	Loud bool `json:"loud,omitempty"`
}

// A Skip is a cell that was not run.
type Skip struct {
	Label  string `json:"label"`
	Reason string `json:"reason"`
	// Everywhere is set when the place was skipped in all workloads, so that
	// the answers say it already.
	Everywhere bool `json:"everywhere,omitempty"`
}

// A Footnote is a warning with the cells that it touches.
type Footnote struct {
	// Mark is "1" for a note and "!1" for a doubt.
	Mark     string `json:"mark"`
	Check    string `json:"check"`
	Severity string `json:"severity"`
	// Text is the warning of the trial in which it is gravest; the same warning with
	// other figures counts as the same.
	Text string `json:"text"`
	// Concern is the mark of the report's Concern that it is one of.
	Concern string `json:"concern"`
	// Where says in which cells and trials: "host dir (5 of 6 trials)".
	Where string `json:"where"`
}

// A Cell is what is known of one cell over all blocks.
type Cell struct {
	record.Cell
	// Index numbers the cells of a report from 0; Trial.Cell refers to it.
	Index int    `json:"index"`
	Key   string `json:"key"`
	// Label is the engine, place and whatever is not plain: "oci layer, capped".
	Label string `json:"label"`
	// N trials were measured, FailedN failed.
	N       int `json:"n"`
	FailedN int `json:"failed"`
	// Median is over the trials, in the unit of the workload's metric.
	Median Num `json:"median"`
	// Low and High are a distribution-free interval of the median, or with
	// less than 6 trials the range; Interval says which: "95 % interval", "range".
	Low      Num    `json:"low"`
	High     Num    `json:"high"`
	Interval string `json:"interval"`
	// Compared is the comparison with the baseline; nil for the baseline itself.
	Compared *Compared `json:"compared,omitempty"`
	// Kind and Verdict are the answer for the cell.
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
	// Scaling compares with the same cell at one client, in words.
	Scaling string `json:"scaling,omitempty"`
	// Marks number the footnotes of the workload.
	Marks []int `json:"marks,omitempty"`
	// Doubt is set when a Doubt stands in at least half of the trials.
	Doubt bool `json:"doubt,omitempty"`
	// Unsafe is set when in at least half of the trials a power cut may have taken what was synced.
	Unsafe bool `json:"unsafe,omitempty"`
	// Outliers are the blocks of trials that lie far from the cell's others. They are in
	// all figures.
	Outliers []int `json:"outliers,omitempty"`
	// Open is set for an open loop, Steady where a steady state was asked for.
	Open   *OpenLoop `json:"open_loop,omitempty"`
	Steady *Steady   `json:"steady,omitempty"`
	// Failures are what the failed trials died of, the same ones together.
	Failures []Failure `json:"failures,omitempty"`
	// IOEngine is what did the I/O of the cell's trials by their own account: "io_uring", "syscalls"
	// for the workloads without an I/O engine; several are separated by commas, none is empty.
	IOEngine string `json:"io_engine,omitempty"`
	// Where is the fingerprint of what the data stood on, of the first trial's first client.
	Where record.Where `json:"where"`
	// aside is what Verdict says of the cell's safety beside the baseline's: ", less safe".
	aside string
	// series holds the trials' figures for drawing.
	series []series
}

// Compared is a comparison with the baseline.
type Compared struct {
	Ratio Num `json:"ratio"`
	// Low and High are the simultaneous interval of the ratio. The A/A control's is
	// the narrower one of this comparison alone, which the noise floor is made of.
	Low  Num `json:"low"`
	High Num `json:"high"`
	// P is of the paired signed-rank test, shown beside and not used.
	P Num `json:"p"`
	// Wins of N blocks in which this cell was the faster one.
	Wins int `json:"wins"`
	N    int `json:"n"`
	// Tentative: too few blocks to prove the verdict.
	Tentative bool `json:"tentative,omitempty"`
	// More is about how many more blocks would settle an inconclusive or tentative verdict if
	// the ratio stays where it is; 1,000 means that or more.
	More int `json:"more,omitempty"`
}

// Latency is the merged histogram of one class of operations of one cell.
type Latency struct {
	Class string `json:"class"`
	Ops   uint64 `json:"ops"`
	// P50, P99 and P999 are nanoseconds; unknown with fewer than 10/(1-p)
	// operations behind them.
	P50  Num `json:"p50_ns"`
	P99  Num `json:"p99_ns"`
	P999 Num `json:"p999_ns"`
	Max  Num `json:"max_ns"`
	// P99Low and P99High are an interval of P99 over the trials, of the workload's Class only; with
	// fewer than 6 trials the smallest and the largest p99 of one trial, and P99Range is set.
	P99Low   Num  `json:"p99_low_ns"`
	P99High  Num  `json:"p99_high_ns"`
	P99Range bool `json:"p99_range,omitempty"`
	// Buckets are pairs of a bucket's value in ns and its count.
	Buckets [][2]uint64 `json:"buckets,omitempty"`
	hist    *hist.Histogram
}

// Disk compares application and device bytes over all trials of a cell.
type Disk struct {
	// Read and Write are device bytes over application bytes; unknown where
	// the application moved none or the device isn't known.
	Read  Num `json:"read"`
	Write Num `json:"write"`
	// Device names the disk, Why says why there is none.
	Device string `json:"device,omitempty"`
	Why    string `json:"why,omitempty"`
	// Memory is set for tmpfs, and for a disk that is memory; Why then says how that is known.
	Memory bool `json:"memory,omitempty"`
}

// A Failure is what some trials of a cell died of.
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
	// Outlier: far from the cell's other trials (see Cell.Outliers).
	Outlier bool `json:"outlier,omitempty"`
	// Started is when, in milliseconds since the run's start.
	Started int64 `json:"started_ms"`
	// Overhead is the part of the trial that was not measured, in milliseconds.
	Overhead int64 `json:"overhead_ms"`
	// Rates is the metric interval by interval, Second the interval's length in seconds.
	Rates  []Num   `json:"rates,omitempty"`
	Second float64 `json:"interval_s,omitempty"`
	// Steady is the course of a trial with a steady state: Value and Rates are of the rounds that count.
	Steady *TrialSteady `json:"steady,omitempty"`
	// Buckets is the histogram of the first class: see Latency.Buckets.
	Buckets [][2]uint64 `json:"buckets,omitempty"`
}

// series is what one trial did, for the pictures.
type series struct {
	block int
	value float64
	rates []float64
	// outlier: see Cell.Outliers.
	outlier bool
	// step is the length of an interval.
	step time.Duration
}
