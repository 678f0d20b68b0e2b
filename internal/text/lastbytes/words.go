package lastbytes

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// maxWords is the length of a headline, in bytes.
const maxWords = 300

// message matches a log line in logrus's form, which runc and podman write where standard error is no terminal
// (https://github.com/sirupsen/logrus, TextFormatter). It is compiled on first use: a worker never needs it.
var message = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^time="[^"]*" level=\w+ msg=("(?:[^"\\]|\\.)*"|\S+)`)
})

// LastWords is the last line of a log that is not empty, without a logger's time and level; "" for an empty log. A
// line too long for a headline loses its middle.
func LastWords(log string) string {
	log = strings.TrimSpace(log)
	line := strings.TrimSpace(log[strings.LastIndexByte(log, '\n')+1:])
	if m := message().FindStringSubmatch(line); m != nil {
		line = m[1]
		if text, err := strconv.Unquote(line); err == nil {
			line = text
		}
	}
	return Cut(line, maxWords)
}

// Cut takes the middle out of a text of more than n bytes: an error begins with what was done, and ends with why it
// failed.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n/3], "") + " ... " + strings.ToValidUTF8(s[len(s)-2*n/3:], "")
}
