package selfcheck

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/text/usage"
)

// A session is what one comparison makes on this machine: a folder, and a control group if it limits a device. The
// journal records it as it records the sessions of engines.
type session struct {
	id, dir string
	journal engine.Journal
}

// journalIn returns the journal of the comparisons of a state folder.
func journalIn(state string) engine.Journal { return engine.JournalIn(state, "selfcheck") }

// begin makes the folder of a session in dir, which the journal of the state folder records first. The error is a
// *usage.Error if there can be no folder in dir.
func begin(ctx context.Context, state, dir string) (*session, error) {
	if st, err := os.Stat(dir); err != nil {
		return nil, usage.Errorf("--dir: %w", err)
	} else if !st.IsDir() {
		return nil, usage.Errorf("--dir: %s is not a folder", dir)
	}
	s := &session{id: "selfcheck-" + strings.ToLower(rand.Text()[:8]), journal: journalIn(state)}
	s.dir = engine.OwnFolder(dir, s.id)
	if err := s.journal.Note(ctx, s.id, engine.SessionRecord{Paths: []string{s.dir}}); err != nil {
		return nil, fmt.Errorf("record what selfcheck makes: %w", engine.StateFault(state, err))
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		_ = s.end()
		return nil, usage.Errorf("--dir: %w", err)
	}
	return s, nil
}

// group is the name of the session's control group.
func (s *session) group() string { return engine.FolderPrefix + s.id }

// end removes the session's folder and its record. Its group must have been removed.
func (s *session) end() error { return s.journal.Clear(s.id, s.dir) }

// Sweep removes the folders and groups of comparisons that were killed, by the journal of a state folder. Programs that
// still run in such a group are killed.
func Sweep(ctx context.Context, state string) (removed []string, err error) {
	return journalIn(state).SweepSessions(ctx, func(_ context.Context, id string, _ engine.SessionRecord) ([]string, error) {
		return nil, engine.RemoveGroups(engine.FolderPrefix + id)
	})
}
