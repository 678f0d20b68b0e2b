// Package plans holds the built-in plans. Each is a YAML file in this folder
// whose comments explain its choices; docs/reference/plan.md describes the keys.
package plans

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

// Default is the plan that runs if none is named. It also supplies the engines and places for the jobs of a job file.
const Default = "places"

//go:embed *.yaml
var files embed.FS

// Names lists the built-in plans by name.
func Names() []string {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic("plans: the embedded folder can't be read: " + err.Error())
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	return names
}

// File is the name by which messages call the file of a built-in plan.
func File(name string) string { return "plans/" + name + ".yaml" }

// Get returns the YAML of a built-in plan. The error names those that exist.
func Get(name string) ([]byte, error) {
	b, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no built-in plan %q; there are: %s", name, strings.Join(Names(), ", "))
	}
	return b, nil
}
