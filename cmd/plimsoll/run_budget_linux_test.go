package main

import "testing"

// TestRunForRefuses: a time that is too short, a folder that does not exist, and flags that contradict them are refused, and
// nothing is recorded.
func TestRunForRefuses(t *testing.T) {
	t.Parallel()
	var said transcript
	state := t.TempDir()
	for _, flags := range [][]string{{"--for", "1s"}, {"--for", "-5m"}, {"--for", "5"}, {"--for", "5m", "--blocks", "3"}, {"last", "--resume", "--for", "5m"}, {"last", "--resume", "--path", "/tmp"}, {"--max", "10m"}, {"--until-settled", "--max", "1s"}, {"--until-settled", "--for", "5m", "--max", "4m"}, {"--path", ""}, {"--path", "/no/such/folder"}} {
		args := append([]string{"run"}, flags...)
		said.add(args, plimsoll(t, t.Context(), state, "", args...))
	}
	said.check(t, "run-for-refuses.txt")
}
