package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/place"
)

// kvmPatience is how long the first machine with KVM may take to answer. One that works needs a second; on some
// hosts that are virtual themselves it never does, although the device is there.
const kvmPatience = 8 * time.Second

// A kvmAnswer is what was found out about KVM, kept for as long as the machine runs: to wait in vain costs seconds.
type kvmAnswer struct {
	Boot  string `json:"boot"`
	Works bool   `json:"works"`
	Why   string `json:"why,omitempty"`
}

// chooseAccel finds out whether KVM works, by a machine that has to answer, unless the caller chose.
func (v *vm) chooseAccel(ctx context.Context, b *vmBase) error {
	if v.Accel != "" {
		b.accel = v.Accel
		return nil
	}
	b.accel = AccelTCG
	why := ""
	if f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0); err != nil {
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

// askKVM returns what is known of KVM, and tries it if that is nothing.
func (v *vm) askKVM(ctx context.Context, b *vmBase) (kvmAnswer, error) {
	path := filepath.Join(v.vmCache(), "kvm.json")
	a := kvmAnswer{Boot: Self().Boot}
	var old kvmAnswer
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &old) == nil && old.Boot == a.Boot && a.Boot != "" {
		return old, nil
	}
	tryCtx, cancel := context.WithTimeoutCause(ctx, kvmPatience, errKVMSilent)
	defer cancel()
	err := v.try(tryCtx, b, AccelKVM)
	if ctx.Err() != nil {
		return a, context.Cause(ctx)
	}
	if isUnsupported(err) {
		return a, err // It was not KVM: there is no memory for a machine.
	}
	a.Works = err == nil
	if err != nil {
		a.Why = err.Error()
	}
	text, err := json.Marshal(a)
	if err != nil {
		return a, err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return a, ownFault(v.State, fmt.Errorf("note whether KVM works: %w", err))
	}
	return a, nil
}

var errKVMSilent = errors.New("a machine with it gave no answer within " + kvmPatience.String())

// try starts the smallest machine and turns it off once its worker answers.
func (v *vm) try(ctx context.Context, b *vmBase, accel string) error {
	s, err := v.start(ctx, b, accel, tryID(), Spec{Place: place.Spec{Kind: place.Tmpfs, Size: 1 << 20}})
	if err != nil {
		return err
	}
	return s.Close(ctx)
}
