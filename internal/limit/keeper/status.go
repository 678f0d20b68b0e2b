package keeper

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
)

// A Status is the state of a keeper.
type Status struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	// Policy is the policy in force.
	Policy PolicyStatus `json:"policy"`
	// Engines are the sources of containers, by name.
	Engines []Engine `json:"engines"`
	// Unlisted reports why some containers may not be known, empty if all are.
	Unlisted string `json:"unlisted,omitempty"`
	// Containers are those with a matching rule or a limit; Others counts the rest.
	Containers []ContainerStatus `json:"containers"`
	Others     int               `json:"others"`
	// RootGroup is the root group's limits, of device-wide rules.
	RootGroup *ContainerStatus `json:"root_group,omitempty"`
	// Together are the groups that several containers share, and TogetherFaults the rules that can't be applied to
	// them.
	Together       []ContainerStatus `json:"together"`
	TogetherFaults []Fault           `json:"together_faults"`
	// Events counts the engines' events, Checks the checks of all limits, Writes all writes to control files, and
	// Drift how often another program had changed a limit.
	Events int64 `json:"events"`
	Checks int64 `json:"checks"`
	Writes int64 `json:"writes"`
	Drift  int64 `json:"drift"`
	// LastCheck is the last check of all limits.
	LastCheck Tick `json:"last_check"`
}

// A PolicyStatus describes the policy in force.
type PolicyStatus struct {
	Path string `json:"path"`
	// From is the file that was read: a copy if the policy's own was bad when the keeper started.
	From   string    `json:"from"`
	Loaded time.Time `json:"loaded"`
	Rules  int       `json:"rules"`
	// Fault reports why the present content of Path is not in force.
	Fault string `json:"fault,omitempty"`
}

// An Engine is a source of containers.
type Engine struct {
	Name      string    `json:"name"`
	Connected bool      `json:"connected"`
	Since     time.Time `json:"since"`
	// Error reports why it sends no events any more, or not all.
	Error string `json:"error,omitempty"`
}

// A ContainerStatus is the limits of one container.
type ContainerStatus struct {
	// Target is its name: "docker:web".
	Target string `json:"target"`
	ID     string `json:"id,omitempty"`
	PID    int    `json:"pid,omitempty"`
	// Since is when the keeper found it.
	Since  time.Time `json:"since"`
	Rules  []string  `json:"rules"`
	Held   []Limit   `json:"held"`
	Faults []Fault   `json:"faults"`
	// Unlimited describes data that rules select and that has no limit, with the reason: data in memory, for example.
	Unlimited []string `json:"unlimited"`
	// Escapes are the writes that get past the rules' limits, including those of the root group.
	Escapes []hold.Escape `json:"escapes"`
	// Elsewhere reports its processes in groups that its limits don't reach, a sentence each.
	Elsewhere []string `json:"elsewhere"`
	// Drift is how often a limit had been changed, LastDrift when last, and Drifted what was restored then.
	Drift     int        `json:"drift"`
	LastDrift *time.Time `json:"last_drift,omitempty"`
	Drifted   string     `json:"drifted,omitempty"`
}

