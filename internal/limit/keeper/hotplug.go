package keeper

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/policy"
)

// disks does what is to be done when block devices have come, gone or changed: rules that name them are asked again, what was refused is tried
// again, and what is held on those that have come back is looked at. nil stands for all.
func (k *Keeper) disks(numbers map[string]bool) {
	k.ceiling.forget()
	k.disk.Forget()
	k.renamed()
	for _, e := range k.every() {
		e.mu.Lock()
		e.settled = time.Time{} // Its rules may be for others now: the next list asks.
		if len(e.broken) > 0 {
			e.retryWait, e.retry = 0, time.Now()
		}
		if len(e.broken) > 0 || numbers == nil || e.on(numbers) {
			k.look(e)
		}
		e.unlock()
	}
	// udev gives a disk its names after the kernel has told of it.
	time.AfterFunc(namesCome, func() { k.background(k.renamed) })
}

// namesCome is how long after a disk its names are looked at again. Those that come later still are seen at a look at all limits.
const namesCome = 2 * time.Second

// renamed asks the rules of containers again that name block devices by what is another one now: one that has come may fit a pattern that
// others fit already.
func (k *Keeper) renamed() {
	k.mu.Lock()
	p := k.loaded.policy
	k.mu.Unlock()
	now := named(p)
	k.mu.Lock()
	before := k.loaded.named
	if k.loaded.policy == p {
		k.loaded.named = now
	}
	k.mu.Unlock()
	changed := func(r *policy.Rule) bool { return now[r.Where.Device] != before[r.Where.Device] }
	if !slices.ContainsFunc(p.Rules, func(r policy.Rule) bool { return changed(&r) }) {
		return
	}
	for _, e := range k.all() {
		e.mu.Lock()
		if slices.ContainsFunc(p.Rules, func(r policy.Rule) bool { return changed(&r) && r.Matches(e.target) }) {
			e.retryWait, e.retry = 0, time.Time{}
			k.apply(e)
		}
		e.unlock()
	}
}

// named are the block devices that a policy's rules name, with their numbers, by the rules' words.
func named(p *policy.Policy) map[string]string {
	words := map[string]string{}
	for i := range p.Rules {
		word := p.Rules[i].Where.Device
		if _, ok := words[word]; ok || word == "" {
			continue
		}
		nodes := []string{word}
		if strings.ContainsAny(word, "*?[") {
			nodes, _ = filepath.Glob(word)
		}
		var list []string
		for _, n := range nodes {
			if number, ok := device.BlockNode(n); ok {
				list = append(list, n+" "+number.String())
			}
		}
		words[word] = strings.Join(list, "\n")
	}
	return words
}
