"""People with browsers, as far as a server can tell."""

import re


class Person:
    """Somebody with a browser: cookies are kept, forms are sent from the page itself."""

    def __init__(self, service, token=None):
        self.url = service.url
        self.client = service.client(None)
        self.client.headers["Accept"] = "text/html"
        if token is not None:
            assert self.sign_in(token).status_code == 303

    def get(self, path):
        return self.client.get(path)

    def post(self, path, origin=None, **fields):
        return self.client.post(path, data=fields, headers={"Origin": self.url if origin is None else origin})

    def sign_in(self, token, **fields):
        return self.post("/signin", token=token, **fields)

    @property
    def csrf(self):
        found = re.search(r'name="csrf" value="(\w+)"', self.get("/").text)
        assert found
        return found[1]

    @property
    def is_signed_in(self):
        return "Sign out" in self.get("/").text
