"""The readings of a server in Python: urllib, pydantic and httpx, and what is done with a path."""

import json
import posixpath
import re
import sys
import unicodedata
from urllib.parse import parse_qsl, unquote, unquote_plus, unwrap, urlsplit
from urllib.request import url2pathname

from httpx2 import URL
from pydantic import AnyUrl

MAX_DECODINGS = 4


def attempt(work, *arguments):
    try:
        return work(*arguments)
    except Exception:
        return None


def fold(text):
    folded = unicodedata.normalize("NFKC", text).upper().casefold()
    return unicodedata.normalize("NFKC", folded)


def clean(path):
    path = re.sub(r";[^/]*", "", path.replace("\\", "/"))
    path = posixpath.normpath("/" + path)
    return re.sub(r"/+", "/", re.sub(r"[. \0]+(?=/|$)", "", path)).rstrip("/")


def in_letters(host):
    return attempt(lambda: host.encode("ascii").decode("idna")) or host


def in_codes(host):
    return attempt(lambda: host.encode("idna").decode("ascii")) or host


def add_place(keys, kind, scheme, host, path, query):
    for host in {host, in_codes(host)}:
        place = f"{scheme}|{host}|"
        for name, value in parse_qsl(query or "", keep_blank_values=True):
            keys.append(f"{kind}:query:{place}{path}|{name}={value}")
            keys.append(f"{kind}:query:{place}{path}|{fold(f'{name}={value}')}")
        # Of a name with a query the path alone says nothing.
        if query and scheme == "api":
            continue
        text = path
        keys.append(f"{kind}:path:{place}{text}")
        for _ in range(MAX_DECODINGS):
            after = unquote(text)
            if after == text:
                break
            text = after
            keys.append(f"{kind}:path:{place}{text}")
        keys.append(f"{kind}:decoded:{place}{text}")
        keys.append(f"{kind}:old:{place}{unquote(path, encoding='latin-1')}")
        keys.append(f"{kind}:plus:{place}{unquote_plus(text)}")
        keys.append(f"{kind}:clean:{place}{clean(text)}")
        keys.append(f"{kind}:fold:{fold(place)}{fold(clean(text))}")
        whole = in_letters(unquote(host)) + "/" + text
        keys.append(f"{kind}:whole:{scheme}|{fold(clean(whole).strip('/'))}")


def keys_of(uri):
    keys = []
    before = {uri, uri.strip(), unquote(uri), unwrap(uri), unicodedata.normalize("NFKC", uri)}
    for text in before:
        split = attempt(urlsplit, text)
        host = attempt(lambda: split.hostname) if split else None
        if split and split.scheme:
            add_place(keys, "urllib", split.scheme, host or "", split.path, split.query)
            add_place(keys, "netloc", split.scheme, split.netloc, split.path, split.query)
            if split.scheme == "file":
                keys.append(f"urllib:file:{attempt(url2pathname, split.path)}")
        url = attempt(AnyUrl, text)
        if url is not None:
            add_place(keys, "pydantic", url.scheme, url.host or "", url.path or "", url.query)
            host = attempt(url.unicode_host) or ""
            if url.query and url.scheme == "api":
                continue
            keys.append(f"pydantic:letters:{url.scheme}|{host}|{url.path or ''}")
        url = attempt(URL, text)
        if url is not None and url.scheme:
            host = attempt(lambda: url.host) or url.raw_host.decode("latin-1")
            add_place(keys, "httpx", url.scheme, host, url.path, url.query.decode("latin-1"))
    return keys


def main():
    lines = sys.stdin
    names = json.loads(next(lines))
    known = {key: name for name in names for key in keys_of(name)}
    out = []
    for place, line in enumerate(lines):
        seen = set()
        for key in keys_of(json.loads(line)):
            name = known.get(key)
            if name is not None and name not in seen:
                seen.add(name)
                out.append(f"{place}\t{name}\t{json.dumps(key)}\n")
    sys.stdout.write("".join(out))


main()
