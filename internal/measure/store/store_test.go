package store

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/record"
)

func TestOpenRefuses(t *testing.T) {
	sqliteFile := func(t *testing.T, path, script string) {
		db, err := sql.Open("sqlite", path)
		must(t, err)
		defer db.Close()
		_, err = db.Exec(script)
		must(t, err)
	}
	for _, tt := range []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"a folder", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, "not a regular file"},
		{"a text", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("dear diary, today"), 0o600)) }, "not a database"},
		{"a short text", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("dear"), 0o600)) }, "not a database"},
		{"a header and no more", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(sqliteMagic), 0o600)) }, "not a database"},
		{"another program's database", func(t *testing.T, path string) { sqliteFile(t, path, "CREATE TABLE bookmarks (url)") }, "another program"},
		{"an earlier schema", func(t *testing.T, path string) {
			sqliteFile(t, path, "CREATE TABLE runs (id); PRAGMA user_version = 2; PRAGMA application_id = 1886153069")
		}, "an earlier version of plimsoll (schema version 2, and this one knows 3)"},
		{"a later schema", func(t *testing.T, path string) {
			s, err := Open(path)
			must(t, err)
			_, err = s.db.Exec("PRAGMA user_version = 99")
			must(t, err)
			must(t, s.Close())
		}, "a later version of plimsoll (schema version 99, and this one knows 3)"},
		{"a damaged database", func(t *testing.T, path string) {
			sqliteFile(t, path, "CREATE TABLE a (b)")
			b, err := os.ReadFile(path)
			must(t, err)
			for i := 100; i < len(b); i++ {
				b[i] = 0xee
			}
			must(t, os.WriteFile(path, b, 0o600))
		}, "damaged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "plimsoll.db")
			tt.make(t, path)
			before, _ := os.ReadFile(path)
			s, err := Open(path)
			if err == nil {
				s.Close()
				t.Fatal("Open succeeded")
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("Open = %v, want %q and the path", err, tt.want)
			}
			after, _ := os.ReadFile(path)
			if string(before) != string(after) {
				t.Error("Open changed what it refused")
			}
		})
	}
}

func TestOpenInOddPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?mode=ro#100%25", "é", "plimsoll.db")
	s := openAt(t, path)
	must(t, s.PutRun(sampleRun("r")))
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the database is elsewhere: %v", err)
	}
	fi, err := os.Stat(filepath.Dir(path))
	must(t, err)
	if fi.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, want 0700", fi.Mode())
	}
	var mode, sync, keys, vacuum string
	must(t, s.db.QueryRow("PRAGMA journal_mode").Scan(&mode))
	must(t, s.db.QueryRow("PRAGMA synchronous").Scan(&sync))
	must(t, s.db.QueryRow("PRAGMA foreign_keys").Scan(&keys))
	must(t, s.db.QueryRow("PRAGMA auto_vacuum").Scan(&vacuum))
	if got, want := mode+" "+sync+" "+keys+" "+vacuum, "wal 1 1 2"; got != want {
		t.Errorf("journal, synchronous, foreign keys, auto vacuum = %s, want %s", got, want)
	}
}

// TestOpenAtOnce has many openers race for a database that isn't there yet.
func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "plimsoll.db")
	var wait sync.WaitGroup
	for range 12 {
		wait.Go(func() {
			s, err := Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.PutRun(sampleRun("r")); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

func TestRunRoundTrip(t *testing.T) {
	s := openTemp(t)
	want := sampleRun("20261121-153000-3f9a")
	must(t, s.PutRun(want))
	got, err := s.Run(want.ID)
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("run (-put +got):\n%s", d)
	}
	must(t, s.PutTrial(sampleTrial(want.ID, 0, 1)))
	want.Status, want.Ended = record.Done, start.Add(time.Hour)
	must(t, s.PutRun(want))
	got, err = s.Run(want.ID)
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("run put again (-put +got):\n%s", d)
	}
	// To put a run again must not take its trials with it.
	if slots, err := s.Slots(want.ID); err != nil || len(slots) != 1 {
		t.Errorf("Slots after the run was put again = %v, %v, want one", slots, err)
	}
}

func TestPutRunRefuses(t *testing.T) {
	s := openTemp(t)
	nan := sampleRun("r")
	nan.Ceiling.IOPS /= 0 * nan.Margin
	for _, tt := range []struct {
		run  record.Run
		want string
	}{
		{record.Run{}, `run ""`},
		{record.Run{ID: "../../etc/passwd"}, "an id is"},
		{record.Run{ID: "last"}, "an id is"},
		{record.Run{ID: strings.Repeat("x", 101)}, "an id is"},
		{nan, "run r: ceiling.iops is +Inf"},
	} {
		if err := s.PutRun(tt.run); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("PutRun(%.20q) = %v, want %q", tt.run.ID, err, tt.want)
		}
	}
}

