package runs

import (
	"testing"

	"plimsoll/internal/measure/plan"
)

func TestRepeatCommand(t *testing.T) {
	for _, row := range []struct {
		command Command
		want    string
	}{
		{Command{}, "plimsoll run --seed 7"},
		{Command{Args: []string{"my plan.yaml"}, Plan: plan.Options{Quick: true}}, "plimsoll run 'my plan.yaml' --quick --seed 7"},
		{Command{Args: []string{"places"}, Plan: plan.Options{Blocks: "3", Only: "engine=oci,place=layer", Set: []string{"a=1", "b=x y"}, Seed: "9"}, Destructive: "/dev/vdb"},
			"plimsoll run places --blocks 3 --only engine=oci,place=layer --set a=1 --set 'b=x y' --seed 7 --destructive /dev/vdb"},
		{Command{Args: []string{"-"}, Plan: plan.Options{Quick: true, Set: []string{"a=1"}}}, "plimsoll results show R --plan | plimsoll run - --seed 7"},
		{Command{Args: []string{"-"}, State: "/s s"}, "plimsoll results show R --plan --state '/s s' | plimsoll run - --seed 7 --state '/s s'"},
	} {
		if got := row.command.Repeat(7, "R"); got != row.want {
			t.Errorf("Repeat = %s, want %s", got, row.want)
		}
	}
}

func TestWithBlocks(t *testing.T) {
	for in, want := range map[string]string{
		"plimsoll run places --quick --seed 4":                           "plimsoll run places --quick --blocks 20 --seed 4",
		"plimsoll run --blocks 3 --only engine=host --seed 4 --state /x": "plimsoll run --blocks 20 --only engine=host --seed 4 --state /x",
		"plimsoll run --seed 4":                                          "plimsoll run --blocks 20 --seed 4",
		"plimsoll results show 2026 --plan | plimsoll run - --seed 4":    "plimsoll results show 2026 --plan | plimsoll run - --seed 4",
		"plimsoll dd if=/dev/zero of=x":                                  "plimsoll dd if=/dev/zero of=x",
		"":                                                               "",
	} {
		if got := withBlocks(in, 20); got != want {
			t.Errorf("withBlocks(%q) = %q, want %q", in, got, want)
		}
	}
}
