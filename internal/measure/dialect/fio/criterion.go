package fio

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/measure/steady"
)

// parseCriterion reads steadystate, as in iops_slope:0.3%.
func parseCriterion(s string) (steady.Criterion, error) {
	word, limit, ok := strings.Cut(s, ":")
	var c steady.Criterion
	w, err := oneOf(word, "iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope")
	if err != nil {
		return c, err
	}
	c.Metric, c.Slope = strings.CutSuffix(w, "_slope")
	number, pct := strings.CutSuffix(limit, "%")
	c.Percent = pct
	c.Limit, err = strconv.ParseFloat(number, 64)
	if !pct && c.Metric == "bw" {
		var n int64
		n, err = parseSize(number, 1024)
		c.Limit = float64(n)
	}
	if !ok || err != nil || !(c.Limit > 0) || math.IsInf(c.Limit, 0) {
		return steady.Criterion{}, fmt.Errorf("%q needs a colon and a limit above 0, as in iops:0.5%% or bw_slope:1m", s)
	}
	return c, nil
}
