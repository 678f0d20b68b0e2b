// Command uses prints a regular expression for go test's -run that matches the tests of some folders that use a package, directly or
// through the helpers that they call.
//
//	go run ./scripts/uses -of plimsoll/internal/testkit/dockertest ./cmd/plimsoll ./internal/measure/trial
//
// All tests in the package's own folder count as using it. The command compares names only, so it finds too many rather
// than too few: a declaration that mentions the name of a function, method, variable or type that uses the package counts
// too. Uses through a package outside of the folders are not seen.
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	of := flag.String("of", "", "import path of the package that is used")
	flag.Parse()
	expr, err := run(*of, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "uses:", err)
		os.Exit(1)
	}
	fmt.Println(expr)
}

func run(of string, dirs []string) (string, error) {
	if of == "" || len(dirs) == 0 {
		return "", errors.New("-of PACKAGE and a folder are needed")
	}
	var tests []string
	for _, dir := range dirs {
		found, err := testsIn(dir, of, strings.HasSuffix(of, "/"+strings.Trim(path.Clean(filepath.ToSlash(dir)), "/")))
		if err != nil {
			return "", err
		}
		tests = append(tests, found...)
	}
	if len(tests) == 0 {
		return "", fmt.Errorf("no test of %s uses %s", strings.Join(dirs, ", "), of)
	}
	slices.Sort(tests)
	return "^(" + strings.Join(slices.Compact(tests), "|") + ")$", nil
}

// testsIn returns the tests in a folder that use the package of, or all of them.
func testsIn(dir, of string, all bool) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	// mentions are the names that a declaration mentions; users has the declarations that use of.
	mentions, users := map[string]map[string]bool{}, map[string]bool{}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return nil, err
		}
		as := importedAs(f, of)
		for _, d := range f.Decls {
			for _, declared := range namesOf(d) {
				if mentions[declared] == nil {
					mentions[declared], users[declared] = map[string]bool{}, all
				}
				ast.Inspect(d, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						mentions[declared][id.Name] = true
						users[declared] = users[declared] || id.Name == as
					}
					return true
				})
			}
		}
	}
	for grew := true; grew; {
		grew = false
		for declared, ids := range mentions {
			for id := range ids {
				if users[id] && !users[declared] {
					users[declared], grew = true, true
				}
			}
		}
	}
	var tests []string
	for name := range users {
		if users[name] && strings.HasPrefix(name, "Test") && name != "TestMain" {
			tests = append(tests, name)
		}
	}
	return tests, nil
}

// importedAs returns the name that a file has for a package, "" if the file doesn't import it.
func importedAs(f *ast.File, of string) string {
	for _, i := range f.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err != nil || p != of {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return path.Base(of)
	}
	return ""
}

// namesOf returns the names that a declaration declares; a method's without its receiver.
func namesOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			}
		}
	}
	return names
}
