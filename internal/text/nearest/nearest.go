// Package nearest finds the word that a mistyped one was meant to be: a key or name of a plan, a flag of the command
// line.
package nearest

import "strings"

// maxWord bounds the length of words, in bytes: none of Plimsoll's own is longer, and the work grows with the square.
const maxWord = 63

// Word returns the candidate most like word, or "" if none is near: at most three letters, and at most half of the
// word, may differ. Of equally near candidates, the first wins.
func Word(word string, candidates []string) string {
	best, least := "", max(1, min(3, len(word)/2))
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d <= least && (best == "" || d < least) {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete or change to turn a into b (Levenshtein).
func distance(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return maxWord
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
