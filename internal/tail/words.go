package tail

import (
	"regexp"
	"strconv"
	"strings"
)

// maxWords is what a headline has room for, in bytes.
const maxWords = 300

// message is the text of a log line in logrus's form, which runc and podman write
// where standard error is no terminal (https://github.com/sirupsen/logrus, TextFormatter).
var message = regexp.MustCompile(`^time="[^"]*" level=\w+ msg=("(?:[^"\\]|\\.)*"|\S+)`)

// LastWords is the last line of a log that says anything, cut to what a headline has
// room for, and without a logger's time and level; empty for an empty log.
func LastWords(log string) string {
	log = strings.TrimSpace(log)
	line := strings.TrimSpace(log[strings.LastIndexByte(log, '\n')+1:])
	if m := message.FindStringSubmatch(line); m != nil {
		line = m[1]
		if text, err := strconv.Unquote(line); err == nil {
			line = text
		}
	}
	if len(line) > maxWords {
		line = strings.ToValidUTF8(line[:maxWords], "") + " ..."
	}
	return line
}
