package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// kvmPatience is how long the first machine with KVM may take to answer. A working one needs a second. On some virtual
// hosts it never answers, although the device exists.
const kvmPatience = 8 * time.Second

// A kvmAnswer is the result of trying KVM. It is kept as long as the machine runs with the same QEMU and kernel, because a
// vain try costs seconds.
type kvmAnswer struct {
	kvmKey
	Works bool   `json:"works"`
	Why   string `json:"why,omitempty"`
}

// A kvmKey is what an answer holds for.
type kvmKey struct {
	Boot string `json:"boot"`
	// QEMU is its path and version, Kernel the image that was booted.
	QEMU   string `json:"qemu"`
	Kernel string `json:"kernel"`
}

// kvmDevice is where the kernel offers KVM.
const kvmDevice = "/dev/kvm"

// chooseAccel finds out whether KVM works by starting a machine, unless the caller chose.
func (v *Engine) chooseAccel(ctx context.Context, b *bootFiles, device string) error {
	if v.Accel != "" {
		b.accel = v.Accel
		return nil
	}
	b.accel = AccelTCG
	why := ""
	if f, err := os.OpenFile(device, os.O_RDWR, 0); err != nil {
		why = err.Error()
	} else {
		f.Close()
		a, err := v.askKVM(ctx, b)
		if err != nil {
			return err
		}
		why = a.Why
		if a.Works {
			b.accel = AccelKVM
		}
	}
	if b.accel == AccelTCG {
		b.notes = append(b.notes, "the processor is emulated (TCG), which is some ten times slower: KVM can't be used: "+why)
	}
	return nil
}

// askKVM returns the kept answer about KVM, or tries it. It keeps only that KVM works, or never answers; other errors may
// pass: another hypervisor that uses the processor, or a full disk.
func (v *Engine) askKVM(ctx context.Context, b *bootFiles) (kvmAnswer, error) {
	path := filepath.Join(v.cacheDir(), "kvm.json")
	a := kvmAnswer{kvmKey: kvmKey{Boot: procfs.Boot("/proc"), QEMU: b.qemu + " " + b.version, Kernel: b.image}}
	var old kvmAnswer
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &old) == nil && old.kvmKey == a.kvmKey && a.Boot != "" {
		return old, nil
	}
	tryCtx, cancel := context.WithTimeoutCause(ctx, kvmPatience, errKVMSilent)
	defer cancel()
	// Not saved, and not resumed from a saved one: that may take longer for other reasons.
	fresh := &Engine{Options: v.Options, worker: v.worker, journal: v.journal}
	fresh.Boot = true
	err := fresh.try(tryCtx, b, AccelKVM)
	if ctx.Err() != nil {
		return a, context.Cause(ctx)
	}
	if errors.Is(err, refusal.ErrRefused) {
		return a, err // KVM isn't the cause: there is no memory for a machine.
	}
	a.Works = err == nil
	if err != nil {
		if a.Why = err.Error(); !errors.Is(err, errKVMSilent) {
			return a, nil
		}
	}
	text, err := json.Marshal(a)
	if err != nil {
		return a, err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return a, engine.StateFault(v.State, fmt.Errorf("note whether KVM works: %w", err))
	}
	return a, nil
}

var errKVMSilent = errors.New("a machine with it gave no answer within " + kvmPatience.String())

// try starts the smallest machine and turns it off once its worker answers.
func (v *Engine) try(ctx context.Context, b *bootFiles, accel string) error {
	s, err := v.start(ctx, b, accel, tryID(), engine.Spec{Place: place.Spec{Kind: place.Tmpfs, Size: 1 << 20}})
	if err != nil {
		return err
	}
	return s.Close(ctx)
}
