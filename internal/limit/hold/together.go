package hold

import (
	"fmt"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
)

// Together says how much the rates of a volume's containers allow in total; "" unless several have a rate. Each
// container has its own limit. The volume's own device doesn't bound them together either: version 1's root group
// covers only writeback, and version 2's has no limits.
func (s *Scope) Together(each []limit.Limits) string {
	if s.Target.Kind != target.Volume || len(each) < 2 {
		return ""
	}
	var one, all limit.Limits
	same := true
	for _, k := range limit.Keys {
		if !k.Rate() || !k.IO() {
			continue
		}
		var sum int64
		for _, l := range each {
			n := l.Whole(k)
			if n == nil || *n == 0 {
				sum = 0
				break
			}
			sum += *n
			same = same && l.Text(k) == each[0].Text(k)
		}
		if sum > 0 {
			one = one.With(k, each[0])
			*all.Whole(k) = sum
		}
	}
	if all.IsZero() {
		return ""
	}
	if same {
		return fmt.Sprintf("%d containers, up to %s each: %s together", len(each), one.Words(), all.Words())
	}
	return fmt.Sprintf("%d containers, each with a limit of its own: up to %s together", len(each), all.Words())
}
