package fio

import (
	"os"
	"path/filepath"

	"plimsoll/internal/measure/dialect"
)

// here refuses what a job's paths say of this machine and isn't so where the session is. In a place all paths are the
// container's: none of them is looked at here.
func (t *Test) here(session dialect.Session) error {
	for _, clones := range t.stages {
		for _, c := range clones {
			if c.device && !filepath.IsAbs(session.Path(c.files[0])) {
				return dialect.Usagef(c.job.where, "name=%s is a device of this machine, and the job runs in a place: leave out --engine and --place, or give a filename", c.job.section)
			}
			for _, dir := range splitColons(c.job.directory) {
				path := session.Path(dir)
				if !filepath.IsAbs(path) || c.files == nil {
					continue
				}
				if st, err := os.Stat(path); err != nil || !st.IsDir() {
					return dialect.Usagef(c.job.where, "directory=%s is not a directory; make it first", dir)
				}
			}
		}
	}
	return nil
}
