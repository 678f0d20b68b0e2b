package safety

import (
	"fmt"
	"slices"
)

// A use is what a program needs.
type use struct {
	name  string
	needs []need
	// across is set if the use is one of two sides.
	across bool
}

// A need is a promise that a program relies on, and what happens without it.
type need struct{ key, breaks string }

// optional needs don't count where they were not asked.
var optional = []string{"process-ids"}

// Needs that several programs have.
var (
	needSync      = need{"fsync", "a power cut loses what was committed"}
	needRename    = need{"rename-open", "replacing a file fails or leaves remains"}
	needPOSIX     = need{"lock-posix", "without locks, two writers corrupt the files"}
	needUpgrade   = need{"lock-upgrade", "it ends with \"database is locked\""}
	needExclusive = need{"create-exclusive", "two can hold a lock file at once"}
)

// uses are what people keep in places. Sources: sqlite.org/wal.html (2.2) and sqlite.org/lockingv3.html; PostgreSQL's manual,
// 19.2 "Creating a Database Cluster" and 30.1 "Reliability", and CreateLockFile of its miscinit.c; etcd's "Hardware
// recommendations", and bbolt, which maps its file and writes it; MongoDB's production notes (WiredTiger.lock, direct syncs);
// lmdb.h ("Caveats"), and mdb_reader_pid, which locks the byte of the process's id; git's lockfile.h and racy-git.txt (git needs
// no fine modification times: it reads a file that is as new as its index); cr.yp.to/proto/maildir.html; chokidar and watchpack,
// which use inotify.
var uses = []use{
	{"SQLite, WAL mode", []need{
		{"shared-memory", "without shared memory, two processes corrupt the database"}, needPOSIX, needUpgrade, needSync,
	}, false},
	{"SQLite, rollback journal", []need{needPOSIX, needUpgrade, {"fresh-content", "a reader sees an old page"}, needSync}, false},
	{"PostgreSQL", []need{
		{"chown", "its container can't take over the folder, and does not start"}, {"chmod", "it refuses a folder whose mode is not 0700"}, needRename, needSync,
		{"process-ids", "two servers can start at once and corrupt the data: each looks for the other by its process id"},
	}, false},
	{"MySQL, MariaDB", []need{{"chown", "its container can't take over the folder"}, needPOSIX, needSync}, false},
	{"MongoDB", []need{needPOSIX, needSync}, false},
	{"etcd", []need{
		{"lock-flock", "two members can open the same data"}, {"map-write", "it reads old pages"}, {"fdatasync-10ms", "leader elections, slow answers"}, needSync,
	}, false},
	{"LMDB", []need{
		{"shared-memory", "readers and writers corrupt the database"}, {"map-write", "it reads old pages"}, needPOSIX, needSync,
		{"process-ids", "a reader is refused while a process with the same id reads there"},
	}, false},
	{"git", []need{needRename, needExclusive, {"case", "files that differ in case only overwrite each other"}}, false},
	{"file watchers (npm, webpack, vite)", []need{{"events", "changes by the other go unnoticed: use polling"}}, true},
	{"edits from the other side", []need{
		{"fresh-content", "programs read the old content"}, {"fresh-size", "programs read a part of the file, or old bytes at its end"}, {"fresh-mtime", "make and bundlers miss the edit"},
	}, true},
	{"log files with several writers", []need{{"append", "lines are lost or mixed"}}, false},
	{"Maildir", []need{{"hard-link", "delivery by link fails"}, needRename, {"listing", "mail goes unnoticed"}}, false},
	{"npm, pip, package trees", []need{{"symlink", "node_modules/.bin fails"}, {"chmod", "programs can't be run"}, {"opens", "random errors under load"}}, false},
}

// derive says for which uses a place is safe.
func derive(findings []Finding) []Use {
	var out []Use
	for _, u := range uses {
		out = append(out, u.judge(findings))
	}
	return out
}

// judge says whether a place is safe for one use.
func (u *use) judge(findings []Finding) Use {
	var broken, apart, unknown []string
	var between []string
	for _, n := range u.needs {
		no, maybe, pairs := n.answers(findings)
		switch {
		case slices.Contains(no, "") || slices.Contains(no, Processes) || len(no) > 0 && u.across:
			broken = append(broken, n.breaks)
		case len(no) > 0:
			apart = append(apart, n.breaks)
			for _, b := range no {
				if !slices.Contains(between, string(b)) {
					between = append(between, string(b))
				}
			}
		case maybe || pairs == 0 && !slices.Contains(optional, n.key):
			unknown = append(unknown, fmt.Sprintf("whether %s is not known", Title(n.key)))
		}
	}
	switch {
	case len(broken) > 0:
		return Use{Name: u.name, Safe: No, Why: append(broken, apart...)}
	case len(apart) > 0:
		return Use{Name: u.name, Safe: Alone, Why: append(apart, unknown...), Between: between}
	case len(unknown) > 0:
		return Use{Name: u.name, Safe: Unknown, Why: unknown}
	}
	return Use{Name: u.name, Safe: Yes}
}

// answers are the pairs between which a promise is broken, whether it is not known between some, and how many were asked.
func (n need) answers(findings []Finding) (no []Between, maybe bool, pairs int) {
	for _, f := range findings {
		if f.Key != n.key {
			continue
		}
		pairs++
		switch f.Answer {
		case No:
			no = append(no, f.Between)
		case Unknown:
			maybe = true
		}
	}
	return no, maybe, pairs
}
