package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"plimsoll/internal/conf/userfile"
)

// An outputFile is standard output that keeps its first error: lost data is no success, even if the writer ignored the
// error.
type outputFile struct {
	w  io.Writer
	mu sync.Mutex
	// err is the first error of a write.
	err error
}

// Write implements io.Writer.
func (o *outputFile) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// lost returns the first error.
func (o *outputFile) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// printJSON prints v as JSON. It does not escape HTML, because advice contains commands with < and >.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// writeFile writes an output file completely or not at all.
func writeFile(ctx context.Context, path string, write func(io.Writer) error) error {
	err := userfile.WriteWhole(ctx, path, write)
	if errors.Is(err, userfile.ErrBlockDevice) {
		return usageError("%w", err)
	}
	return err
}

// spareDatabase refuses an output file that is the database itself, or one of its auxiliary files.
func (a *app) spareDatabase(path string) error {
	out, err := os.Stat(path)
	if err != nil {
		return nil // There is nothing to protect.
	}
	for _, name := range []string{"plimsoll.db", "plimsoll.db-wal", "plimsoll.db-shm"} {
		if st, err := os.Stat(filepath.Join(a.stateDir, name)); err == nil && os.SameFile(st, out) {
			return usageError("%s is Plimsoll's own database: name another file", path)
		}
	}
	return nil
}
