// Package share makes files of runs that a stranger may have, and checks the files of strangers.
//
// A file has the raw figures of each run, and the report that follows from them. It is made from a copy of the records that has only
// the fields and words that are listed here (run.go, trial.go, facts.go, names.go), so a name that nobody thought of is left out, not
// passed on. A file is read through the same filter: what it should not have has no effect.
//
// A hash over the content shows a change. It does not prove who made the file, because anybody can compute it anew. The check
// therefore derives each figure of the report from the trials once more. Whoever invents a result must invent rates, counts and
// histograms that fit together.
//
// The forms of runs, trials and reports are those of packages record and report.
package share

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/report"
)

// Format is the name in each file, by which it is recognized.
const Format = "plimsoll-share"

// Version is the version of the format. It grows when a field changes its meaning or is removed, and when reports compute a figure in
// another way, because older files would then seem to be forged. A test checks a file of this version.
const Version = 1

// header is the outermost object of a file.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Hash is "sha256:" and the digest of Content without the spaces between its values, in hexadecimal digits.
	Hash    string          `json:"hash"`
	Content json.RawMessage `json:"content"`
}

// content is what the hash is of.
type content struct {
	Runs []Run `json:"runs"`
}

// A Run is one run of a file.
type Run struct {
	// PlanHash is the digest of the plan's text, written like the file's: two files with the same one ran the same plan, except for
	// what was replaced in it. The text is the report's run.plan_text, and the seed its run.seed.
	PlanHash string `json:"plan_hash"`
	// Report is made from Trials alone.
	Report *report.Report `json:"report"`
	// Trials are the raw figures, with samples and histograms, in the order in which they were recorded.
	Trials []record.Trial `json:"trials"`
}

// Of is the part of a run and its trials that a stranger may have. The error says why the run can't be in a file.
func Of(r record.Run, trials []record.Trial) (Run, error) {
	r, trials, err := run(&r, trials)
	if err != nil {
		return Run{}, err
	}
	return Run{PlanHash: digest([]byte(r.PlanText)), Report: report.Build(r, trials, report.Options{TrialHistograms: -1}), Trials: trials}, nil
}

// Write writes a file of runs.
func Write(w io.Writer, runs []Run) error {
	b, err := encode(content{Runs: runs})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "{\"format\":%q,\"version\":%d,\"hash\":%q,\n\"content\":%s}\n", Format, Version, digest(b), b)
	return err
}

// encode writes JSON in one line.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// digest is the SHA-256 digest of b, with its name.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
