package safety

import (
	"fmt"
	"testing"
)

// letters is how many messages each side delivers.
const letters = 40

// TestConfirmMaildir lets safecat, which delivers as Maildir's author describes it, confirm what the check says of Maildirs: both
// sides deliver at the same time, while a mail reader on one side takes new messages over by renaming them. Each message must be
// there once and whole.
func TestConfirmMaildir(t *testing.T) {
	eachSite(t, []string{"safecat"}, nil, func(t *testing.T, o *opened) {
		ctx := hour(t)
		var safecat program
		_, all := o.parties(ctx, t, func(dir string) { safecat = copyProgram(t, dir, "safecat") })
		for i := 1; i < len(all); i++ {
			between := all[i].between
			confirmTries(t, o.harmless(t, "Maildir", between), between, 2, func(n int) error {
				box := fmt.Sprintf("box-%d-%d", i, n)
				deliver := func(p party, who string) string {
					return fmt.Sprintf(`n=0
while [ $n -lt %d ]; do
  n=$((n + 1))
  ( echo "from %s $n"; $b seq 1 300; echo "end %s $n" ) | %s >/dev/null || { echo "message $n is not delivered" >&2; exit 1; }
done
>%s/done-%s`, letters, who, who, p.call(safecat, box+"/tmp", box+"/new"), box, who)
				}
				// The reader is on the first side. It ends when both have delivered.
				reader := fmt.Sprintf(`( over=; while :; do
  for f in %[1]s/new/*; do
    [ -e $f ] || continue
    tail=$($b tail -n 1 <$f 2>&1)
    case $tail in 'end '*) ;; *) echo "a message in new is not whole: $($b wc -c <$f) bytes, at last '$tail'" >&2; exit 1 ;; esac
    $b mv $f %[1]s/cur/${f##*/}:2,S || { echo "a message can't be taken over" >&2; exit 1; }
  done
  [ -z "$over" ] || exit 0
  [ -e %[1]s/done-first ] && [ -e %[1]s/done-second ] && over=1
  seconds=$((seconds + 1)); [ $seconds -lt 600 ] || { echo "the deliveries are not seen" >&2; exit 1; }
  $b sleep 0.1
done ) & reader=$!
`, box)
				count := fmt.Sprintf(`
wait $reader || exit 1
got=$($b cat %[1]s/cur/* | $b grep -E '^(from|end) ' | $b sort -u | $b wc -l)
[ $got = %[2]d ] && [ $($b cat %[1]s/cur/* | $b wc -l) = %[3]d ] || { echo "of %[2]d first and last lines, $got are there" >&2; exit 1; }`,
					box, 4*letters, 2*letters*302)
				if _, err := all[0].run(ctx, t, "$b mkdir -p "+box+"/tmp "+box+"/new "+box+"/cur"); err != nil {
					return err
				}
				return both(ctx, t, all[0], all[i], reader+"( "+deliver(all[0], "first")+" ) || exit 1"+count, deliver(all[i], "second"))
			})
		}
	})
}
