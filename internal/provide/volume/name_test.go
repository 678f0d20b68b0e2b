package volume

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/text/usage"
)

// TestCheckName: names with which a volume's folder would be another one, or which Docker refuses.
func TestCheckName(t *testing.T) {
	for _, bad := range []string{
		"", ".", "..", "../x", "a/b", "/etc", "a\x00b", "a\nb", " a", "a b", ".hidden", "-rf", "_x", "ä", "数据", "a\u202eb", "\xff", "a\xff", `a\b`, "a:b", "a@b", "a%2fb",
		strings.Repeat("a", maxName+1), strings.Repeat("a", 255), strings.Repeat("a", 1<<20),
	} {
		err := CheckName(bad)
		var u *usage.Error
		if !errors.As(err, &u) {
			t.Errorf("CheckName(%.20q) = %v, want the user's error", bad, err)
		} else if len(err.Error()) > 300 || strings.ContainsAny(err.Error(), "\x00\n\u202e") {
			t.Errorf("CheckName(%.20q) = %.400q, want a short line that is safe to print", bad, err)
		}
	}
	for _, good := range []string{"a", "0", "a.b", "a..b", "a-b_c.9", "My.Volume", strings.Repeat("a", maxName)} {
		if err := CheckName(good); err != nil {
			t.Errorf("CheckName(%q) = %v", good, err)
		}
	}
}
