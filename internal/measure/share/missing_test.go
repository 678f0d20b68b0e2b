package share

import (
	"testing"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
)

// TestMissing: a cell that was left out at a look lacks nothing; one that has no trial in a block does.
func TestMissing(t *testing.T) {
	p, err := plan.Parse("p.yaml", []byte("name: p\nworkloads: {wal: {kind: wal}}\nengines: [host]\nplaces: {dir: {}, tmpfs: {}}\nblocks: 4\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := record.Run{Looks: []record.Look{{Blocks: 2}, {Blocks: 4}}}
	var trials []record.Trial
	for _, c := range p.Cells() {
		blocks := 4
		if c.Place == "tmpfs" {
			blocks = 2
			r.Looks[0].LeftOut = []string{p.Key(c)}
		}
		for b := range blocks {
			trials = append(trials, record.Trial{Cell: c, Key: p.Key(c), Block: b})
		}
	}
	if n := missing(p, &r, trials); n != 0 {
		t.Errorf("it lacks %d trials, want none", n)
	}
	if n := missing(p, &r, trials[1:]); n != 1 {
		t.Errorf("without a trial it lacks %d, want 1", n)
	}
	r.Looks = nil
	if n := missing(p, &r, trials); n != 2 {
		t.Errorf("if no cell was left out it lacks %d, want 2", n)
	}
}
