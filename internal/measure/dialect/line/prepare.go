package line

import (
	"sync"
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// patience is how long a line may prepare its files without a word.
const patience = 3 * time.Second

// announce says that the files of a line are being prepared, if that takes longer than after. ready ends it; it may be called more
// than once.
func (s *session) announce(spec workload.Spec, after time.Duration) (ready func()) {
	var bytes int64
	seen := map[string]bool{}
	for _, j := range spec.Jobs {
		if j.Job.Fill || j.Job.IOEngine == load.Null {
			continue // What fills a device has no length of its own.
		}
		files := j.Job.Files
		if len(files) == 0 {
			files = []string{j.Job.Filename}
		}
		for _, f := range files {
			if f != "" && !seen[f] {
				seen[f] = true
				bytes += j.Size
			}
		}
	}
	if bytes <= 0 {
		return func() {}
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-done:
		case <-time.After(after):
			dialect.Note(s.stderr, "%s: preparing %s of up to %s; the measured time has not begun", spec.Name, size.Plural(len(seen), "file"), size.Bytes(bytes))
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-over
	})
}
