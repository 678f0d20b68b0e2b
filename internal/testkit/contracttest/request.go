package contracttest

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// apiVersion is the beginning of a path: /v1.47.
var apiVersion = regexp.MustCompile(`^/v\d+\.\d+/`)

// Operation returns a request's path as the description writes it, such as /containers/{id}/json, and the description of the
// request's method. It is nil if there is no such path or method.
func (s *Description) Operation(method, path string) (template string, operation map[string]any) {
	path = apiVersion.ReplaceAllString(path, "/")
	least := -1 // The path with the fewest parameters is meant: /containers/json is not a container called json.
	for t, p := range s.doc["paths"].(map[string]any) {
		op, ok := p.(map[string]any)[strings.ToLower(method)].(map[string]any)
		if names := strings.Count(t, "{"); ok && pathPattern(t).MatchString(path) && (least < 0 || names < least) {
			template, operation, least = t, op, names
		}
	}
	return template, operation
}

// pathPattern matches the paths of a template. The name of an image may have slashes.
func pathPattern(template string) *regexp.Regexp {
	var parts []string
	for part := range strings.SplitSeq(template, "/") {
		switch {
		case part == "{name}" && strings.HasPrefix(template, "/images/"):
			part = ".+"
		case strings.HasPrefix(part, "{"):
			part = "[^/]+"
		default:
			part = regexp.QuoteMeta(part)
		}
		parts = append(parts, part)
	}
	return regexp.MustCompile("^" + strings.Join(parts, "/") + "$")
}

// RequestProblems lists how a request differs from the description: in its method and path, the query, and the whole body.
func (s *Description) RequestProblems(method string, u *url.URL, header http.Header, body string) (problems []string) {
	template, op := s.Operation(method, u.Path)
	if op == nil {
		return []string{"there is no " + method + " " + u.Path}
	}
	params, _ := op["parameters"].([]any)
	query, schema := map[string]map[string]any{}, map[string]any(nil)
	for _, p := range params {
		switch p := p.(map[string]any); p["in"] {
		case "query":
			query[p["name"].(string)] = p
		case "body":
			schema = p["schema"].(map[string]any)
		}
	}
	bad := func(format string, args ...any) {
		problems = append(problems, method+" "+template+": "+fmt.Sprintf(format, args...))
	}
	for k, values := range u.Query() {
		p, ok := query[k]
		if !ok {
			bad("unknown parameter %s", k)
			continue
		}
		for _, v := range values {
			if why := parameterProblem(p, v); why != "" {
				bad("parameter %s=%s: %s", k, v, why)
			}
		}
	}
	for k, p := range query {
		if p["required"] == true && !u.Query().Has(k) {
			bad("parameter %s is missing", k)
		}
	}
	switch {
	case body == "":
	case schema == nil:
		bad("it has no body, and was sent %.200s", body)
	case schema["type"] == "string": // an archive
	case !strings.HasPrefix(header.Get("Content-Type"), "application/json"):
		bad("its body is %q", header.Get("Content-Type"))
	default:
		found, err := s.Problems(schema, body)
		if err != nil {
			bad("%v", err)
		}
		for _, f := range found {
			bad("%s", f)
		}
	}
	return problems
}

// parameterProblem reports a parameter of a query with a wrong type.
func parameterProblem(p map[string]any, value string) string {
	switch p["type"] {
	case "boolean":
		// httputils.BoolValue of the daemon takes any other value for true.
		if !slices.Contains([]string{"", "0", "1", "true", "false"}, strings.ToLower(value)) {
			return "no boolean"
		}
	case "integer":
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return "no integer"
		}
	case "string":
		if enum, ok := p["enum"].([]any); ok && !slices.Contains(enum, any(value)) {
			return "none of the values"
		}
		if pattern, ok := p["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(value) {
			return "not as " + pattern
		}
	}
	return ""
}

// unknown finds the keys at any depth of the sent value v that are not among a schema's properties.
func (s *Description) unknown(schema map[string]any, v any, at string) (problems []string) {
	switch v := v.(type) {
	case map[string]any:
		known, more, free := s.shape(schema)
		for k, x := range v {
			inner, ok := known[k]
			switch {
			case ok, more != nil:
				if !ok {
					inner = more
				}
				problems = append(problems, s.unknown(inner, x, at+"."+k)...)
			case !free:
				problems = append(problems, "unknown key "+strings.TrimPrefix(at+"."+k, "."))
			}
		}
	case []any:
		items, _ := s.resolve(schema)["items"].(map[string]any)
		for i, x := range v {
			if items != nil {
				problems = append(problems, s.unknown(items, x, fmt.Sprintf("%s[%d]", at, i))...)
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// shape describes the objects of a schema: the properties, the schema of any other key or nil, and whether the schema says nothing
// about them.
func (s *Description) shape(schema map[string]any) (known map[string]map[string]any, more map[string]any, free bool) {
	known = map[string]map[string]any{}
	var walk func(map[string]any)
	walk = func(schema map[string]any) {
		schema = s.resolve(schema)
		if all, ok := schema["allOf"].([]any); ok {
			for _, a := range all {
				walk(a.(map[string]any))
			}
		}
		if p, ok := schema["properties"].(map[string]any); ok {
			for k, x := range p {
				known[k] = x.(map[string]any)
			}
		}
		switch a := schema["additionalProperties"].(type) {
		case map[string]any:
			more = a
		case bool:
			free = a
		}
	}
	walk(schema)
	return known, more, free || len(known) == 0 && more == nil
}

// resolve follows the reference if the schema is one.
func (s *Description) resolve(schema map[string]any) map[string]any {
	for {
		ref, ok := schema["$ref"].(string)
		if !ok {
			return schema
		}
		schema = s.doc["definitions"].(map[string]any)[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
	}
}
