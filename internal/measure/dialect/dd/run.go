package dd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// Run does the line in a session and prints dd's lines on stderr, as dd does.
func (t *Test) Run(ctx context.Context, s dialect.Session, _, stderr io.Writer) error {
	var onSample func(load.Sample)
	asked, stop := questions()
	defer stop()
	shown := progress{w: stderr, lines: t.Status == "progress", next: time.Second, asked: asked, bs: t.BS}
	if t.Status != "none" {
		onSample = shown.sample
	}
	leave, err := dialect.Leave(s, t.Destructive, []string{t.file()})
	if err != nil {
		return err
	}
	job := t.job(s)
	job.Destructive = leave
	res, err := s.Stage(ctx, "dd", []workload.StageJob{job}, onSample)
	shown.end()
	if err != nil {
		return err
	}
	var bytes int64
	for _, c := range res.Classes {
		bytes += c.Bytes
	}
	// Scripts take the rate from the last line, and status=none is for errors only.
	unfinished := dialect.Finish(ctx, s, t.Status == "none")
	if t.Status == "none" {
		return unfinished
	}
	t.notePeer(stderr, bytes, res.Elapsed, res.Stage[0].AtPeer)
	whole, part := bytes/t.BS, min(bytes%t.BS, 1)
	fmt.Fprintf(stderr, "%d+%d records in\n", whole, part)
	if slices.Contains(t.Conv, "sync") {
		whole, part, bytes = whole+part, 0, (whole+part)*t.BS // conv=sync fills the last block up with zeros.
	}
	fmt.Fprintf(stderr, "%d+%d records out\n", whole, part)
	if t.Status != "noxfer" {
		fmt.Fprintln(stderr, summary(bytes, res.Elapsed, false))
	}
	return unfinished
}

// notePeer reports the rate of the storage alone, if reading the input, or writing to /dev/null, took a noticeable
// share of the time.
func (t *Test) notePeer(stderr io.Writer, bytes int64, all, peer time.Duration) {
	if peer < all/10 || peer >= all || all < 10*time.Millisecond {
		return
	}
	what := "reading " + t.In
	if t.Out == null {
		what = "writing to " + t.Out
	}
	dialect.Note(stderr, "%s took %.2g of the %.2g s; the storage alone did %s", what, peer.Seconds(), all.Seconds(), rate(bytes, all-peer))
}

// file is the command line's file on storage: its input or its output.
func (t *Test) file() string {
	if t.Out == null {
		return t.In
	}
	return t.Out
}

// job is the job of the command line.
func (t *Test) job(session dialect.Session) workload.StageJob {
	if t.Out == null {
		j := load.Job{RW: load.Read, BS: t.BS, Filename: session.Path(t.In), Offset: t.Skip * t.BS, IOEngine: load.PSync, Tail: true, Peer: load.PeerNull, EndClose: true}
		if t.Count > 0 {
			j.Size = t.Count * t.BS
		}
		j.Direct, j.Sync = modes(t.InFlags)
		return workload.StageJob{Name: "read", Job: j, Clip: true, Exist: workload.Must} // At the file's end dd ends, too.
	}
	j := load.Job{
		RW: load.Write, BS: t.BS, Filename: session.Path(t.Out), Offset: t.Seek * t.BS, Size: t.Count * t.BS, IOEngine: load.PSync,
		Peer: load.PeerRandom, Append: slices.Contains(t.OutFlags, "append"),
		EndFsync: slices.Contains(t.Conv, "fsync") || slices.Contains(t.Conv, "fdatasync"),
		EndClose: true, // dd takes the time when it has closed its files.
	}
	j.EndDataOnly = j.EndFsync && !slices.Contains(t.Conv, "fsync")
	if t.In == zero {
		j.Data, j.Peer = load.DataZero, load.PeerZero
	}
	j.Direct, j.Sync = modes(t.OutFlags)
	s := workload.StageJob{Name: "write", Job: j, Size: (t.Seek + t.Count) * t.BS}
	s.Extend = slices.Contains(t.Conv, "notrunc")
	if s.Truncate = !s.Extend; s.Truncate {
		s.Keep = j.Offset
	}
	switch {
	case slices.Contains(t.Conv, "nocreat"):
		s.Exist = workload.Must
	case slices.Contains(t.Conv, "excl"):
		s.Exist = workload.MustNot
	}
	return s
}

// modes are the modes that a list of flags sets for opening the file.
func modes(flags []string) (direct bool, sync string) {
	switch {
	case slices.Contains(flags, "sync"):
		sync = "sync"
	case slices.Contains(flags, "dsync"):
		sync = "dsync"
	}
	return slices.Contains(flags, "direct"), sync
}
