package workload

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"plimsoll/load"
)

// partsOfFiles gives each file of a job a region of its own if the region is a whole file, or a percentage, and the files
// differ in length. It reports whether it did.
func (j *StageJob) partsOfFiles() (bool, error) {
	l := &j.Job
	paths := j.paths()
	sized := l.Size > 0 && j.SizePercent == 0
	placed := j.OffsetPercent > 0 || j.StepPercent > 0 || l.Zones != nil || len(l.Only) > 0
	if len(paths) < 2 || l.IOEngine == load.Null || sized || placed {
		return false, nil
	}
	sizes := make([]int64, len(paths))
	for i, p := range paths {
		n, err := fileSize(p)
		if err != nil {
			return false, fmt.Errorf("job %s: %w", j.Name, err)
		}
		if j.SizePercent > 0 {
			n = percent(n, j.SizePercent)
		}
		sizes[i] = max(n-l.Offset, 0)
	}
	if slices.Min(sizes) == slices.Max(sizes) {
		return false, nil
	}
	unit := max(l.BS, 1)
	l.Sizes, l.Size, j.SizePercent = sizes, slices.Max(sizes), 0
	if l.Size < unit {
		return false, fmt.Errorf("job %s: none of its %d files has a block of %d bytes behind offset %d", j.Name, len(paths), unit, l.Offset)
	}
	if j.IOPercent > 0 {
		l.IOSize, j.IOPercent = max(l.Share(j.IOPercent), unit), 0
	}
	return true, nil
}

// mostListed is how many files of a folder a job reads at most: as many as a job may have.
const mostListed = 4096

// list lists the job's files: the regular ones in dir and below. With a Size, each file is read up to its share of that,
// and only as many as there are blocks for.
func (j *StageJob) list(dir string) error {
	var all []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if all = append(all, path); len(all) > mostListed {
			return fmt.Errorf("%s has more than %d files", dir, mostListed)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no regular files", dir)
	}
	l := &j.Job
	if l.Size > 0 {
		all = all[:max(min(int64(len(all)), l.Size/max(l.BS, 1)), 1)]
		n := int64(len(all))
		if l.IOSize == l.Size/l.BS*l.BS {
			l.IOSize = l.Size / n / l.BS * l.BS * n
		}
		l.Size /= n
	}
	l.Filename, l.Files = "", all
	if len(all) == 1 {
		l.Filename, l.Files, l.FileService = all[0], nil, ""
	}
	return nil
}
