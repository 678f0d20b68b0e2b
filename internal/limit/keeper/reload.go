package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/conf/controlfile"
	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/state/filelock"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// A loadedPolicy is the policy in force.
type loadedPolicy struct {
	policy *policy.Policy
	// text is the content of the file.
	text []byte
	// named are the block devices that its rules name, as last read; see renamed.
	named map[string]string
	// at is when it was loaded.
	at time.Time
	// from is the file that was read: the policy's own, or LastGood.
	from string
	// stamp identifies the version of the file that was last looked at.
	stamp fileStamp
	// pending is the stamp of a change that may not be complete yet.
	pending fileStamp
	// fault reports why the present file isn't in force, "" if it is.
	fault string
}

// A fileStamp changes when a file does. A missing file has the zero stamp.
type fileStamp struct {
	modified time.Time
	size     int64
	there    bool
}

// LastGood is the name, in the folder Run, of the copy of the last good policy. The hook uses it, and a keeper that
// starts while the policy is bad.
const LastGood = "last-good.yaml"

// Load reads a policy: a regular file of at most strict.MaxSize bytes. It never blocks, as a keeper reads its policy
// in its main loop; for other kinds of files the error wraps a *controlfile.Error.
func Load(path string) (*policy.Policy, []byte, error) {
	b, err := controlfile.Read(path, strict.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no policy %s: write one, or name another with --policy: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, nil, err
	}
	p, err := policy.Parse(path, b)
	return p, b, err
}

// PolicyError marks a fault of a policy as the user's.
func PolicyError(err error) error {
	var faults strict.Errors
	var kind *controlfile.Error
	if errors.As(err, &faults) || errors.As(err, &kind) || errors.Is(err, fs.ErrNotExist) {
		return &usage.Error{Err: err}
	}
	return err
}

// firstPolicy reads the policy when a keeper starts, or in place of one with faults the copy of the last good one. It
// writes nothing: a keeper that refuses to start makes no folder.
func (k *Keeper) firstPolicy() error {
	p, err := loadPolicy(k.opt.Policy)
	if err == nil {
		k.loaded = p
		return nil
	}
	good := filepath.Join(k.opt.Run, LastGood)
	old, text, goodErr := Load(good)
	if goodErr != nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	k.loaded = loadedPolicy{policy: old, text: text, named: named(old), at: time.Now(), from: good, stamp: stampOf(k.opt.Policy), fault: err.Error()}
	return nil
}

// tellPolicy keeps a copy of the first policy, or logs why an older one is in force.
func (k *Keeper) tellPolicy() {
	if k.loaded.fault == "" {
		k.keepGood(k.loaded.text)
		return
	}
	k.logLines(k.loaded.fault)
	k.logf("the last good policy is in force: %s", k.loaded.from)
}

// loadPolicy reads a policy.
func loadPolicy(path string) (loadedPolicy, error) {
	stamp := stampOf(path)
	p, text, err := Load(path)
	if err != nil {
		return loadedPolicy{}, err
	}
	return loadedPolicy{policy: p, text: text, named: named(p), at: time.Now(), from: path, stamp: stamp}, nil
}

// keepGood keeps a copy of the policy in force.
func (k *Keeper) keepGood(text []byte) {
	good := filepath.Join(k.opt.Run, LastGood)
	if filepath.Clean(k.opt.Policy) == filepath.Clean(good) {
		return
	}
	_, _ = filelock.Sweep(k.opt.Run, LastGood)
	err := filelock.Write(good, LastGood, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
	if err != nil {
		k.logf("keep a copy of the policy: %v", err)
	}
}

func stampOf(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.ModTime(), info.Size(), true}
}

// reloadPolicy loads the policy file if it has changed, or if now is set. A change counts once the file is the same
// at two looks. If the policy is bad or gone, the old one stays in force.
func (k *Keeper) reloadPolicy(now bool) {
	stamp := stampOf(k.opt.Policy)
	k.mu.Lock()
	l := &k.loaded
	wait := stamp != l.pending
	l.pending = stamp
	unchanged := stamp == l.stamp
	k.mu.Unlock()
	if !now && (unchanged || wait) {
		return
	}
	p, err := loadPolicy(k.opt.Policy)
	if err != nil {
		k.logLines(err.Error())
		k.logf("the old policy stays in force; correct %s", k.opt.Policy)
		k.mu.Lock()
		k.loaded.stamp, k.loaded.fault = stamp, err.Error()
		k.mu.Unlock()
		return
	}
	k.keepGood(p.text)
	k.mu.Lock()
	p.pending = stamp
	k.loaded, k.logged = p, nil
	k.mu.Unlock()
	k.ceiling.forget()
	k.logf("policy loaded: %s of %s", size.Plural(len(p.policy.Rules), "rule"), k.opt.Policy)
	for _, e := range k.all() {
		k.background(func() {
			e.mu.Lock()
			defer e.unlock()
			e.retryWait, e.retry = 0, time.Time{}
			k.apply(e)
		})
	}
}
