package keeper

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/policy"
)

// disks handles block devices that have come, gone or changed: it evaluates the rules that name them, retries refused
// limits, and checks the limits on disks that have come back. nil stands for all devices.
func (k *Keeper) disks(numbers map[device.Number]bool) {
	k.ceiling.forget()
	k.disk.Forget()
	k.renamed()
	for _, e := range k.every() {
		e.mu.Lock()
		e.settled = time.Time{} // Its rules may select other disks now; the next listing evaluates them.
		if len(e.broken) > 0 {
			e.retryWait, e.retry = 0, time.Now()
		}
		if len(e.broken) > 0 || numbers == nil || e.on(numbers) {
			k.look(e)
		}
		e.unlock()
	}
	// udev names a disk after the kernel's message.
	time.AfterFunc(namesCome, func() { k.background(k.renamed) })
}

// namesCome is how long after a disk's message its names are read again. Later names are seen at the next check of all limits.
const namesCome = 2 * time.Second

// renamed evaluates the rules again if a block device that they name is another one now, or if a pattern matches a
// new one.
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

// named maps the block devices in a policy's rules, as written there, to their numbers.
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
