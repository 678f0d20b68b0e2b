// Package stats says what the trials of a run prove. It is pure: no I/O, no clock,
// the same answer for the same input and seed.
//
// The model: a cell's value in a block is a rate, higher being better, and the
// unit of evidence is the block. Two cells are compared by the logs of their
// ratios, block by block, so that whatever slows a whole block down cancels. All
// comparisons of a report form one family: its intervals hold together with 95 %
// confidence, so that eighty true "no difference" yield a single false find in
// one report of twenty, not four in each.
//
// The thing easily got wrong is the interval of six blocks. A percentile bootstrap
// covers the truth of all of eighty comparisons in 9 % of reports instead
// of 95 %; Student's t does better but is so wide that it says nothing. This package learns
// how noisy a cell may be from all cells of the report (beliefs), and how much
// the comparisons have in common from a bootstrap over blocks (levels).
// METHOD.md holds what was tried, the figures that decided, where it fails, and
// how to run the simulation again.
//
// The words of a verdict are defined at Verdict and Comparison.Sentence.
package stats
