"""What a page says: its texts and links, read with a parser."""

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "hr", "br", "img"}


class Element:
    """An element of a page."""

    def __init__(self, tag, attributes, parent):
        self.tag, self.attributes, self.parent, self.children = tag, attributes, parent, []

    def all(self, tag="", name=""):
        """Return all elements inside with that tag and class, in order."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                classes = (child.attributes.get("class") or "").split()
                found += [child] if tag in ("", child.tag) and (not name or name in classes) else []
                found += child.all(tag, name)
        return found

    def one(self, tag="", name=""):
        """Return the only such element."""
        (element,) = self.all(tag, name)
        return element

    @property
    def text(self):
        """The text, with single spaces."""
        return " ".join("".join(c.text_raw if isinstance(c, Element) else c for c in self.children).split())

    @property
    def text_raw(self):
        return "".join(c.text_raw if isinstance(c, Element) else c for c in self.children)


class _Parser(HTMLParser):
    def __init__(self):
        super().__init__()
        self.root = self.current = Element("", {}, None)

    def handle_starttag(self, tag, attrs):
        element = Element(tag, dict(attrs), self.current)
        self.current.children.append(element)
        if tag not in VOID:
            self.current = element

    def handle_startendtag(self, tag, attrs):
        self.current.children.append(Element(tag, dict(attrs), self.current))

    def handle_endtag(self, tag):
        assert self.current.tag == tag, f"</{tag}> ends <{self.current.tag}>"
        self.current = self.current.parent

    def handle_data(self, data):
        self.current.children.append(data)


def parsed(reply, status=200):
    """Return the main part of a page, whose tags must be well nested."""
    assert reply.status == status, reply.text[:2000]
    parser = _Parser()
    parser.feed(reply.text)
    assert parser.current is parser.root
    return parser.root.one("main")


def more(main, word="More →"):
    """Return the address of the next page; None on the last one."""
    links = [link.attributes["href"] for link in main.all("a") if link.text == word]
    return links[0] if links else None
