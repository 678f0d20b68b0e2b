package fio

import (
	"fmt"
	"strconv"
	"strings"
)

// keywords are the words that fio replaces by properties of the machine in the values of a job file.
var keywords = []string{"$pagesize", "$mb_memory", "$ncpus"}

// keyword replaces fio's keywords in a value and computes the expression that remains, as in 8*$mb_memory: whole
// numbers with + - * /, which fio passes to bc.
func (p *parser) keyword(s string) (string, error) {
	found := false
	for _, k := range keywords {
		if !strings.Contains(s, k) {
			continue
		}
		n := int64(0)
		if p.src.Machine != nil {
			n = p.src.Machine(k[1:])
		}
		if n <= 0 {
			return "", fmt.Errorf("the value of %s is not known here", k)
		}
		s, found = strings.ReplaceAll(s, k, strconv.FormatInt(n, 10)), true
	}
	if !found || !strings.ContainsAny(s, "+-*/") {
		return s, nil
	}
	n, err := compute(s)
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(n, 10), nil
}

// compute evaluates sums of products of whole numbers.
func compute(s string) (int64, error) {
	bad := fmt.Errorf("%q can't be computed; use whole numbers with + - * /", s)
	var sum, product int64
	sign, op := int64(1), byte('*')
	product = 1
	for rest := s; ; {
		i := strings.IndexAny(rest, "+-*/")
		word := rest
		if i >= 0 {
			word = rest[:i]
		}
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		switch {
		case err != nil || op == '/' && n == 0:
			return 0, bad
		case op == '/':
			product /= n
		case n != 0 && (product*n)/n != product:
			return 0, bad
		default:
			product *= n
		}
		if i < 0 {
			return sum + sign*product, nil
		}
		switch op = rest[i]; op {
		case '+', '-':
			sum, product = sum+sign*product, 1
			sign = map[byte]int64{'+': 1, '-': -1}[op]
			op = '*'
		}
		rest = rest[i+1:]
	}
}