func (k *Keeper) noteEngine(name string, err error, connected bool) {
	e := Engine{Name: name, Connected: connected, Since: time.Now()}
	if err != nil {
		e.Error = err.Error()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.engines[name] = e
}

// Status is the keeper's present state.
func (k *Keeper) Status() Status {
	end := time.Now().Add(busyWait)
	s := Status{PID: os.Getpid(), Since: k.began, Events: k.events.Load(), Checks: k.checks.Load(), Writes: k.writes.Load(), Drift: k.drift.Load(), Containers: []ContainerStatus{}, Engines: []Engine{}}
	k.mu.Lock()
	l := k.loaded
	s.Policy = PolicyStatus{Path: k.opt.Policy, From: l.from, Loaded: l.at, Rules: len(l.policy.Rules), Fault: l.fault}
	s.Unlisted, s.LastCheck = k.syncErr, k.lastTick
	for _, e := range k.engines {
		s.Engines = append(s.Engines, e)
	}
	for rule, text := range k.budgetFaults {
		s.TogetherFaults = append(s.TogetherFaults, Fault{Rule: rule, Text: text})
	}
	budgets := slices.Collect(maps.Values(k.budgets))
	k.mu.Unlock()
	s.TogetherFaults = append(s.TogetherFaults, k.lostBudgets()...)
	for _, e := range budgets {
		s.Together = append(s.Together, e.view(end).status)
	}
	slices.SortFunc(s.Together, func(a, b ContainerStatus) int { return strings.Compare(a.Target, b.Target) })
	slices.SortFunc(s.TogetherFaults, func(a, b Fault) int { return cmp.Or(strings.Compare(a.Rule, b.Rule), strings.Compare(a.Text, b.Text)) })
	slices.SortFunc(s.Engines, func(a, b Engine) int { return strings.Compare(a.Name, b.Name) })
	var views []*view
	for _, e := range k.all() {
		v := e.view(end)
		if len(v.status.Rules)+len(v.status.Held)+len(v.status.Faults) == 0 {
			s.Others++
			continue
		}
		views = append(views, v)
	}
	elsewhere := k.elsewhere(views)
	for i, v := range views {
		c := v.status
		c.Elsewhere = elsewhere[i]
		s.Containers = append(s.Containers, c)
	}
	slices.SortFunc(s.Containers, func(a, b ContainerStatus) int { return strings.Compare(a.Target+a.ID, b.Target+b.ID) })
	if root := k.root.view(end).status; len(root.Held)+len(root.Faults) > 0 {
		s.RootGroup = &root
	}
	if root := k.inRoot(); len(s.Containers) > 0 {
		for i := range s.Containers {
			s.Containers[i].Escapes = escaping(s.Containers[i].Escapes, root)
		}
	}
	return s
}

// A view is an entry as it was when it was last locked: the kernel may take long to reclaim memory, and readers of
// the state don't wait for that.
type view struct {
	status  ContainerStatus
	target  target.Target
	groups  *cgroup.Target
	limited bool
	wrote   time.Time
}

// A Target is a target that a keeper knows.
type Target struct {
	// Key identifies the target for as long as the keeper runs.
	Key    string
	Target target.Target
	// Groups are its control groups, nil while they aren't known.
	Groups *cgroup.Target
	// Limited is set if the policy limits it, and Wrote is when its limits were last changed.
	Limited bool
	Wrote   time.Time
}

// Targets lists the targets that the keeper knows, in their present state, or if one is being changed, the state before.
func (k *Keeper) Targets() (list []Target) {
	end := time.Now().Add(busyWait)
	for _, e := range k.all() {
		v := e.view(end)
		list = append(list, Target{e.key, v.target, v.groups, v.limited, v.wrote})
	}
	return list
}

// unlock unlocks an entry that may have changed, and publishes its state.
func (e *entry) unlock() {
	e.seen.Store(&view{e.statusNow(), e.target, e.groups, len(e.parts) > 0 && !e.gone, e.wrote})
	e.mu.Unlock()
}

// busyWait is how long a reader of all entries waits for those that are being changed.
const busyWait = 100 * time.Millisecond

// view is the entry's state, waiting until end if it is being changed.
func (e *entry) view(end time.Time) *view {
	free := e.mu.TryLock()
	for ; !free && time.Now().Before(end); free = e.mu.TryLock() {
		time.Sleep(time.Millisecond)
	}
	if free {
		e.unlock()
	}
	if v := e.seen.Load(); v != nil {
		return v
	}
	return &view{status: ContainerStatus{Target: e.process.Ref(), ID: e.id, PID: e.process.PID, Since: e.since}, target: e.process}
}

// statusNow is the status of a locked entry.
func (e *entry) statusNow() ContainerStatus {
	c := ContainerStatus{Target: e.name(), ID: e.id, PID: e.process.PID, Since: e.since, Rules: e.rules, Unlimited: e.unlimited, Escapes: e.escapes, Faults: slices.Clone(e.broken), Drift: e.drift, Drifted: e.drifted}
	if e.unknown != "" {
		c.Faults = append(c.Faults, Fault{Text: e.unknown})
	}
	if !e.lastDrift.IsZero() {
		at := e.lastDrift
		c.LastDrift = &at
	}
	for _, h := range e.slots() {
		c.Held = append(c.Held, *h)
	}
	return c
}
