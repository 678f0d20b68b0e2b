package fio

// Support is how far an option is supported.
type Support string

// Kinds of Support.
const (
	// Yes: it works as in fio, or as its text says.
	Yes Support = "yes"
	// Accepted: it has no effect and needs none; its text says why.
	Accepted Support = "accepted"
	// Refused: it is an error; its text says why, and what to use instead.
	Refused Support = "refused"
)

// An Option is one of fio's job options.
type Option struct {
	// Name is fio's name, and Aliases are its other names.
	Name    string
	Aliases []string
	// Bare options may be given without a value, which then is 1.
	Bare    bool
	Support Support
	// Text says what the option does here, why it has no effect, or why it is refused.
	Text string
	// Off are values of a refused option that are allowed, because they ask for nothing.
	Off []string
	set func(*job, string) error
}
