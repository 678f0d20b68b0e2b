package record

// A PlaceSafety says for which programs one place of a plan is safe, by a check without its slow questions (package safety).
type PlaceSafety struct {
	// Engine and Place are the plan's names.
	Engine string `json:"engine"`
	Place  string `json:"place"`
	Uses   []Use  `json:"uses"`
}

// A Use is a program or a habit, and whether a place is safe for it.
type Use struct {
	Name string `json:"name"`
	// Safe is a SafetyAnswer: yes, alone, no, or unknown if something that it needs can't be asked.
	Safe SafetyAnswer `json:"safe"`
	// Why lists what breaks, or what is not known.
	Why []string `json:"why,omitempty"`
	// Between says between whom it breaks, if the place is safe for the processes of one side alone.
	Between []string `json:"between,omitempty"`
}

// A SafetyAnswer is what is known of a promise of a file system, or of a program's safety.
type SafetyAnswer string

// Answers.
const (
	SafeYes SafetyAnswer = "yes"
	SafeNo  SafetyAnswer = "no"
	// SafeUnknown: it can't be asked here.
	SafeUnknown SafetyAnswer = "unknown"
	// SafeAlone is the answer for a place that is safe only as long as the processes of one side alone use it.
	SafeAlone SafetyAnswer = "alone"
)
