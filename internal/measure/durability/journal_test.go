package durability

import (
	"strings"
	"testing"

	"plimsoll/internal/testkit/fuzztest"
)

// blocks8 is the first line of a journal of eight blocks.
const blocks8 = `{"plimsoll_verify":1,"job":{"rw":"randwrite","bs":4096,"size":32768,"filename":"f","verify":true}}` + "\n"

// TestFalseJournal: a journal that no run can have written is no evidence; the error names its line.
func TestFalseJournal(t *testing.T) {
	for text, want := range map[string]string{
		blocks8 + `{"flushed":4}` + "\n" + `{"flushed":999999}`:   "line 3 of the journal says that 999999 of 8 blocks were synced: the journal is damaged",
		blocks8 + `{"flushed":-1}`:                                "line 2 of the journal says that -1 of 8 blocks",
		blocks8 + `{"flushed":6}` + "\n" + `{"flushed":4}` + "\n": "line 3 of the journal says that 4 blocks were synced, but an earlier line said 6",
		blocks8 + `{"flushed":8}` + "\n" + blocks8:                "line 3 of the journal was not written by plimsoll verify",
		blocks8 + "{}\n": "line 2 of the journal was not written by plimsoll verify",
		strings.Replace(blocks8, "randwrite", "randread", 1):              "the journal's job",
		strings.Replace(blocks8, `"verify":true`, `"verify":false`, 1):    "the journal's job: rw=randwrite, verify=false",
		strings.Replace(blocks8, "32768", "32769", 1):                     "the journal's job",
		strings.Replace(blocks8, `"bs":4096`, `"bs":4096,"numjobs":2`, 1): "the journal's job: 2 jobs",
	} {
		if _, n, err := readJournal(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d flushed, %v, want %q", text, n, err, want)
		}
	}
	if _, n, err := readJournal(strings.NewReader(blocks8 + "{\"flushed\":3}\n{\"flushed\":3}\n{\"flushed\":8}\n")); err != nil || n != 8 {
		t.Errorf("a good journal: %d, %v", n, err)
	}
}

// FuzzJournal reads journals within bounds; what is taken counts blocks that there are.
func FuzzJournal(f *testing.F) {
	for _, s := range []string{
		"", blocks8, blocks8 + `{"flushed":4}` + "\n" + `{"flu`, blocks8 + `{"flushed":999999}`, blocks8 + `{"flushed":1}` + "\nxx\n", blocks8 + blocks8,
		strings.Replace(blocks8, "32768", "9223372036854775807", 1), strings.Replace(blocks8, "4096", "1073741824", 1),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		fuzztest.Bounded(t, in, func() {
			j, n, err := readJournal(strings.NewReader(in))
			if err != nil {
				return
			}
			if n < 0 || n > j.Size/j.BS {
				t.Errorf("%d of %d blocks were synced", n, j.Size/j.BS)
			}
			for w := range j.Recall(0, j.Size) {
				if w.Number > min(j.Size/j.BS, 16) {
					break
				}
				if w.Size != j.BS || w.Offset < 0 || w.Offset+w.Size > j.Offset+j.Size {
					t.Fatalf("write %+v of %+v", w, j)
				}
			}
		})
	})
}
