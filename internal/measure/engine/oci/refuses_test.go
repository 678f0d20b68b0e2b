package oci

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// TestOCIRefuses: an OCI runtime says why it can't have what Windows alone has, and limits where there is no device; before anything is made.
func TestOCIRefuses(t *testing.T) {
	bind, tmpfs := place.Spec{Kind: place.Bind, Path: t.TempDir()}, place.Spec{Kind: place.Tmpfs}
	for want, spec := range map[string]engine.Spec{
		"the place is memory (tmpfs)": {Place: tmpfs, Limits: limit.Limits{Name: "slow", ReadBPS: 1 << 20}},
		"limit io_maxiops":            {Place: bind, Limits: limit.Limits{SystemIOPS: 100}},
		"isolation hyperv":            {Place: bind, Isolation: "hyperv"},
	} {
		var u *refusal.Error
		if err := (&Engine{}).supports(spec); !errors.As(err, &u) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
