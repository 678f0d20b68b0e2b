package dialect

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestApart(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.WriteFile("data", []byte("precious"), 0o600), os.Link("data", "link"), os.WriteFile("other", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ outputs, inputs, want string }{
		{"", "data", ""},
		{"out", "data", ""},
		{"other", "data", ""},
		{"out other", "", ""},
		{"data", "data", "-o data: would overwrite data, which the command line uses as -i data"},
		{"./data", "other " + here + "/data", "would overwrite"},
		{"link", "data", "would overwrite data"},
		{"new", "./new", "would overwrite ./new"},
		{"out ./out", "", "-o ./out: names the same file as -o out"},
		{"link data", "", "names the same file as -o link"},
		{os.DevNull + " " + os.DevNull, os.DevNull, ""},
	} {
		var outputs, inputs []File
		for _, n := range strings.Fields(c.outputs) {
			outputs = append(outputs, File{"-o " + n, n})
		}
		for _, n := range strings.Fields(c.inputs) {
			inputs = append(inputs, File{"-i " + n, n})
		}
		err := Apart(outputs, inputs)
		var usage *UsageError
		if c.want == "" {
			if err != nil {
				t.Errorf("outputs %q, inputs %q: %v", c.outputs, c.inputs, err)
			}
			continue
		}
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("outputs %q, inputs %q: %v, want a usage error with %q", c.outputs, c.inputs, err, c.want)
		}
	}
}
