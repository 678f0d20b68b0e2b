package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// A flush makes the kernel's flusher, instead of the workers, write back what a trial's clients left in the page cache, and
// measures it. A worker that syncs its file submits the writes itself, in its own control group. Writes that no program
// syncs are written by the flusher, and with version 1 of control groups it does so in the root group, where no container's
// limit holds it. A plan with limits on I/O is about those writes.
type flush struct {
	// folders are open since before the trial: an error of writing back is reported only to files that were open
	// (syncfs(2)).
	folders []*os.File
}

// openFlush opens the folders of the clients' data, one for each file system. It returns nil if one isn't known, or if the
// job leaves nothing in the page cache: the workers sync then.
func (a *attempt) openFlush(spec workload.Spec) *flush {
	if !a.flush || !spec.LeavesWrites() {
		return nil
	}
	f := &flush{}
	for _, one := range a.agents {
		if one.Session.Info().Guest {
			// The writes are in the guest's page cache, out of reach of this kernel's flusher.
			f.close()
			return nil
		}
		// Another user of the place may have replaced the folder.
		d, err := workload.OpenFolder(one.Session.Info().HostPath)
		if err != nil {
			f.close()
			return nil
		}
		f.folders = append(f.folders, d)
	}
	return f
}

func (f *flush) close() {
	if f == nil {
		return
	}
	for _, d := range f.folders {
		d.Close()
	}
}

// diskCounts are writes and bytes written of a device.
type diskCounts struct{ writes, bytes int64 }

// countDisks reads how much the disks under the clients have written, by client; an entry is nil if that isn't known.
func countDisks(where []record.Where) []*diskCounts {
	all := make([]*diskCounts, len(where))
	for i, w := range where {
		if w.Device == nil {
			continue
		}
		// Fields 5 and 7 of Documentation/block/stat.rst; its sectors have 512 bytes.
		b, err := os.ReadFile("/sys/dev/block/" + w.Device.Number.String() + "/stat")
		f := strings.Fields(string(b))
		if err != nil || len(f) < 7 {
			continue
		}
		writes, werr := strconv.ParseInt(f[4], 10, 64)
		sectors, serr := strconv.ParseInt(f[6], 10, 64)
		if errors.Join(werr, serr) == nil {
			all[i] = &diskCounts{writes, sectors * 512}
		}
	}
	return all
}

// run waits until everything is on the storage, and notes in t how long that took and what the disks did meanwhile. where
// describes the clients' storage.
func (f *flush) run(ctx context.Context, a *attempt, t *record.Trial, where []record.Where) error {
	before, begin := countDisks(where), time.Now()
	synced := make(chan error, 1)
	go func() {
		var errs []error
		for _, d := range f.folders {
			errs = append(errs, workload.SyncFS(d))
		}
		synced <- errors.Join(errs...)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for done := false; !done; {
		for i := range a.agents {
			a.timeout.settling(i, workload.Unwritten())
		}
		select {
		case err := <-synced:
			if err != nil {
				return fmt.Errorf("writes that are in the result did not reach the storage: %w", err)
			}
			done = true
		case <-ctx.Done():
			// The sync goes on in the kernel, which can't be stopped. The folder stays open for it.
			f.folders = nil
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	took, after := time.Since(begin), countDisks(where)
	for i := range t.Results {
		t.Results[i].Settled = took
		if i < len(before) && before[i] != nil && after[i] != nil {
			t.Results[i].Flushed = &workload.Flushed{Writes: after[i].writes - before[i].writes, Bytes: after[i].bytes - before[i].bytes}
		}
	}
	return nil
}
