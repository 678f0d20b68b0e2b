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
	"plimsoll/internal/text/size"
)

// A loadedPolicy is the policy in force.
type loadedPolicy struct {
	policy *policy.Policy
	// text is what was read.
	text []byte
	// named are the block devices that its rules name, as they were when that was looked at last; see renamed.
	named map[string]string
	// at is when it was loaded.
	at time.Time
	// from is the file that it was read from: the policy's own, or LastGood.
	from string
	// stamp tells the file as it was looked at last from what it becomes.
	stamp fileStamp
	// pending is the stamp of a change that may still go on.
	pending fileStamp
	// fault reports why the file as it is now isn't in force, "" if it is.
	fault string
}

// A fileStamp changes when a file does. A file that is not there has the zero stamp.
type fileStamp struct {
	modified time.Time
	size     int64
	there    bool
}

// LastGood is the name, in the folder Run, of the policy that was good last: for the hook, and for a keeper that
// starts while the policy is bad.
const LastGood = "last-good.yaml"

// Load reads a policy: a regular file of at most strict.MaxSize bytes. It waits for nothing, as a keeper reads its policy between
// all else that it does; the error wraps a *controlfile.Error for other kinds of files.
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

// firstPolicy loads the policy when a keeper starts.
func (k *Keeper) firstPolicy() error {
	p, err := k.loadPolicy()
	if err == nil {
		k.loaded = p
		return nil
	}
	good := filepath.Join(k.opt.Run, LastGood)
	old, text, goodErr := Load(good)
	if goodErr != nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	k.logLines(err)
	k.logf("the policy that was good last is in force: %s", good)
	k.loaded = loadedPolicy{policy: old, text: text, named: named(old), at: time.Now(), from: good, stamp: stampOf(k.opt.Policy), fault: err.Error()}
	return nil
}

// loadPolicy reads the policy, and keeps a copy of one that is good.
func (k *Keeper) loadPolicy() (loadedPolicy, error) {
	stamp := stampOf(k.opt.Policy)
	p, text, err := Load(k.opt.Policy)
	if err != nil {
		return loadedPolicy{}, err
	}
	k.keepGood(text)
	return loadedPolicy{policy: p, text: text, named: named(p), at: time.Now(), from: k.opt.Policy, stamp: stamp}, nil
}

// keepGood keeps a copy of the policy in force.
func (k *Keeper) keepGood(text []byte) {
	good := filepath.Join(k.opt.Run, LastGood)
	if filepath.Clean(k.opt.Policy) == filepath.Clean(good) {
		return
	}
	err := os.WriteFile(good+".new", text, 0o600)
	if err == nil {
		err = os.Rename(good+".new", good)
	}
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

// reloadPolicy puts the policy's file in force if it has changed, or if now is set. A change is waited for until the file is the same
// at two looks. A policy that is bad or gone leaves the old one in force.
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
	p, err := k.loadPolicy()
	if err != nil {
		k.logLines(err)
		k.logf("the policy stays as it was; mend %s", k.opt.Policy)
		k.mu.Lock()
		k.loaded.stamp, k.loaded.fault = stamp, err.Error()
		k.mu.Unlock()
		return
	}
	k.mu.Lock()
	p.pending = stamp
	k.loaded, k.told = p, nil
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
