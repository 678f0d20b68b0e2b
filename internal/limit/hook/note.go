package hook

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/text/clean"
)

// Log is the name, in the daemon's folder, of the file with the messages of failed hooks. It starts anew after maxLog
// bytes.
const (
	Log    = "hook.log"
	maxLog = 1 << 20
)

// Note records why a hook failed: crun discards what hooks print.
func Note(run string, cause error) error {
	path := filepath.Join(run, Log)
	if err := os.MkdirAll(run, 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".old"); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	// One write: several hooks may run at once.
	_, err = fmt.Fprintf(f, "%s %s\n", time.Now().Format(time.RFC3339), clean.Line(cause.Error()))
	return errors.Join(err, f.Close())
}
