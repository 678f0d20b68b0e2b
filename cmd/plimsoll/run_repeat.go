package main

import (
	"fmt"
	"strings"

	"plimsoll/internal/clean"
	"plimsoll/internal/plan"
)

// repeatCommand is the command line that repeats run id, its seed included. A plan that came
// from standard input is taken from the run's record, as the flags had changed it.
func repeatCommand(f runFlags, args []string, seed uint64, state, id string) string {
	words := []string{"plimsoll", "run"}
	words = append(words, args...)
	from := ""
	if first(args, "") == "-" {
		from = "plimsoll results show " + shellQuote(id) + " --plan"
		if state != defaultStateDir() {
			from += " --state " + shellQuote(state)
		}
		from += " | "
		f.plan = plan.Options{}
	}
	if f.plan.Quick {
		words = append(words, "--quick")
	}
	if f.plan.Blocks != "" {
		words = append(words, "--blocks", f.plan.Blocks)
	}
	if f.plan.Only != "" {
		words = append(words, "--only", f.plan.Only)
	}
	for _, s := range f.plan.Set {
		words = append(words, "--set", s)
	}
	words = append(words, "--seed", fmt.Sprint(seed))
	if f.destructive != "" {
		words = append(words, "--destructive", f.destructive)
	}
	if state != defaultStateDir() {
		words = append(words, "--state", state)
	}
	for i, w := range words {
		words[i] = shellQuote(w)
	}
	return from + strings.Join(words, " ")
}

// shellQuote quotes a word for a POSIX shell where it needs it. One that a terminal would not show as it is, with a line break or an
// escape sequence in it, is quoted as $'...', which bash, zsh and ksh had before POSIX did.
func shellQuote(w string) string {
	if clean.Name(w) != w {
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
