package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/record"
)

func TestPutTrialRefuses(t *testing.T) {
	s := openTemp(t)
	must(t, s.PutRun(sampleRun("r")))
	for _, tt := range []struct {
		name   string
		change func(*record.Trial)
		want   string
	}{
		{"no run", func(t *record.Trial) { t.Run = "" }, "needs a run and a key"},
		{"no key", func(t *record.Trial) { t.Key = "" }, "needs a run and a key"},
		{"negative block", func(t *record.Trial) { t.Block = -1 }, "must not be negative"},
		{"unknown status", func(t *record.Trial) { t.Status = "fine" }, `status "fine"`},
		{"unknown run", func(t *record.Trial) { t.Run = "other" }, "run other, trial randread/host/dir/none/1, block 1: its run is not in the database"},
		{"NaN", func(t *record.Trial) { t.Value = math.NaN() }, "value is NaN"},
		{"infinity deep down", func(t *record.Trial) { t.Results[0].Host.Steal = math.Inf(1) },
			"results[0].host.steal is +Inf"},
		{"evidence that is not JSON", func(t *record.Trial) { t.Warnings[0].Evidence = json.RawMessage("{") }, "encode run r"},
	} {
		tr := sampleTrial("r", 0, 12)
		tt.change(&tr)
		if err := s.PutTrial(tr); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: PutTrial = %v, want %q", tt.name, err, tt.want)
		}
	}
	if slots, err := s.Slots("r"); err != nil || len(slots) != 0 {
		t.Errorf("a refused trial was kept: %v, %v", slots, err)
	}
}

func TestTrialRoundTrip(t *testing.T) {
	s := openTemp(t)
	must(t, s.PutRun(sampleRun("r")))
	var want []record.Trial
	for i := range 50 {
		tr := sampleTrial("r", i, 24) // Up to two clients.
		switch i {
		case 7: // A trial that failed before it had any result.
			tr = record.Trial{Run: "r", Key: tr.Key, Cell: tr.Cell, Block: tr.Block, Order: i, Status: record.Failed, Error: "killed: out of memory", Log: "\x00\xff \n", Phase: "open"}
		case 8:
			tr.Results[0].Classes[1].Lat = nil
		case 9:
			tr.Results[0].Classes = nil
		case 10: // An open loop.
			tr.Results[0].Classes[0].Response = sampleHist(rand.New(rand.NewPCG(7, 7)), 1e6)
		case 11:
			tr.Results[0].Classes[0].Lat, tr.Results[0].Classes[1].Lat = nil, nil
			tr.Results[0].Classes[1].Response = sampleHist(rand.New(rand.NewPCG(8, 8)), 1e6)
		}
		want = append(want, tr)
	}
	// In another order than that of reading.
	for i := range want {
		must(t, s.PutTrial(want[len(want)-1-i]))
	}
	want[7].Log = "\x00\ufffd \n" // JSON is Unicode.
	got, err := s.Trials("r", TrialsOptions{Histograms: true})
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("trials (-put +got):\n%s", d)
	}
	for i := range want {
		want[i], _ = split(want[i])
	}
	got, err = s.Trials("r", TrialsOptions{})
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("trials without histograms (-put +got):\n%s", d)
	}
	one := 1
	got, err = s.Trials("r", TrialsOptions{Key: want[30].Key, Block: &one})
	must(t, err)
	if d := cmp.Diff(want[30:31], got); d != "" {
		t.Errorf("one trial (-put +got):\n%s", d)
	}
}

// TestPutTwice: the same trial replaces its record, and another one doesn't.
func TestPutTwice(t *testing.T) {
	s := openTemp(t)
	must(t, s.PutRun(sampleRun("r")))
	first := sampleTrial("r", 0, 1)
	must(t, s.PutTrial(first))
	first.Warnings = append(first.Warnings, record.Warning{Check: "cache", Severity: record.Doubt, Text: "Late."})
	must(t, s.PutTrial(first))
	second := first
	second.Started = first.Started.Add(time.Hour)
	if err := s.PutTrial(second); !errors.Is(err, ErrRecorded) {
		t.Errorf("PutTrial over another trial = %v, want ErrRecorded", err)
	}
	slots, err := s.Slots("r")
	must(t, err)
	if d := cmp.Diff([]Slot{{first.Key, 0, record.Done}}, slots); d != "" {
		t.Errorf("Slots (-want +got):\n%s", d)
	}
	got, err := s.Trials("r", TrialsOptions{Histograms: true})
	must(t, err)
	if d := cmp.Diff([]record.Trial{first}, got); d != "" {
		t.Errorf("trials (-want +got):\n%s", d)
	}
}

