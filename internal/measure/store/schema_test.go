package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/record"
)

// copyFixture puts a database that the plimsoll of schema version 1 wrote into
// a folder of the test. TestFixture says what it holds.
func copyFixture(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "schema1.db"))
	must(t, err)
	path := filepath.Join(t.TempDir(), "plimsoll.db")
	must(t, os.WriteFile(path, b, 0o600))
	return path
}

// fixtureRun is what the fixture holds.
func fixtureRun() (record.Run, []record.Trial) {
	trials := []record.Trial{sampleTrial("20261121-153000-3f9a", 0, 2), sampleTrial("20261121-153000-3f9a", 1, 2)}
	trials[1].Status, trials[1].Error, trials[1].Results = record.Failed, "killed: out of memory", nil
	return sampleRun("20261121-153000-3f9a"), trials
}

// checkFixture finds in s what the fixture held. Records are of today's types:
// keys that they no longer have (disk_busy_before) are ignored.
func checkFixture(t *testing.T, s *Store) {
	t.Helper()
	run, trials := fixtureRun()
	got, err := s.Run(run.ID)
	must(t, err)
	if d := cmp.Diff(run, got); d != "" {
		t.Errorf("run (-want +got):\n%s", d)
	}
	all, err := s.Trials(run.ID, TrialsOptions{Histograms: true})
	must(t, err)
	if d := cmp.Diff(trials, all); d != "" {
		t.Errorf("trials (-want +got):\n%s", d)
	}
}

// TestFixture reads a database of the first schema with all migrations of today. To make
// one for a later schema: PLIMSOLL_MAKE_FIXTURE=testdata/schemaN.db.
func TestFixture(t *testing.T) {
	if path := os.Getenv("PLIMSOLL_MAKE_FIXTURE"); path != "" {
		s, err := Open(path)
		must(t, err)
		run, trials := fixtureRun()
		must(t, s.PutRun(run))
		for _, tr := range trials {
			must(t, s.PutTrial(tr))
		}
		must(t, s.Close())
	}
	checkFixture(t, openAt(t, copyFixture(t)))
}

// TestClientsKeepTheirOwn puts a trial of two clients on two disks; schema 1 had room for
// one truth and one where.
func TestClientsKeepTheirOwn(t *testing.T) {
	s := openAt(t, copyFixture(t))
	if v := userVersion(t, s); v != 2 {
		t.Errorf("schema version %d after opening a database of version 1, want 2", v)
	}
	run, _ := fixtureRun()
	tr := sampleTrial(run.ID, 7, 2)
	other := *tr.Where[0].Device
	other.Name, other.Minor = "vdb", 16
	tr.Where = append(tr.Where, record.Where{Host: "node2", FSType: "xfs", Device: &other})
	tr.Truth = append(tr.Truth, record.Truth{AppRead: 5, Device: "vdb", DeviceRead: -1})
	must(t, s.PutTrial(tr))
	all, err := s.Trials(run.ID, TrialsOptions{Histograms: true, Key: tr.Key, Block: &tr.Block})
	must(t, err)
	if d := cmp.Diff([]record.Trial{tr}, all); d != "" {
		t.Errorf("trials (-want +got):\n%s", d)
	}
	// Records of an older plimsoll are read beside it.
	fixed, err := s.Trials(run.ID, TrialsOptions{Block: new(int)})
	must(t, err)
	if len(fixed) == 0 || len(fixed[0].Where) != 1 || fixed[0].Where[0].FSType != "ext4" || len(fixed[0].Truth) != 1 {
		t.Errorf("a trial of schema 1 has %+v", fixed)
	}
}

func userVersion(t *testing.T, s *Store) (version int) {
	t.Helper()
	must(t, s.db.QueryRow("PRAGMA user_version").Scan(&version))
	return version
}

// TestMigrate takes the fixture through a migration that doesn't exist yet.
func TestMigrate(t *testing.T) {
	path := copyFixture(t)
	next := append(migrations[:1:1], "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT 'none'; CREATE INDEX trials_note ON trials (workload);")
	s, err := open(path, next)
	must(t, err)
	var note string
	must(t, s.db.QueryRow("SELECT note FROM runs").Scan(&note))
	if note != "none" {
		t.Errorf("note = %q", note)
	}
	checkFixture(t, s)
	must(t, s.Close())
	// Once only.
	s, err = open(path, next)
	must(t, err)
	must(t, s.Close())
	if _, err := open(path, next[:1]); err == nil || !strings.Contains(err.Error(), "schema version 2, and this plimsoll knows versions up to 1") {
		t.Errorf("the older program opens it: %v", err)
	}
}

// TestMigrateFails leaves a database as it was when a migration breaks off.
func TestMigrateFails(t *testing.T) {
	path := copyFixture(t)
	broken := append(migrations[:1:1], "CREATE TABLE extra (a); DROP TABLE runs_of_old;")
	if s, err := open(path, broken); err == nil || !strings.Contains(err.Error(), "bring the schema to version 2") {
		if err == nil {
			s.Close()
		}
		t.Fatalf("open = %v", err)
	}
	s := openAt(t, path)
	checkFixture(t, s)
	var name string
	if err := s.db.QueryRow("SELECT name FROM sqlite_schema WHERE name = 'extra'").Scan(&name); err != sql.ErrNoRows {
		t.Errorf("half a migration is left: %q, %v", name, err)
	}
}
