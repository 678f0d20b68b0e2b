package durability

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"plimsoll/load"
)

// readJournal returns the job and the number of writes that were flushed. It ignores a last line that a crash cut
// short, because that sync was not yet recorded. The numbers increase, since each line is of a later sync, up to at
// most the number of blocks that the job writes. Write writes no other journal.
func readJournal(journal io.Reader) (load.Job, int64, error) {
	var h head
	s := bufio.NewScanner(journal)
	s.Buffer(nil, 1<<20)
	if !s.Scan() {
		if s.Err() != nil {
			return h.Job, 0, fmt.Errorf("read the journal: %w", s.Err())
		}
		return h.Job, 0, errors.New("the journal is empty: nothing was written")
	}
	if err := json.Unmarshal(s.Bytes(), &h); err != nil || h.Format != 1 || h.Job.BS <= 0 || h.Job.Size <= 0 {
		return h.Job, 0, fmt.Errorf("the journal's first line was not written by plimsoll verify: %.80q", s.Text())
	}
	if err := checkJob(h.Job); err != nil {
		return h.Job, 0, fmt.Errorf("the journal's job: %w", err)
	}
	flushed, blocks := int64(0), h.Job.Size/h.Job.BS
	var last error // of a line that is valid only as the last one
	for n := 2; s.Scan(); n++ {
		if last != nil {
			return h.Job, 0, last
		}
		var l struct {
			Flushed *int64 `json:"flushed"`
		}
		err := json.Unmarshal(s.Bytes(), &l)
		switch {
		case err != nil || l.Flushed == nil:
			last = fmt.Errorf("line %d of the journal was not written by plimsoll verify: %.80q", n, s.Text())
			if err == nil {
				return h.Job, 0, last // It is complete.
			}
		case *l.Flushed < 0 || *l.Flushed > blocks:
			return h.Job, 0, fmt.Errorf("line %d of the journal says that %d of %d blocks were synced: the journal is damaged, or belongs to another job", n, *l.Flushed, blocks)
		case *l.Flushed < flushed:
			return h.Job, 0, fmt.Errorf("line %d of the journal says that %d blocks were synced, but an earlier line said %d: the journal is damaged, or belongs to another job", n, *l.Flushed, flushed)
		default:
			flushed = *l.Flushed
		}
	}
	if s.Err() != nil {
		return h.Job, 0, fmt.Errorf("read the journal: %w", s.Err())
	}
	return h.Job, flushed, nil
}

// checkJob refuses a job that Write doesn't write, so that Check works on blocks that can be recalled.
func checkJob(j load.Job) error {
	if err := j.Validate(); err != nil {
		return err
	}
	switch {
	case j.RW != load.RandWrite || !j.Verify:
		return fmt.Errorf("rw=%s, verify=%t: it is not a job of plimsoll verify", j.RW, j.Verify)
	case j.Size%j.BS != 0 || j.NumJobs > 1:
		return fmt.Errorf("%d jobs of %d bytes in blocks of %d: it is not a job of plimsoll verify", max(j.NumJobs, 1), j.Size, j.BS)
	}
	return nil
}
