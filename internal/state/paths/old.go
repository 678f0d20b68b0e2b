package paths

import (
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/text/usage"
)

// old has patterns of the files in which early versions, which had no journal yet, recorded what they had made. This
// version doesn't read them.
var old = []string{"sessions/*.json", "held/*.json", "device-wide.json", "weights.json", "limits-set.json"}

// Old refuses state folders with such files, because this version would neither show nor remove what they list. The error
// is a *usage.Error that names the first of them, nil if there are none.
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
