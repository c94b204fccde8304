"""Pages are self-contained, and strings of the user are escaped."""

from html.parser import HTMLParser

from tests.reporting.models import data_of


def test_a_page_is_self_contained(mixed):
    html = mixed[3].html
    assert "http://" not in html
    assert "https://" not in html
    links = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            links.extend((tag, name, value) for name, value in attributes if name in ("src", "href", "style", "action"))

    Reader().feed(html)
    assert links
    assert all(tag == "a" and name == "href" and value.startswith("#") for tag, name, value in links)
    assert "url(" not in html
    assert "@import" not in html


def test_strings_of_the_user_are_escaped(mixed):
    html = mixed[3].html
    page, script = html.split('<script type="application/json"')
    for markup in ("<script>alert", "<img", "<b>", "<i>", "</title><script>"):
        assert markup not in page
        assert markup not in script
    assert page.count("<script") == 0
    assert script.count("<script") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    data = data_of(html)
    assert data["responses"][0]["name"] == mixed[2].name
    assert {column["name"] for column in data["columns"].values()} == set(mixed[1].columns)
    assert data["labels"] == list(mixed[1].index)
