package main

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify"
	"plimsoll/internal/text/jsonlist"
	"plimsoll/internal/text/size"
)

// tellVerified ends a verification that broke off with err, or didn't.
func (a *app) tellVerified(all []verify.Proof, asJSON bool, err error) error {
	if asJSON && len(all) > 0 {
		if jerr := a.printJSON(jsonlist.Of(all)); jerr != nil {
			return jerr
		}
	}
	if errors.Is(err, context.Canceled) {
		tried := 0
		for _, v := range all {
			tried += len(v.Rows)
		}
		if tried == 0 {
			return errors.New("interrupted: nothing is proved yet")
		}
		return fmt.Errorf("interrupted: %s tried, see the lines above; the rest is not tried", size.Plural(tried, "row"))
	}
	if err != nil {
		return err
	}
	return verdict(all)
}

// verdict is the exit status that the rows stand for. One that could not be measured is an error, unless one that could is
// not held.
func verdict(all []verify.Proof) error {
	var not, failed, unknown, held int
	for _, v := range all {
		for _, r := range v.Rows {
			switch r.Verdict {
			case judge.NotHeld:
				not++
			case judge.Held:
				held++
			case judge.Failed:
				failed++
			default:
				unknown++
			}
		}
	}
	of := size.Plural(not+failed+unknown+held, "row")
	switch {
	case not > 0 && failed > 0:
		return &exitError{exitNotHeld, fmt.Errorf("NOT held: %d of %s; could not be measured: %d", not, of, failed)}
	case not > 0:
		return &exitError{exitNotHeld, fmt.Errorf("NOT held: %d of %s", not, of)}
	case failed > 0:
		return fmt.Errorf("could not be measured: %d of %s, see the lines above", failed, of)
	case held == 0:
		return &exitError{exitCannot, errors.New("nothing was proved: see the lines above")}
	}
	return nil
}
