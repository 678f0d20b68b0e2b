package record

import "testing"

func TestBlockName(t *testing.T) {
	if got := BlockName(0); got != "block 1" {
		t.Errorf("BlockName(0) = %q, want that people count from 1", got)
	}
}
