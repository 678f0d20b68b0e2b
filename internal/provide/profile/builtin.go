package profile

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed builtin/*.yaml
var files embed.FS

// BuiltIn lists the names of the built-in profiles.
func BuiltIn() []string {
	entries, err := fs.ReadDir(files, "builtin")
	if err != nil {
		panic("profile: the embedded folder can't be read: " + err.Error())
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	return names
}

// builtIn returns the built-in profile of that name, and the name as it is spelled; "" if there is none.
func builtIn(name string) (spelled string, text []byte) {
	for _, b := range BuiltIn() {
		if strings.EqualFold(b, name) {
			text, err := files.ReadFile("builtin/" + b + ".yaml")
			if err != nil {
				panic("profile: the embedded file can't be read: " + err.Error())
			}
			return b, text
		}
	}
	return "", nil
}
