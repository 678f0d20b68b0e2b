package dialect

import "strings"

// dashes are the characters that web pages and word processors print for a hyphen, or for two of them, and quotes those that they print
// for quotation marks, by Unicode.
const (
	dashes = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
	quotes = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u2033\u2032"
)

// Plain reads the words of a line that was pasted from a web page: dashes that stand before a word are hyphens, and quotes around a word,
// or around several that the shell took apart, are gone, as a shell takes those that it knows. long reports whether an option has two hyphens: one
// dash may stand for both. changed says that there was something to read so.
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

// quoteAt is where a value begins with a typographic quote: at the beginning of a word or behind its equals sign. -1: it doesn't.
func quoteAt(a string) int {
	if beginsWith(a, quotes) {
		return 0
	}
	if at := strings.IndexByte(a, '=') + 1; at > 0 && beginsWith(a[at:], quotes) {
		return at
	}
	return -1
}

// unquote joins the words from the quote in the first, at at, up to the one that ends with a quote, and takes both quotes away. n is
// how many words that are; 0 where no quote ends it.
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
