// The readings of a server in Go: net/url, and what is done with a path.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
)

const maxDecodings = 4

var (
	parameters = regexp.MustCompile(`;[^/]*`)
	ends       = regexp.MustCompile(`[. \x00]+(/|$)`)
)

func decoded(text string) string {
	if out, err := url.PathUnescape(text); err == nil {
		return out
	}
	return text
}

func fold(text string) string {
	return strings.ToLower(strings.ToUpper(text))
}

func clean(text string) string {
	text = parameters.ReplaceAllString(strings.ReplaceAll(text, `\`, "/"), "")
	return path.Clean(ends.ReplaceAllString(path.Clean("/"+text), "$1"))
}

func addPlace(keys []string, kind, scheme, host, text, query string) []string {
	place := scheme + "|" + host + "|"
	if query != "" {
		values, _ := url.ParseQuery(query)
		for name, all := range values {
			for _, value := range all {
				keys = append(keys, kind+":query:"+place+text+"|"+name+"="+value)
				keys = append(keys, kind+":query:"+place+text+"|"+fold(name+"="+value))
			}
		}
		// Of a name with a query the path alone says nothing.
		if scheme == "api" {
			return keys
		}
	}
	keys = append(keys, kind+":path:"+place+text)
	for n := 0; n < maxDecodings; n++ {
		text = decoded(text)
		keys = append(keys, kind+":path:"+place+text)
	}
	if plus, err := url.QueryUnescape(text); err == nil {
		keys = append(keys, kind+":plus:"+place+plus)
	}
	keys = append(keys, kind+":clean:"+place+clean(text))
	keys = append(keys, kind+":fold:"+fold(place)+fold(clean(text)))
	whole := strings.Trim(clean(decoded(host)+"/"+text), "/")
	return append(keys, kind+":whole:"+scheme+"|"+fold(whole))
}

func keysOf(uri string) []string {
	var keys []string
	seen := map[string]bool{}
	before := []string{uri, strings.TrimSpace(uri), decoded(uri), strings.ReplaceAll(uri, `\`, "/")}
	for _, text := range before {
		if seen[text] {
			continue
		}
		seen[text] = true
		parsed, err := url.Parse(text)
		if err != nil || parsed.Scheme == "" {
			continue
		}
		where := parsed.Path
		if parsed.Opaque != "" {
			where = parsed.Opaque
		}
		keys = addPlace(keys, "hostname", parsed.Scheme, parsed.Hostname(), where, parsed.RawQuery)
		if parsed.Opaque != "" {
			continue
		}
		keys = addPlace(keys, "host", parsed.Scheme, parsed.Host, parsed.EscapedPath(), parsed.RawQuery)
		joined := parsed.JoinPath()
		keys = addPlace(keys, "joined", joined.Scheme, joined.Hostname(), joined.Path, joined.RawQuery)
	}
	return keys
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	lines.Scan()
	var names []string
	if err := json.Unmarshal(lines.Bytes(), &names); err != nil {
		panic(err)
	}
	known := map[string]string{}
	for _, name := range names {
		for _, key := range keysOf(name) {
			known[key] = name
		}
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for place := 0; lines.Scan(); place++ {
		var uri string
		if err := json.Unmarshal(lines.Bytes(), &uri); err != nil {
			panic(err)
		}
		found := map[string]bool{}
		for _, key := range keysOf(uri) {
			if name, is := known[key]; is && !found[name] {
				found[name] = true
				fmt.Fprintf(out, "%d\t%s\t%q\n", place, name, key)
			}
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
}
