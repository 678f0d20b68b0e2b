//go:build !linux

package workload

import "os"

// fileSize is the length of a file.
func fileSize(path string) (int64, error) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// invalidate does nothing: other systems have no call that drops one file from the cache.
func (j *StageJob) invalidate() error { return nil }
