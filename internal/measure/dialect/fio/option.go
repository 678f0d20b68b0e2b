package fio

// Support says what becomes of an option.
type Support string

// Kinds of Support.
const (
	// Yes: it does what it does in fio, or what its text says.
	Yes Support = "yes"
	// Accepted: it is read and needs no doing here; its text says why.
	Accepted Support = "accepted"
	// Refused: it is an error; its text says why, and what to use.
	Refused Support = "refused"
)

// An Option is one of fio's job options.
type Option struct {
	// Name is fio's, and Aliases its other names.
	Name    string
	Aliases []string
	// Bare options may stand without a value, which then is 1.
	Bare    bool
	Support Support
	// Text says what it does here, why it needs no doing, or why it is refused.
	Text string
	// Off are values that a refused option may have, because they ask for nothing.
	Off []string
	set func(*job, string) error
}
