package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
)

// progress prints a run's progress: on a terminal one line that each trial rewrites, elsewhere one line for each block.
// Notes and failed trials have lines of their own on both.
type progress struct {
	w        io.Writer
	terminal bool
	trials   int
	blocks   int
	block    int
	failed   int
	// begin is when this process started, and first how many trials were done by then, for the time left: a resumed run
	// has done some already.
	begin time.Time
	first int
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	terminal := false
	if ok {
		if st, err := f.Stat(); err == nil {
			terminal = st.Mode()&os.ModeCharDevice != 0
		}
	}
	return &progress{w: w, terminal: terminal, block: -1}
}

// Note implements trial.Observer.
func (p *progress) Note(text string) { fmt.Fprintf(p.w, "%s%s\n", p.clear(), clean.Short(text)) }

// Plan implements trial.Observer.
func (p *progress) Plan(trials, blocks, done int) {
	p.trials, p.blocks, p.begin, p.first = trials, blocks, time.Now(), 0
	if done > 0 {
		fmt.Fprintf(p.w, "%s%d of %s left, in %s\n", p.clear(), trials-done, size.Plural(trials, "trial"), size.Plural(blocks, "block"))
		return
	}
	fmt.Fprintf(p.w, "%s%s in %s\n", p.clear(), size.Plural(trials, "trial"), size.Plural(blocks, "block"))
}

// Trial implements trial.Observer.
func (p *progress) Trial(n int, t *record.Trial) {
	if p.first == 0 {
		p.first = n
	}
	if t.Status == record.Failed {
		p.failed++
		fmt.Fprintf(p.w, "%sfailed: %s, %s: %s\n", p.clear(), clean.Short(t.Key), record.BlockName(t.Block), clean.Short(t.Error))
	}
	if p.terminal {
		fmt.Fprintf(p.w, "%strial %d of %d, %s of %d%s", p.clear(), n, p.trials, record.BlockName(t.Block), p.blocks, p.left(n))
		if n == p.trials {
			fmt.Fprint(p.w, p.clear())
		}
		return
	}
	if t.Block != p.block {
		p.block = t.Block
		fmt.Fprintf(p.w, "%s of %d%s\n", record.BlockName(t.Block), p.blocks, p.left(n))
	}
}

// left estimates the time left from the trials so far.
func (p *progress) left(n int) string {
	done := n - p.first
	if done < 5 {
		return ""
	}
	per := time.Since(p.begin) / time.Duration(done+1)
	return fmt.Sprintf(", about %s left", size.Duration((per * time.Duration(p.trials-n)).Round(time.Second)))
}

// clear returns to the beginning of a terminal's line and clears it.
func (p *progress) clear() string {
	if p.terminal {
		return "\r\x1b[K"
	}
	return ""
}
