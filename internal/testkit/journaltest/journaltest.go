// Package journaltest makes entries of a journal whose owners have ended, for tests of the functions that undo them.
package journaltest

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/state/journal"
)

// Dead writes an entry into the journal of a state folder whose owner has ended.
func Dead(t testing.TB, state, kind, id string, payload any) {
	t.Helper()
	b, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	e := journal.Entry{Kind: kind, ID: id, Owner: procfs.Process{PID: os.Getpid(), Start: 1, Boot: "x"}, Payload: b}
	if b, err = json.Marshal(e); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(state, "journal", kind, url.PathEscape(id)+".json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Entries lists the entries in the journal of a state folder, each as KIND/ID.
func Entries(t testing.TB, state string) (list []string) {
	t.Helper()
	j := journal.In(state)
	kinds, err := j.Kinds()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		entries, err := j.Entries(kind)
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			list = append(list, e.Kind+"/"+e.ID)
		}
	}
	return list
}

// Left lists the entries, owners' locks and half-written files in the journal of a state folder. There are none once every owner has
// removed its entries.
func Left(t testing.TB, state string) (list []string) {
	t.Helper()
	for _, pattern := range []string{"*.owner", "*/*", "*/.*"} {
		files, err := filepath.Glob(filepath.Join(state, "journal", pattern))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, files...)
	}
	return list
}
