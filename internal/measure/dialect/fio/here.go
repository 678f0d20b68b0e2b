package fio

import (
	"os"
	"path/filepath"

	"plimsoll/internal/measure/dialect"
)

// checkPaths refuses paths of this machine that the session can't use: devices when the job runs in a place, and missing
// directories on the host. Other paths in a place are the container's and are not checked.
func (t *Test) checkPaths(session dialect.Session) error {
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
