package main

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// variables are the environment variables of setVariable, by test and name.
var variables sync.Map

type variable struct{ test, name string }

// setVariable sets an environment variable for the commands of a test and of its subtests, until it ends. Unlike t.Setenv it leaves
// the process alone, so such tests run beside each other.
func setVariable(t *testing.T, name, value string) {
	t.Helper()
	v := variable{t.Name(), name}
	variables.Store(v, value)
	t.Cleanup(func() { variables.Delete(v) })
}

// environment looks up the variables of a test: its own, else those of the tests that it is part of, else those of the process.
func environment(t *testing.T) func(string) string {
	return func(name string) string {
		for test, more := t.Name(), true; more; {
			if value, ok := variables.Load(variable{test, name}); ok {
				return value.(string)
			}
			end := strings.LastIndexByte(test, '/')
			if more = end >= 0; more {
				test = test[:end]
			}
		}
		return os.Getenv(name)
	}
}

// forChild are the variables of a child process that is plimsoll, besides those of this process.
func forChild(t *testing.T) []string {
	env := []string{asPlimsoll + "=1"}
	variables.Range(func(key, _ any) bool {
		v := key.(variable)
		if strings.HasPrefix(t.Name()+"/", v.test+"/") {
			env = append(env, v.name+"="+environment(t)(v.name))
		}
		return true
	})
	return env
}

// TestEnvironment: a variable is a test's and its subtests', and no other's.
func TestEnvironment(t *testing.T) {
	const name = "DOCKER_HOST"
	outside := os.Getenv(name)
	want := func(t *testing.T, want string) {
		t.Helper()
		if got := environment(t)(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	t.Run("one", func(t *testing.T) {
		setVariable(t, name, "a")
		want(t, "a")
		t.Run("inner", func(t *testing.T) {
			want(t, "a")
			setVariable(t, name, "b")
			want(t, "b")
		})
		want(t, "a")
	})
	t.Run("two", func(t *testing.T) { want(t, outside) })
	want(t, outside)
}
