package paths

import (
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/text/usage"
)

// old are the files in which versions before the journal recorded what they had made. No version reads them any more.
var old = []string{"sessions/*.json", "held/*.json", "device-wide.json", "weights.json", "limits-set.json"}

// Old refuses folders with records of a version before the journal: what they list would be neither shown nor removed. The error is a
// *usage.Error that names the first such file.
func Old(dirs ...string) error {
	for _, dir := range dirs {
		for _, pattern := range old {
			found, _ := filepath.Glob(filepath.Join(dir, pattern)) // The patterns are sound.
			for _, path := range found {
				if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
					continue
				}
				first, _, _ := strings.Cut(pattern, "/")
				return usage.Errorf("the folder %s has records of an older plimsoll, which this version can't read (%s): remove what they list with that version, or restart the machine; then delete %s",
					dir, path, filepath.Join(dir, first))
			}
		}
	}
	return nil
}
