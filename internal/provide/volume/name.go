package volume

import (
	"regexp"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/text/usage"
)

// maxName leaves room in a file name of 255 bytes for what is added to it in the trash and in the journal.
const maxName = 200

// isName is what Docker's own driver takes (volume/names/names.go in moby), but for its least length of 2.
var isName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`).MatchString

// CheckName reports what is wrong with a volume's name.
func CheckName(name string) error {
	switch {
	case name == "":
		return usage.Errorf("a volume needs a name")
	case !isName(name):
		return usage.Errorf("%s is not a volume's name: use letters, digits, and _ . - after the first one", strict.Short(name))
	case len(name) > maxName:
		return usage.Errorf("%s is too long for a volume's name: it has %d bytes, and may have %d", strict.Short(name), len(name), maxName)
	}
	return nil
}
