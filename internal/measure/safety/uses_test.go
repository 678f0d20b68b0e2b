package safety

import (
	"slices"
	"testing"
)

// use is the answer for a program.
func (r *Report) use(name string) Use {
	return r.Uses[slices.IndexFunc(r.Uses, func(u Use) bool { return u.Name == name })]
}

// TestUses: the answer for a program follows from what it needs, and from nothing else.
func TestUses(t *testing.T) {
	// The answers of a healthy place, each of one process and of two on each side.
	healthy := func() (all []Finding) {
		for _, q := range questions {
			if q.one != nil {
				all = append(all, Finding{Key: q.key, Answer: Yes})
				continue
			}
			for _, between := range []Between{Processes, Containers, Machines} {
				all = append(all, Finding{Key: q.key, Answer: Yes, Between: between})
			}
		}
		return all
	}
	for _, row := range []struct {
		key     string
		between Between
		program string
		want    Answer
	}{
		{"", "", "git", Yes},
		// Real SQLite ends with "database is locked", see TestVMSQLite.
		{"lock-upgrade", "", "SQLite, WAL mode", No},
		{"lock-upgrade", "", "SQLite, rollback journal", No},
		{"lock-upgrade", "", "MongoDB", Yes},
		{"lock-posix", Machines, "SQLite, rollback journal", Alone},
		// Real LMDB and PostgreSQL are misled by ids of two series, see TestConfirmLMDB and TestConfirmPostgreSQLTwice.
		{"process-ids", Containers, "LMDB", Alone},
		{"process-ids", Containers, "PostgreSQL", Alone},
		// Real git notices each edit, see TestConfirmGit.
		{"mtime-ns", "", "git", Yes},
		{"rename-open", Processes, "git", No},
		{"rename-open", Machines, "git", Alone},
		{"events", Machines, "file watchers (npm, webpack, vite)", No},
	} {
		findings := healthy()
		for i := range findings {
			if f := &findings[i]; f.Key == row.key && f.Between == row.between {
				f.Answer = No
			}
		}
		r := Report{Uses: derive(findings)}
		if got := r.use(row.program); got.Safe != row.want {
			t.Errorf("without %s between %q, %s: %s, want %s", row.key, row.between, row.program, got.Safe, row.want)
		}
	}
}