func TestDamagedTrials(t *testing.T) {
	s := openTemp(t)
	must(t, s.PutRun(sampleRun("r")))
	const n = 40
	for i := range n {
		must(t, s.PutTrial(sampleTrial("r", i, 1)))
	}
	foreign, err := encodeBlob(sampleTrial("other", 9, 1))
	must(t, err)
	bad := map[int]string{3: "it is empty", 4: "format 0x78", 5: "unexpected EOF", 6: "checksum", 7: "there are 0", 9: "it holds run other", 11: "histograms: their checksum", 12: "they end too early"}
	for block, blob := range map[int]any{3: []byte{}, 4: []byte("x"), 9: foreign} {
		_, err := s.db.Exec("UPDATE trials SET record = ? WHERE block = ?", blob, block)
		must(t, err)
	}
	null, err := encodeBlob(nil)
	must(t, err)
	_, err = s.db.Exec("UPDATE trials SET record = ? WHERE block = 7", null)
	must(t, err)

	for block, script := range map[int]string{
		5:  "record = substr(record, 1, length(record) - 9)",
		6:  "record = substr(record, 1, length(record) - 4) || x'00000000'",
		11: "histograms = substr(histograms, 1, length(histograms) - 1) || x'77'",
		12: "histograms = x'68'",
	} {
		_, err := s.db.Exec(fmt.Sprintf("UPDATE trials SET %s WHERE block = %d", script, block))
		must(t, err)
	}
	got, err := s.Trials("r", TrialsOptions{Histograms: true})
	if len(got) != n-len(bad) {
		t.Errorf("%d trials were read, want %d", len(got), n-len(bad))
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != len(bad) {
		t.Fatalf("Trials = %v, want %d errors", err, len(bad))
	}
	for _, err := range joined.Unwrap() {
		var d *DamageError
		if !errors.As(err, &d) {
			t.Errorf("error %v, want a DamageError", err)
			continue
		}
		if d.Run != "r" || d.Key != got[0].Key {
			t.Errorf("error %v names run %q and cell %v, want r and %v", err, d.Run, d.Key, got[0].Key)
		}
		if bad[d.Block] == "" || !strings.Contains(err.Error(), bad[d.Block]) {
			t.Errorf("error %v in block %d, want %q", err, d.Block, bad[d.Block])
		}
	}
}

// TestEachTrialEndsEarly leaves the loop at every point, and then needs the
// connections again.
func TestEachTrialEndsEarly(t *testing.T) {
	s := openTemp(t)
	must(t, s.PutRun(sampleRun("r")))
	for i := range 6 * batchSize {
		must(t, s.PutTrial(sampleTrial("r", i, 1)))
	}
	for stop := range 4*batchSize + 2 {
		n := 0
		for tr, err := range s.EachTrial("r", TrialsOptions{Histograms: stop%2 == 0}) {
			must(t, err)
			if tr.Order != n {
				t.Fatalf("trial %d came as number %d", tr.Order, n)
			}
			if n == stop {
				break
			}
			n++
		}
	}
	if open := s.db.Stats().InUse; open != 0 {
		t.Errorf("%d connections are still in use", open)
	}
	for range s.EachTrial("unknown", TrialsOptions{}) {
		t.Error("an unknown run has a trial")
	}
}

// TestWritersAndReaders has two stores on one file, as two processes do, each
// with several writers, while others read and delete.
func TestWritersAndReaders(t *testing.T) {
	a := openTemp(t)
	b := openAt(t, a.path)
	const writers, each = 4, 40
	for w := range writers {
		must(t, a.PutRun(sampleRun(fmt.Sprint("r", w))))
	}
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			s := []*Store{a, b}[w%2]
			for i := range each {
				if err := s.PutTrial(sampleTrial(fmt.Sprint("r", w), i, 12)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Go(func() {
		for i := range 10 {
			id := fmt.Sprint("gone", i)
			if err := errors.Join(b.PutRun(sampleRun(id)), b.PutTrial(sampleTrial(id, 0, 1)), a.Delete(id)); err != nil {
				t.Error(err)
			}
		}
	})
	wait.Go(func() {
		for range 10 {
			if _, err := a.Trials("r1", TrialsOptions{Histograms: true}); err != nil {
				t.Error(err)
			}
			if _, err := b.Runs(Filter{}); err != nil {
				t.Error(err)
			}
		}
	})
	wait.Wait()
	for w := range writers {
		got, err := b.Trials(fmt.Sprint("r", w), TrialsOptions{Histograms: true})
		if err != nil || len(got) != each {
			t.Errorf("writer %d: %d trials of %d, %v", w, len(got), each, err)
		}
	}
}

// FuzzDecodeTrial: no blob panics, and what is read is what would be written.
func FuzzDecodeTrial(f *testing.F) {
	tr, lats := split(sampleTrial("r", 0, 12))
	rec, err := encodeBlob(tr)
	must(f, err)
	histograms, err := lats.encode()
	must(f, err)
	f.Add(rec, histograms, false)
	f.Add(rec, []byte(nil), false)
	open := sampleTrial("r", 0, 12)
	open.Results[0].Classes[0].Response = sampleHist(rand.New(rand.NewPCG(7, 7)), 1e6)
	_, lats = split(open)
	histograms, err = lats.encode()
	must(f, err)
	f.Add(rec, histograms, false)
	f.Add([]byte(`{"results":[{"classes":[{},{}]}],"spec":{},"where":null}`), histograms, true)
	f.Add([]byte(`{"results":[null],"spec":5}`), []byte("h"), true)
	var d decoder
	f.Fuzz(func(t *testing.T, rec, histograms []byte, text bool) {
		if text { // Past the checksum, where random bytes hardly get.
			if !json.Valid(rec) {
				return
			}
			rec, _ = encodeBlob(json.RawMessage(rec))
		}
		got, err := d.decodeTrial(rec, histograms)
		if err != nil {
			return
		}
		scalars, lats := split(got)
		again, err := encodeBlob(scalars)
		if err != nil {
			t.Fatalf("what was read can't be written: %v", err)
		}
		hists, err := lats.encode()
		must(t, err)
		back, err := d.decodeTrial(again, hists)
		must(t, err)
		if d := cmp.Diff(got, back); d != "" {
			t.Errorf("not the same when read again:\n%s", d)
		}
	})
}
