package policy

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
)

// suffixes are those of Kubernetes' quantities (k8s.io/apimachinery, pkg/api/resource/suffix.go): base and exponent.
var suffixes = map[string][2]int64{
	"n": {10, -9}, "u": {10, -6}, "m": {10, -3}, "": {10, 0}, "k": {10, 3}, "M": {10, 6}, "G": {10, 9}, "T": {10, 12}, "P": {10, 15}, "E": {10, 18},
	"Ki": {2, 10}, "Mi": {2, 20}, "Gi": {2, 30}, "Ti": {2, 40}, "Pi": {2, 50}, "Ei": {2, 60},
}

// maxQuantity is the length of the longest quantity that is read.
const maxQuantity = 40

// quantity reads a number as Kubernetes writes it: "50M" is 50,000,000, "50Mi" 52,428,800 and "5e3" 5,000. As there,
// a fraction is rounded up.
func quantity(s string) (int64, error) {
	bad := errors.New(strict.Short(s) + " is not a quantity such as 50M, 10Mi or 500")
	unsigned := strings.TrimPrefix(s, "+")
	end := strings.IndexFunc(unsigned, func(r rune) bool { return r != '.' && !unicode.IsDigit(r) })
	if end < 0 {
		end = len(unsigned)
	}
	digits, suffix := unsigned[:end], unsigned[end:]
	whole, part, _ := strings.Cut(digits, ".")
	if whole+part == "" || strings.Trim(whole+part, "0123456789") != "" || len(s) > maxQuantity {
		return 0, bad
	}
	by, known := suffixes[suffix]
	if power := strings.TrimLeft(suffix, "eE"); !known && len(power) == len(suffix)-1 {
		// The largest number has 19 digits.
		n, err := strconv.ParseInt(power, 10, 8)
		by, known = [2]int64{10, n}, err == nil
	}
	r, ok := new(big.Rat).SetString("0" + whole + "." + part + "0")
	if !ok || !known {
		return 0, bad
	}
	times := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(by[0]), big.NewInt(max(by[1], -by[1])), nil))
	if by[1] < 0 {
		times.Inv(times)
	}
	r.Mul(r, times)
	up, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		up.Add(up, big.NewInt(1))
	}
	if !up.IsInt64() {
		return 0, errors.New(strict.Short(s) + " is too large")
	}
	return up.Int64(), nil
}

// scalar is the text of a scalar as goresctrl reads it: what YAML reads as a number becomes that number, so 010 is 8
// and 1_000 a thousand.
func scalar(n *yaml.Node) string {
	var v any
	if n.Tag == "!!int" || n.Tag == "!!float" {
		if err := n.Decode(&v); err != nil {
			return n.Value
		}
	}
	switch v := v.(type) {
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return n.Value
}
