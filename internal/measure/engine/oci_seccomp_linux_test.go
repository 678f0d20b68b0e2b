package engine

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestCheckSeccomp(t *testing.T) {
	dir := t.TempDir()
	for _, profile := range []string{"", Unconfined, "testdata/no-io-uring.json"} {
		if err := CheckSeccomp(profile); err != nil {
			t.Errorf("CheckSeccomp(%q) = %v", profile, err)
		}
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "not a regular file", dir: "not a regular file", filepath.Join(dir, "none"): "no such file"} {
		if err := CheckSeccomp(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("CheckSeccomp(%s) = %v, want %q", path, err, want)
		}
	}
	path := filepath.Join(dir, "profile.json")
	const allow = `{"defaultAction":"SCMP_ACT_ALLOW"`
	for text, want := range map[string]string{
		"":                                    "unexpected end",
		"\x00\xff":                            "invalid character",
		"{} {}":                               "invalid character",
		"[]":                                  "it is an array, a profile is an object",
		"7":                                   "it is a number",
		"null":                                "it has no defaultAction",
		"{}":                                  "it has no defaultAction",
		`{"defaultAction":1}`:                 "its defaultAction can't be a number",
		`{"defaultAction":"ALLOW"}`:           `defaultAction: there is no action "ALLOW"`,
		`{"defaultAction":"SCMP_ACT_NOTIFY"}`: "needs a program that listens",
		allow + `,"syscalls":{}}`:             "its syscalls can't be an object",
		allow + `,"syscalls":["read"]}`:       "its syscalls can't be a string",
		allow + `,"syscalls":[{"action":"SCMP_ACT_ALLOW"}]}`:                                                                          "syscalls[0] has no names",
		allow + `,"syscalls":[{"names":["read"]}]}`:                                                                                   `syscalls[0].action: there is no action ""`,
		allow + `,"syscalls":[{"names":["a"],"action":"SCMP_ACT_LOG"},{"names":["a"],"action":"\u001b[31m"}]}`:                        `syscalls[1].action: there is no action "\x1b[31m"`,
		allow + `,"syscalls":[{"names":["a"],"action":"SCMP_ACT_LOG","args":[{"index":0,"value":1,"op":"=="}]}]}`:                     `syscalls[0].args[0].op: there is no operator "=="`,
		allow + `,"syscalls":[{"names":["a"],"action":"SCMP_ACT_LOG","args":[{"index":-1,"value":1,"op":"SCMP_CMP_EQ"}]}]}`:           "can't be a number -1",
		allow + `,"syscalls":[{"names":["a"],"action":"SCMP_ACT_ERRNO","errnoRet":1,"args":[{"index":0,"op":"SCMP_CMP_NE"}]}]}`:       "",
		`{"defaultAction":"SCMP_ACT_ERRNO","x-mine":1,"syscalls":[{"names":["a"],"action":"SCMP_ACT_ALLOW","comment":"","args":[]}]}`: "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := CheckSeccomp(path)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || strings.ContainsAny(err.Error(), "\n\x1b")) {
			t.Errorf("CheckSeccomp of %s = %v, want %q", text, err, want)
		}
	}
}
