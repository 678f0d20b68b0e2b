package profile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/text/usage"
)

// put writes a file of the store past Add.
func put(t *testing.T, s Store, name, text string) {
	t.Helper()
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAddRefuses(t *testing.T) {
	s := In(t.TempDir())
	if err := s.Add("WEB", "f", []byte("capacity: 5"), false); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"", "capacity: 5", "is not a name"},
		{"../x", "capacity: 5", "is not a name"},
		{"a/b", "capacity: 5", "is not a name"},
		{"a\x00", "capacity: 5", "is not a name"},
		{"ä", "capacity: 5", "is not a name"},
		{strings.Repeat("a", 255), "capacity: 5", "is not a name"},
		{"gold", "capacity: 5", "the profile GOLD is built in"},
		{"web", "capacity: 5", "there is a profile WEB already"},
		{"new", "capcity: 5", "did you mean capacity?"},
	} {
		err := s.Add(tt.name, "f", []byte(tt.text), false)
		if !usage.Is(err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Add(%q, %q) = %v, want a usage error with %q", tt.name, tt.text, err, tt.want)
		}
	}
	for name, want := range map[string]string{"gold": "built in", "WEV": "did you mean WEB?", "../WEB": "there is no profile"} {
		if err := s.Remove(name); !usage.Is(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("Remove(%q) = %v, want a usage error with %q", name, err, want)
		}
	}
	if entries, err := os.ReadDir(s.Dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v, want WEB.yaml alone", entries, err)
	}
}

func TestStore(t *testing.T) {
	s := In(t.TempDir())
	const text = "# a comment\ncapacity: 5\n"
	if err := s.Add("Web", "f", []byte(text), false); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Lookup("WEB"); err != nil || p.Name != "Web" || p.Capacity != 5e9 {
		t.Errorf("Lookup(WEB) = %+v, %v", p, err)
	}
	if _, _, got, err := s.Text("web"); err != nil || string(got) != text {
		t.Errorf("Text(web) = %q, %v, want %q", got, err, text)
	}
	// A write that was killed leaves a file, which the next one removes.
	put(t, s, ".profile-123", "half")
	if err := s.Add("WEB", "f", []byte("capacity: 6"), true); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(s.Dir); err != nil || len(entries) != 1 || entries[0].Name() != "Web.yaml" {
		t.Errorf("the folder has %v, %v, want Web.yaml alone", entries, err)
	}
	if p, err := s.Lookup("web"); err != nil || p.Capacity != 6e9 {
		t.Errorf("Lookup(web) = %+v, %v", p, err)
	}
	// A damaged file doesn't hide the others, and one with the name of a built-in profile has no effect.
	put(t, s, "broken.yaml", "capacity: x\n")
	put(t, s, "gold.yaml", "capacity: 1\n")
	put(t, s, "not a name.yaml", "capacity: 1\n")
	var faults strict.Errors
	if list, err := s.List(); !errors.As(err, &faults) || !strings.Contains(err.Error(), "gold.yaml has the name") || len(list) != len(BuiltIn())+1 {
		t.Errorf("List() = %d profiles, %v, want %d and the faults of broken.yaml", len(list), err, len(BuiltIn())+1)
	}
	if p, err := s.Lookup("gold"); err != nil || p.Capacity != 20e9 {
		t.Errorf("Lookup(gold) = %+v, %v, want the built-in one", p, err)
	}
	if err := s.Remove("web"); err != nil {
		t.Error(err)
	}
	if _, err := s.Lookup("Web"); !usage.Is(err) {
		t.Errorf("Lookup(Web) = %v after Remove", err)
	}
}
