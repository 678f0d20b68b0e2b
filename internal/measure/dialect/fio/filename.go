package fio

import "strings"

// setFilename names the files. As in fio, an earlier nrfiles loses its effect.
func setFilename(j *job, v string) error {
	err := textTo(func(j *job) *string { return &j.filename })(j, v)
	j.used, j.nrfiles = 0, 1
	return err
}

// setNrFiles sets the number of the clone's own files, or, after filename, how many of those files are used.
func setNrFiles(j *job, v string) error {
	n, err := parseInt(v, 1, maxNrFiles)
	switch {
	case err != nil:
	case strings.Trim(j.filename, ":") != "":
		j.used = int(n)
	default:
		j.nrfiles = int(n)
	}
	return err
}

// makes reports whether earlier jobs give all of the files a length.
func (t *Test) makes(files []string) bool {
	for _, f := range files {
		if t.need[f] == 0 {
			return false
		}
	}
	return len(files) > 0
}
