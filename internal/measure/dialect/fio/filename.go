package fio

import "strings"

// setFilename names the files. As in fio, an nrfiles before it has no effect then.
func setFilename(j *job, v string) error {
	err := textTo(func(j *job) *string { return &j.filename })(j, v)
	j.used, j.nrfiles = 0, 1
	return err
}

// setNrFiles sets the number of the clone's own files, or behind filename how many of those are used.
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

// makes reports whether jobs before have given all of the files a length.
func (t *Test) makes(files []string) bool {
	for _, f := range files {
		if t.need[f] == 0 {
			return false
		}
	}
	return len(files) > 0
}
