package main

import (
	"strings"
	"testing"
)

func TestRunRefuses(t *testing.T) {
	for _, row := range []struct{ args, want string }{
		{"", "started by plimsoll"},
		{"swim", "unknown command"},
		{"agent", "--dir is missing"},
		{"trial --dir=", "--dir is missing"},
		{"agent --what", "not defined"},
	} {
		if err := run(strings.Fields(row.args)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("run(%q) = %v, want %q", row.args, err, row.want)
		}
	}
}
