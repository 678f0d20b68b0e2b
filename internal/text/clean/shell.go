package clean

import (
	"fmt"
	"strings"
)

// Shell quotes a word for a POSIX shell where needed, for a command that a user may paste. A word that a terminal
// would not show unchanged, with a line break, an escape sequence or invalid bytes, is quoted as $'...', which bash,
// zsh and ksh had before POSIX.
func Shell(w string) string {
	if Name(w) != w {
		var b strings.Builder
		for _, c := range []byte(w) {
			switch {
			case c == '\\' || c == '\'':
				b.WriteString("\\" + string(rune(c)))
			case c < ' ' || c > '~':
				fmt.Fprintf(&b, `\%03o`, c)
			default:
				b.WriteByte(c)
			}
		}
		return "$'" + b.String() + "'"
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=,:@%+", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
