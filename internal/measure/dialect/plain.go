package dialect

import "strings"

// dashes and quotes are the characters that web pages and word processors print in place of hyphens and quotation
// marks, by Unicode.
const (
	dashes = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
	quotes = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u2033\u2032"
)

// Plain repairs arguments that were pasted from a web page: typographic dashes before a word become hyphens, and
// typographic quotes around one or several words are removed, as the shell removes plain ones. long reports whether
// an option has two hyphens, since one dash may replace both. changed reports whether anything was repaired.
func Plain(args []string, long func(word string) bool) (plain []string, changed bool) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if at := quoteAt(a); at >= 0 {
			if text, n := unquote(args[i:], at); n > 0 {
				a, changed, i = text, true, i+n-1
			}
		}
		word := strings.TrimLeft(a, dashes)
		if lead := a[:len(a)-len(word)]; strings.Trim(lead, "-") != "" {
			changed = true
			hyphens := "-"
			if name, _, _ := strings.Cut(word, "="); len([]rune(lead)) > 1 || long(name) {
				hyphens = "--"
			}
			a = hyphens + word
		}
		plain = append(plain, a)
	}
	return plain, changed
}

// quoteAt is the index of the typographic quote that begins a value: at the start of a word or after its equals sign.
// It is -1 without one.
func quoteAt(a string) int {
	if beginsWith(a, quotes) {
		return 0
	}
	if at := strings.IndexByte(a, '=') + 1; at > 0 && beginsWith(a[at:], quotes) {
		return at
	}
	return -1
}

// unquote joins the words from the quote at index at of the first word to the word that ends with a quote, and
// removes both quotes. n is the number of words joined; 0 if no closing quote follows.
func unquote(args []string, at int) (text string, n int) {
	for i, a := range args {
		r := []rune(a)
		if last := len(r) - 1; last >= 0 && strings.ContainsRune(quotes, r[last]) && (i > 0 || len([]rune(a[at:])) > 1) {
			whole := strings.Join(args[:i+1], " ")
			value := []rune(whole[at:])
			return whole[:at] + string(value[1:len(value)-1]), i + 1
		}
	}
	return "", 0
}

// beginsWith reports whether the first character of s is one of set.
func beginsWith(s, set string) bool {
	for _, r := range s {
		return strings.ContainsRune(set, r)
	}
	return false
}
