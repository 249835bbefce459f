"""Parse generated HTML pages, and a text that tries to inject tags into them."""

from __future__ import annotations

from html.parser import HTMLParser

HOSTILE = (
    ' </script><script>document.title="owned"</script><img src=x onerror=alert(1)>'
    "\" onmouseover='x' ]]> <!-- $title ${x} \x00\x1b[31m \u202e {{7*7}} [x](javascript:alert(1)) `c` |"
)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(page)
    return parser.found
