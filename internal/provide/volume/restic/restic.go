// Package restic keeps backups of folders with the program restic (https://restic.net): encrypted, stored once, in a directory, in an
// S3-compatible store, or wherever else restic can.
//
// A Repository is where they are, and where its secrets come from. Secrets go to restic in its environment, or it reads them itself: no
// argument, log or error has one.
//
// Easily got wrong: the content of a folder is stored, not the folder. So a backup says nothing of the owner and the mode of the folder
// itself; the caller keeps those as tags. And restic ends with status 3 if it could not read a file: that is an error here.
//
// The formats are those of restic's manual, chapter Scripting, since version 0.14.
package restic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/conf/controlfile"
	"plimsoll/internal/text/lastbytes"
	"plimsoll/internal/text/refusal"
)

// A Repository is where backups are.
type Repository struct {
	// URL is a folder, or restic's URL of a store: s3:https://HOST/BUCKET.
	URL string
	// PasswordFile holds the password that the backups are encrypted with; or PasswordCommand prints it.
	PasswordFile, PasswordCommand string
	// EnvironmentFile has lines KEY=VALUE, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; "": none.
	EnvironmentFile string
}

// A Backup is one in a repository.
type Backup struct {
	ID   string    `json:"short_id"`
	Time time.Time `json:"time"`
	Host string    `json:"hostname"`
	Tags []string  `json:"tags"`
}

// Tag returns the value of the tag KEY=VALUE; "" if there is none.
func (b Backup) Tag(key string) string {
	for _, t := range b.Tags {
		if v, ok := strings.CutPrefix(t, key+"="); ok {
			return v
		}
	}
	return ""
}

// A Result says what a backup has read and stored, in bytes.
type Result struct {
	ID     string `json:"snapshot_id"`
	Files  int64  `json:"total_files_processed"`
	Read   int64  `json:"total_bytes_processed"`
	Stored int64  `json:"data_added"`
}

// Init makes the repository if there is none.
func (r Repository) Init(ctx context.Context) error {
	_, err := r.run(ctx, "", "cat", "config")
	if err == nil || !errors.Is(err, errNone) {
		return err
	}
	_, err = r.run(ctx, "", "init")
	return err
}

// Backup stores the content of a folder. parent is the id of an earlier backup of it, whose unchanged files aren't read again; it may be
// empty.
func (r Repository) Backup(ctx context.Context, folder, parent string, tags []string) (Result, error) {
	args := []string{"backup", "--json", "--no-scan"} // The scan is only for its progress.
	if old, err := before(ctx, 0, 15); err != nil {
		return Result{}, err
	} else if old {
		args = args[:2]
	}
	if parent != "" {
		args = append(args, "--parent", parent)
	}
	for _, t := range tags {
		args = append(args, "--tag", t)
	}
	out, err := r.run(ctx, folder, append(args, ".")...)
	if err != nil {
		return Result{}, err
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var last Result
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil || last.ID == "" {
		return last, fmt.Errorf("restic backup printed no summary: %.200q", lines[len(lines)-1])
	}
	return last, nil
}

// Empty stores a placeholder instead of an empty folder, which restic refuses.
func (r Repository) Empty(ctx context.Context, tags []string) (res Result, err error) {
	dir, err := os.MkdirTemp("", "plimsoll-empty-")
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600); err != nil {
		return res, err
	}
	return r.Backup(ctx, dir, "", tags)
}

// List returns the backups with a tag, the oldest first.
func (r Repository) List(ctx context.Context, tag string) (list []Backup, err error) {
	out, err := r.run(ctx, "", "snapshots", "--json", "--tag", tag)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("restic's list of backups: %w", err)
	}
	return list, nil
}

// Restore writes the content of a backup into an existing folder. sparse says whether long runs of zeros became holes.
func (r Repository) Restore(ctx context.Context, id, folder string) (sparse bool, err error) {
	args := []string{"restore", id, "--target", folder}
	old, err := before(ctx, 0, 15)
	if err != nil {
		return false, err
	}
	if !old {
		args = append(args, "--sparse")
	}
	_, err = r.run(ctx, "", args...)
	return !old, err
}

// Forget removes backups, and the data that no other one needs.
func (r Repository) Forget(ctx context.Context, ids ...string) error {
	_, err := r.run(ctx, "", append([]string{"forget", "--prune"}, ids...)...)
	return err
}

