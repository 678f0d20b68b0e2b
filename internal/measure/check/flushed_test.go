package check

import (
	"testing"
	"time"

	"plimsoll/internal/measure/record"
)

// TestForeignFlushes: flushes that the trial's syncs can't have caused are a neighbour's where they take much of the window.
func TestForeignFlushes(t *testing.T) {
	trial := func(syncs, flushes, others int64, took time.Duration) func(*record.Trial) {
		return func(t *record.Trial) {
			synced(syncs, flushes, others)(t)
			t.Truth[0].Layers[0].FlushTime = took
		}
	}
	const ms = time.Millisecond
	testRows(t, []row{
		{"its own", trial(1000, 4000, 0, 400*ms), ""},
		{"more than its own, for a fifth of the window", trial(1000, 8000, 0, 200*ms), ""},
		{"more than its own, for longer", trial(1000, 8000, 0, 202*ms), "neighbour/doubt"},
		{"as many as its own, which began before", trial(1000, 2000, 1000, 400*ms), "neighbour/doubt"},
		{"all, by what there was before", trial(1000, 2000, 2000, 400*ms), "sync/note neighbour/doubt"},
		{"few, and slow", trial(1, 9, 0, 300*ms), "window/doubt neighbour/doubt"},
		{"a commit of the journal", trial(1, 8, 0, 300*ms), "window/doubt"},
		{"a journal", trial(100, 409, 0, 450*ms), "window/note"},
		{"beneath a loop device, for its flushes", func(t *record.Trial) {
			trial(1000, 2000, 0, 300*ms)(t)
			t.Truth[0].Layers = append(t.Truth[0].Layers, t.Truth[0].Layers[0])
			t.Truth[0].Layers[1].Flushes = 8000
			t.Truth[0].Layers[1].Written = 80 * mib
		}, ""},
	})
}