func TestResolve(t *testing.T) {
	s := openTemp(t)
	var unknown *RefError
	if _, err := s.Resolve("last"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "no run is recorded") {
		t.Errorf("Resolve(last) of nothing = %v", err)
	}
	for i, id := range []string{"20261121-100000-aaaa", "20261121-110000-aaab", "20261122-100000-bbbb", "20261122"} {
		r := sampleRun(id)
		r.Started = start.Add(time.Duration(i) * time.Hour)
		r.Plan = []string{"places", "wal"}[i%2]
		must(t, s.PutRun(r))
	}
	for _, tt := range []struct{ ref, want, err string }{
		{"", "", "not known; the newest are 20261122, 20261122-100000-bbbb"},
		{"x", "", "not known"},
		{"%", "", "not known"},
		{"last~4", "", "not known"},
		{"last~-1", "", "not known"},
		{"last~99999999999999999999", "", "not known"},
		{"2026112", "", "ambiguous: 20261122, 20261122-100000-bbbb, 20261121-110000-aaab, 20261121-100000-aaaa"},
		{"20261122-100000-BBBB", "", "not known"},
		{"20261122-1", "20261122-100000-bbbb", ""},
		{"20261122", "20261122", ""}, // An id that begins another one.
		{"last", "20261122", ""},
		{"last~0", "20261122", ""},
		{"last~3", "20261121-100000-aaaa", ""},
	} {
		got, err := s.Resolve(tt.ref)
		if tt.err != "" {
			if !errors.As(err, &unknown) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Resolve(%q) = %q, %v, want %q", tt.ref, got, err, tt.err)
			}
			continue
		}
		if got != tt.want || err != nil {
			t.Errorf("Resolve(%q) = %q, %v, want %q", tt.ref, got, err, tt.want)
		}
	}
	if _, err := s.Run("none"); !errors.As(err, &unknown) {
		t.Errorf("Run(none) = %v", err)
	}
}

func TestNewRunID(t *testing.T) {
	now := time.Date(2026, 11, 21, 17, 30, 0, 0, time.FixedZone("", 2*3600))
	if id, err := NewRunID(now, strings.NewReader("\x3f\x9a")); id != "20261121-153000-3f9a" || err != nil {
		t.Errorf("NewRunID = %q, %v", id, err)
	}
	if _, err := NewRunID(now, strings.NewReader("\x3f")); err == nil {
		t.Error("NewRunID without random numbers succeeded")
	}
}

func TestRuns(t *testing.T) {
	s := openTemp(t)
	put := func(id, status string, age int, trials ...record.Trial) {
		r := sampleRun(id)
		r.Status, r.Started = status, start.Add(time.Duration(-age)*time.Hour)
		must(t, s.PutRun(r))
		for _, tr := range trials {
			must(t, s.PutTrial(tr))
		}
	}
	failed := sampleTrial("done", 3, 2)
	failed.Status = record.Failed
	put("done", record.Done, 0, sampleTrial("done", 0, 2), sampleTrial("done", 1, 2), sampleTrial("done", 2, 2), failed)
	put("broken", record.Running, 1, sampleTrial("broken", 0, 2), sampleTrial("broken", 1, 2), sampleTrial("broken", 2, 2))
	put("young", record.Running, 2, sampleTrial("young", 0, 2))
	release, err := s.Own("young")
	must(t, err)
	defer release()
	put("empty", record.Interrupted, 3)
	_, err = s.db.Exec("INSERT INTO runs VALUES ('bad', 'places', 'done', 0, '{')")
	must(t, err)

	type row struct {
		ID                         string
		Trials, Failed, BlocksDone int
		Alive, Broken              bool
	}
	all, err := s.Runs(Filter{})
	var damage *DamageError
	if !errors.As(err, &damage) || damage.Run != "bad" {
		t.Errorf("Runs = %v, want a damaged run bad", err)
	}
	var got []row
	for _, r := range all {
		got = append(got, row{r.ID, r.Trials, r.Failed, r.BlocksDone, r.Alive, r.Broken()})
	}
	want := []row{{"done", 4, 1, 2, false, false}, {"broken", 3, 0, 1, false, true}, {"young", 1, 0, 0, true, false}, {"empty", 0, 0, 0, false, false}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Runs (-want +got):\n%s", d)
	}
	if all, err := s.Runs(Filter{Plan: "places", Status: record.Running, Limit: 1}); err != nil || len(all) != 1 || all[0].ID != "broken" {
		t.Errorf("Runs(running, 1) = %v, %v", all, err)
	}
	if all, err := s.Runs(Filter{Plan: "wal"}); err != nil || len(all) != 0 {
		t.Errorf("Runs(wal) = %v, %v", all, err)
	}
}
