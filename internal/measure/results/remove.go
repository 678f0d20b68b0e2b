package results

import (
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// A Removal says what "results rm" removes; it is the command's JSON.
type Removal struct {
	// Removed are the ids of the runs, Trials is the number of their trials.
	Removed []string `json:"removed"`
	Trials  int      `json:"trials"`
}

// NewRemoval counts the trials of runs. The error says that one of them is being measured; none may be removed then.
func NewRemoval(db *store.Store, ids []string) (Removal, error) {
	r := Removal{Removed: ids}
	for _, id := range ids {
		alive, err := db.Alive(id)
		if err != nil {
			return r, err
		}
		if alive {
			return r, fmt.Errorf("run %s is being measured: stop it first; nothing was removed", id)
		}
		slots, err := db.Slots(id)
		if err != nil {
			return r, err
		}
		r.Trials += len(slots)
	}
	return r, nil
}

// String names what is removed: "2 runs (a, b) with 16 trials".
func (r Removal) String() string {
	const most = 5
	names := strings.Join(r.Removed[:min(most, len(r.Removed))], ", ")
	if n := len(r.Removed) - most; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s (%s) with %s", size.Plural(len(r.Removed), "run"), names, size.Plural(r.Trials, "trial"))
}

// Do removes the runs from the database.
func (r Removal) Do(db *store.Store) error {
	err := db.Delete(r.Removed...)
	var bad *store.RefError
	if errors.As(err, &bad) {
		return usage.Errorf("%w", err)
	}
	return err
}
