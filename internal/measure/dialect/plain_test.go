package dialect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlain: a pasted line is read as it was meant. "–b8K" was taken for a file.
func TestPlain(t *testing.T) {
	several := func(word string) bool { return len(word) > 1 }
	never := func(string) bool { return false }
	for _, row := range []struct {
		args, want string
		long       func(string) bool
	}{
		{"-b8K|--name=a|it's|–", "-b8K|--name=a|it's|-", never},
		{"–b8K|–d30|-o4|iotest.dat", "-b8K|-d30|-o4|iotest.dat", never},
		{"–name=a|—rw=read|−−bs=4k|--size=1m", "--name=a|--rw=read|--bs=4k|--size=1m", several},
		{"‐n|1000|‑c|10|http://a–b/", "-n|1000|-c|10|http://a–b/", never},
		{"of=“f”|if=‘/dev/zero’", "of=f|if=/dev/zero", never},
		{"-H|“Accept-Encoding:|gzip”|“C:\\iotest.dat”", "-H|Accept-Encoding: gzip|C:\\iotest.dat", never},
		{"–name=“my|job”|–rw=read", "--name=my job|--rw=read", several},
		{"it’s|“open|rock’n’roll", "it’s|“open|rock’n’roll", never},
		{"“|”", " ", never},
	} {
		args := strings.Split(row.args, "|")
		got, changed := Plain(args, row.long)
		if diff := cmp.Diff(strings.Split(row.want, "|"), got); diff != "" || changed != (row.args != row.want) {
			t.Errorf("%s: changed %t, %s", row.args, changed, diff)
		}
		if again, changed := Plain(got, row.long); changed || !cmp.Equal(again, got) {
			t.Errorf("%q is read again, as %q", got, again)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("–b8K “a b” —name=x")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		if got, changed := Plain(args, func(string) bool { return true }); !changed && !cmp.Equal(got, args) {
			t.Errorf("%q became %q, and nothing was changed", args, got)
		}
	})
}
