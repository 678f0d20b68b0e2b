package website

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// frame are the files that every site has. None of them needs a plug-in of Jekyll's, a gem or a network.
var frame = []struct{ name, text string }{
	{"_config.yml", `title: A site to be built
description: Made by plimsoll from a seed.
markdown: kramdown
timezone: UTC
permalink: /:year/:month/:day/:title/
plugins: []
`},
	{"_layouts/default.html", `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{{ page.title | escape }} - {{ site.title | escape }}</title></head>
<body>
{% include header.html %}
{{ content }}
<footer>{{ site.posts | size }} posts</footer>
</body>
</html>
`},
	{"_layouts/post.html", `---
layout: default
---
<article>
<h1>{{ page.title | escape }}</h1>
<time datetime="{{ page.date | date_to_xmlschema }}">{{ page.date | date: "%-d %B %Y" }}</time>
{{ content }}
{% if page.previous %}<a href="{{ page.previous.url }}">{{ page.previous.title | escape }}</a>{% endif %}
<ul>{% for p in site.posts limit: 10 %}<li><a href="{{ p.url }}">{{ p.title | escape }}</a></li>{% endfor %}</ul>
</article>
`},
	{"_includes/header.html", "<header><a href=\"/\">{{ site.title | escape }}</a></header>\n"},
	{"index.html", `---
layout: default
title: Posts
---
<ul>{% for post in site.posts %}<li><a href="{{ post.url }}">{{ post.title | escape }}</a>: {{ post.excerpt | strip_html | truncatewords: 20 }}</li>{% endfor %}</ul>
`},
	{"about.md", "---\nlayout: default\ntitle: About\n---\nA site that is built to see how long that takes.\n"},
	{"feed.xml", `---
---
<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">{% for post in site.posts limit: 20 %}<entry><title>{{ post.title | xml_escape }}</title><content type="html">{{ post.content | xml_escape }}</content></entry>{% endfor %}</feed>
`},
	{"robots.txt", "User-agent: *\nDisallow:\n"},
}

// maxPost is an upper bound of the size of a post, in bytes.
const maxPost = 12 << 10

// words are the words of posts.
var words = strings.Fields(`the a of to in and is that it for on with as was at by from this have or one had not but what all were when we there can
an your which their said if do will each about how up out them then she many some so these would other into has more her two like him see time could no make
than first been its who now people my made over did down only way find use may water long little very after words called just where most know container volume
folder disk cache kernel page file write read sync image layer mount driver engine worker limit share machine block queue device path name build release`)

// firstPost is the date of the oldest post; the others follow at intervals of three days, until the middle of 2017.
// Jekyll omits posts of the future.
var firstPost = time.Date(2015, 1, 1, 12, 0, 0, 0, time.UTC)

// post writes the i-th post: a few paragraphs with headings, lists, links and code between them.
func post(rng *rand.Rand, i int) (name string, text []byte) {
	var b bytes.Buffer
	date := firstPost.AddDate(0, 0, 3*i%900)
	title := strings.ToUpper(words[rng.IntN(len(words))][:1]) + phrase(rng, 5)
	fmt.Fprintf(&b, "---\nlayout: post\ntitle: \"%s\"\ndate: %s\ncategories: [%s]\n---\n", title, date.Format("2006-01-02 15:04:05 +0000"), words[rng.IntN(len(words))])
	for end := 2<<10 + rng.IntN(7<<10); b.Len() < end; {
		switch rng.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "## %s\n\n", phrase(rng, 4))
		case 1:
			for range 2 + rng.IntN(5) {
				fmt.Fprintf(&b, "* %s\n", phrase(rng, 9))
			}
			b.WriteByte('\n')
		case 2:
			fmt.Fprintf(&b, "See [%s](https://example.com/%s) and *%s*.\n\n", phrase(rng, 3), words[rng.IntN(len(words))], phrase(rng, 2))
		case 3:
			fmt.Fprintf(&b, "    $ %s --%s %d\n\n", words[rng.IntN(len(words))], words[rng.IntN(len(words))], rng.IntN(1000))
		default:
			for range 2 + rng.IntN(4) {
				fmt.Fprintf(&b, "%s. ", phrase(rng, 8+rng.IntN(12)))
			}
			b.WriteString("\n\n")
		}
	}
	return fmt.Sprintf("_posts/%s-post-%05d.md", date.Format("2006-01-02"), i), b.Bytes()
}

// phrase returns n words.
func phrase(rng *rand.Rand, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = words[rng.IntN(len(words))]
	}
	return strings.Join(out, " ")
}