// Check verifies the structure of the repository, and with data all that is stored.
func (r Repository) Check(ctx context.Context, data bool) error {
	args := []string{"check"}
	if data {
		args = append(args, "--read-data")
	}
	_, err := r.run(ctx, "", args...)
	return err
}

// errNone says that there is no repository.
var errNone = errors.New("there is no repository")

// isNone matches what restic says of a missing repository.
var isNone = regexp.MustCompile(`Is there a repository at the following location|repository does not exist`).MatchString

// run runs restic, and returns its output.
func (r Repository) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	env, err := r.environment()
	if err != nil {
		return nil, err
	}
	path, err := program()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, path, args...)
	c.Dir, c.Env = dir, env
	// An interrupted restic removes its lock of the repository.
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 20 * time.Second
	var out bytes.Buffer
	said := &lastbytes.Buffer{Max: 4096}
	c.Stdout, c.Stderr = &out, said
	err = c.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if isNone(said.String()) {
		return nil, fmt.Errorf("%w at %s: plimsoll volume backup create makes it", errNone, r.Name())
	}
	return nil, fmt.Errorf("restic %s at %s: %w: %s", args[0], r.Name(), err, r.clean(said.String()))
}

// isSecret matches the user and password of a URL.
var isSecret = regexp.MustCompile(`//[^/@\s]*@`)

// Name is the repository's URL without a password, for people.
func (r Repository) Name() string { return isSecret.ReplaceAllString(r.URL, "//...@") }

// clean is the last of what restic said, without the URL's password.
func (r Repository) clean(said string) string {
	return isSecret.ReplaceAllString(strings.ReplaceAll(lastbytes.LastWords(said), r.URL, r.Name()), "//...@")
}

// program finds restic.
func program() (string, error) {
	path, err := exec.LookPath("restic")
	if err != nil {
		return "", &refusal.Error{What: "a backup of a volume", Why: "the program restic is not installed", Fix: "install restic (apt-get install restic)"}
	}
	return path, nil
}

// before reports whether the installed restic is older than a version.
func before(ctx context.Context, major, minor int) (bool, error) {
	path, err := program()
	if err != nil {
		return false, err
	}
	out, err := exec.CommandContext(ctx, path, "version").Output()
	m := regexp.MustCompile(`^restic (\d+)\.(\d+)`).FindSubmatch(out)
	if err != nil || m == nil {
		return false, fmt.Errorf("restic version: %w, %.80q", err, out)
	}
	a, _ := strconv.Atoi(string(m[1]))
	b, _ := strconv.Atoi(string(m[2]))
	return a < major || a == major && b < minor, nil
}

// passed are the variables of this process that restic gets.
var passed = []string{"PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSH_AUTH_SOCK"}

// environment is restic's.
func (r Repository) environment() (env []string, err error) {
	for _, k := range passed {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	if os.Getenv("HOME") == "" && os.Getenv("XDG_CACHE_HOME") == "" {
		env = append(env, "XDG_CACHE_HOME=/var/cache") // A daemon of systemd's has no home.
	}
	own, err := r.own()
	if err != nil {
		return nil, err
	}
	env = append(env, own...)
	env = append(env, "RESTIC_REPOSITORY="+r.URL, "RESTIC_PROGRESS_FPS=0.016666")
	if r.PasswordFile != "" {
		// restic says of a missing one neither its name nor what it is for.
		if _, err := os.Stat(r.PasswordFile); err != nil {
			return nil, fmt.Errorf("the password of the backups: %w", err)
		}
		return append(env, "RESTIC_PASSWORD_FILE="+r.PasswordFile), nil
	}
	return append(env, "RESTIC_PASSWORD_COMMAND="+r.PasswordCommand), nil
}

// environmentMax is the size of an environment file, in bytes.
const environmentMax = 64 << 10

// own are the lines of the environment file.
func (r Repository) own() (env []string, err error) {
	if r.EnvironmentFile == "" {
		return nil, nil
	}
	b, err := controlfile.Read(r.EnvironmentFile, environmentMax)
	if err != nil {
		return nil, fmt.Errorf("the environment of the backups: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		k, v, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if !ok || !isKey(k) {
			return nil, fmt.Errorf("%s:%d: it is no KEY=VALUE", r.EnvironmentFile, n) // Without the text: it may be a secret.
		}
		env = append(env, k+"="+strings.Trim(v, `"'`))
	}
	return env, lines.Err()
}

// isKey matches a variable's name.
var isKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString
