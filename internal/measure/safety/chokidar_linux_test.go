package safety

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// chokidarNeeds are chokidar and what it requires, as Debian packages them.
var chokidarNeeds = []string{
	"chokidar", "anymatch", "binary-extensions", "braces", "fill-range", "glob-parent", "is-binary-path", "is-extglob", "is-glob", "is-number", "kind-of", "normalize-path", "picomatch", "readdirp",
	"repeat-string", "to-regex-range",
}

// TestConfirmChokidar lets chokidar, with which npm's tools and bundlers watch, confirm what the check says of file watchers and of
// edits from the other side: it watches by events and by polling, in each side, while the other makes changes.
func TestConfirmChokidar(t *testing.T) {
	const modules = "/usr/share/nodejs"
	if _, err := os.Stat(modules + "/chokidar"); err != nil {
		t.Skip("chokidar is needed: scripts/setup test installs node-chokidar")
	}
	eachSite(t, []string{"node"}, []string{"tmpfs", "bindfs direct"}, func(t *testing.T, o *opened) {
		ctx := hour(t)
		var node program
		_, all := o.parties(ctx, t, func(dir string) {
			node = copyProgram(t, dir, "node")
			for _, name := range chokidarNeeds {
				copyTree(t, filepath.Join(modules, name), filepath.Join(dir, "node_modules", name))
			}
			b, err := os.ReadFile("testdata/watch.js")
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "watch.js"), string(b))
		})
		last := all[len(all)-1] // The other side, or another process of the only one.
		for _, row := range []struct {
			name           string
			watcher, actor party
		}{{"inside", all[0], last}, {"outside", last, all[0]}} {
			if last.between == Processes && row.name == "outside" {
				continue
			}
			for _, how := range []string{"native", "poll"} {
				folder := row.name + "-" + how
				missing, err := chokidar(ctx, t, row.watcher, row.actor, node, folder, how)
				if err != nil {
					t.Errorf("chokidar %s, %s: %v", row.name, how, err)
					continue
				}
				said := o.watched(t, last.between, row.name)
				if how == "poll" {
					t.Logf("edits from the other side: %s; chokidar %s by polling misses %q", o.use("edits from the other side").Safe, row.name, missing)
					continue
				}
				t.Logf("the check, watched %s: %s; chokidar misses %q", row.name, said, missing)
				if all := strings.HasPrefix(said, "all "); all != (missing == "") {
					t.Errorf("watched %s, the check says %q, and chokidar misses %q", row.name, said, missing)
				}
			}
		}
	})
}

// watched is what the check says of events between a pair, as one side sees them.
func (o *opened) watched(t *testing.T, between Between, where string) string {
	t.Helper()
	if between == Processes {
		return o.find("events").Detail
	}
	inside, outside := eventsSides(t, o.Report)
	if where == "outside" {
		return outside
	}
	return inside
}

// chokidar watches a folder while another makes changes in it. missing is what it has not seen.
func chokidar(ctx context.Context, t *testing.T, watcher, actor party, node program, folder, how string) (missing string, err error) {
	t.Helper()
	if _, err := watcher.run(ctx, t, fmt.Sprintf("$b mkdir -p %[1]s/watched %[1]s/away && for f in changed moved removed; do echo before >%[1]s/watched/$f; done", folder)); err != nil {
		return "", err
	}
	// Edits of the same second are seen, too. A client of NFS may keep what it knows of a folder for a minute.
	watch := fmt.Sprintf("%s >%[2]s/seen 2>&1 || { >%[2]s/ready; $b grep Error %[2]s/seen >&2; exit 1; }", watcher.call(node, watcher.dir+"/watch.js", folder+"/watched", how, map[string]string{"native": "20", "poll": "75"}[how], folder+"/ready"), folder)
	act := fmt.Sprintf(`n=0
until [ -e %[1]s/ready ]; do n=$((n + 1)); [ $n -lt 900 ] || { echo "the watcher does not begin" >&2; exit 1; }; $b sleep 0.2; done
$b sleep 1
cd %[1]s/watched
echo new >new; echo after, and longer >changed; $b mv moved here; $b rm removed`, folder)
	if err := both(ctx, t, watcher, actor, watch, act); err != nil {
		return "", err
	}
	out, err := watcher.run(ctx, t, "$b cat "+folder+"/seen")
	t.Logf("chokidar: %s", strings.ReplaceAll(strings.TrimSpace(out), "\n", "; "))
	_, missing, found := strings.Cut(out, "missing: ")
	if err == nil && !found {
		err = fmt.Errorf("it ends with %q", lastLine(out))
	}
	return strings.TrimSpace(missing), err
}

// copyTree copies a folder, and what its links lead to.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil {
			write(t, filepath.Join(to, strings.TrimPrefix(path, real)), string(b))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
