package share

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"plimsoll/plans"
)

// names replaces the names and texts that a user chose by numbers: hidden-1, /hidden-2. The same text gets the same number
// everywhere in a run. What Plimsoll itself has in its built-in plans and in the grammar of plans stays.
type names struct {
	// taken are the texts of the run that look like replacements already, so that two texts never become one.
	taken map[string]bool
	given map[string]string
	next  int
}

func newNames() *names { return &names{taken: map[string]bool{}, given: map[string]string{}} }

// replaced is what a replacement looks like. A file that is read is filtered again, and these stay as they are.
var replaced = regexp.MustCompile(`^/?hidden-[1-9]\d{0,3}$`)

// of is the text for a file: s itself if it is known, else its replacement.
func (n *names) of(s string) string {
	if s == "" || known(s) {
		return s
	}
	if r, ok := n.given[s]; ok {
		return r
	}
	for {
		n.next++
		r := fmt.Sprintf("hidden-%d", n.next)
		if n.taken[r] || n.taken["/"+r] {
			continue
		}
		if isPath(s) {
			r = "/" + r // The grammar wants an absolute path in that place.
		}
		n.given[s] = r
		return r
	}
}

// isPath reports whether a plan can have s where it must have an absolute path.
func isPath(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, `\\`) || len(s) > 2 && s[1] == ':'
}

// take notes the replacements in a plan's text, before any is made.
func (n *names) take(node *yaml.Node) {
	if replaced.MatchString(node.Value) {
		n.taken[node.Value] = true
	}
	for _, c := range node.Content {
		n.take(c)
	}
}

// known reports whether Plimsoll itself has s in its plans or their grammar, or s is a number with a unit, or a replacement.
func known(s string) bool {
	return public()[s] || quantity.MatchString(s) || replaced.MatchString(s)
}

// quantity are sizes, rates, durations, shares and distributions: 4KiB, 10MB/s, 1m30s, 50%, 4KiB/60:64KiB/40, zipf:1.2. Numbers
// with dots between them are not among them, because addresses are written so.
var quantity = regexp.MustCompile(`^(` + strings.Join([]string{
	`\d{1,5}`, `\d{1,7}(\.\d{1,6})?([kKMGT]?i?B(/s)?|[kKMGT]|%)`, `(\d{1,6}(\.\d{1,6})?(ns|us|ms|s|m|h)){1,3}`,
	`\d{1,7}([KMG]iB)?/\d{1,3}([:,]\d{1,7}([KMG]iB)?/\d{1,3}){0,63}`, `\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?){0,63}`, `0x(aa)+`,
	`(zipf|pareto|normal):\d{1,3}(\.\d{1,6})?`, `zoned:\d{1,3}/\d{1,3}(:\d{1,3}/\d{1,3}){0,15}`,
}, "|") + `)$`)

// public are the texts of the built-in plans and the words of the grammar of plans.
var public = sync.OnceValue(func() map[string]bool {
	set := wordSet(grammar)
	for _, name := range plans.Names() {
		b, err := plans.Get(name)
		if err != nil {
			panic("share: " + err.Error()) // Its name comes from the list.
		}
		var root yaml.Node
		if err := yaml.Unmarshal(b, &root); err != nil {
			panic("share: a built-in plan can't be read: " + err.Error())
		}
		addTexts(set, &root)
	}
	for _, w := range schemaWords() {
		set[w] = true
	}
	return set
})

func addTexts(set map[string]bool, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		set[n.Value] = true
	}
	for _, c := range n.Content {
		addTexts(set, c)
	}
}

// grammar are words that the schema of plans has no list of: names of images and profiles that everybody has, and names of sets.
const grammar = "none unconfined debian alpine busybox ubuntu local runc crun youki runsc kata kata-runtime"
