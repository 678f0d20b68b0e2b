package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/text/layout"
)

// Exit statuses. exits explains them.
const (
	exitDone        = 0
	exitFailure     = 1
	exitUsage       = 2
	exitCellsFailed = 3
	exitNotHeld     = 4
	exitCannot      = 5
)

// exits is the only table of the exit statuses. The help and docs/reference/exit-codes.md show it.
var exits = []struct {
	status int
	// short is for the general help, long for the topic.
	short, long string
}{
	{exitDone, "done", "Done. A run that skipped some cells is done too: the report has the reasons."},
	{exitFailure, "error", "An error: the message describes it. Also a run that was interrupted: it keeps what it measured, and 'plimsoll run --resume' continues it."},
	{exitUsage, "wrong usage or bad input", "Wrong usage or bad input: a flag, a plan, an unknown run, a path that does not exist, or data that the command would overwrite without --destructive. Nothing was started."},
	{exitCellsFailed, "done, but some cells failed", "The run is done, but some of its trials failed. The report has the errors, and the figures of all others."},
	{exitNotHeld, "a check or limit did not hold", "A check or a limit did not hold: limit verify, a run, or a line of another tool with limits, if more came through than a limit allows; verify, if storage lost or changed blocks; selfcheck, if plimsoll and fio disagree; results check, if a file is invalid. A run with failed trials as well ends with 4, not with 3."},
	{exitCannot, "can't be done here", "It can't be done here: a run, if this machine can measure none of it (the message names what is missing); doctor, if not even the host engine can measure; limit, if a limit can't be set, tried or proved here; limit hook, if a limit of the policy can't be set; watch, if there are no counters; profile check, if a backend would refuse the profile."},
}

// shortExits lists the statuses in a sentence.
func shortExits() string {
	words := make([]string, len(exits))
	for i, e := range exits {
		words[i] = fmt.Sprintf("%d %s", e.status, e.short)
	}
	return strings.Join(words, "; ")
}

// exitTopic is "plimsoll help exit-codes". It runs nothing, so cobra lists it as a topic of the help.
func exitTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit status of every command:\n")
	for _, e := range exits {
		fmt.Fprintf(&b, "\n%3d  %s", e.status, strings.ReplaceAll(layout.Wrap(e.long, 74), "\n", "\n     "))
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit statuses mean", Long: b.String()}
}
