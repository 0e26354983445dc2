"""Public boards on pages of other origins, in a real browser."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import expect

from tests.world.campaigns import judged, run_text


@contextmanager
def other_origin(html):
    """Serves one page, of an origin of its own. Yields its address."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_):
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


SCRIPT = """<!doctype html><title>Elsewhere</title><ol></ol><p></p><script type="module">
const read = async (path) => (await fetch("%s/v1/collections/" + path)).json();
const board = await read("demo-small/leaderboard?metric=AP&top=3");
document.querySelector("ol").append(...board.rows.map((row) => Object.assign(document.createElement("li"),
  { textContent: `${row.rank} ${row.name} ${row.groups.join("")}` })));
document.querySelector("p").textContent = (await read("demo-small/leaderboard?metric=nonsense")).type;
</script>"""


def test_a_script_of_another_origin_shows_a_public_board(open_page, demo_service):
    query = {"metric": "AP", "top": "3"}
    board = demo_service.anonymous.get("/v1/collections/demo-small/leaderboard", params=query).json()
    watched = open_page(demo_service)
    with other_origin(SCRIPT % demo_service.url) as address:
        watched.page.goto(address)
        expect(watched.page.locator("li")).to_have_text(
            [f"{row['rank']} {row['name']} {''.join(row['groups'])}" for row in board["rows"]]
        )
        expect(watched.page.locator("p")).to_have_text("/problems/bad-expression")  # refusals are read, too


def test_a_framed_board_follows_the_runs(open_page, shared):
    campaign = judged(shared)
    campaign.change(policy={"phase": "released", "late": "open"}, public=True)
    watched = open_page(shared)
    frame = f'<iframe src="{shared.url}/embed/c/{campaign.name}?metric=AP&refresh=5" width="900" height="600"></iframe>'
    with other_origin(frame) as address:
        watched.page.goto(address)
        rows = watched.page.frame_locator("iframe").locator("table.board tbody tr")
        before = len(campaign.get("/leaderboard", metric="AP").json()["rows"])
        expect(rows).to_have_count(before)
        campaign.submit(run_text({"1": ["d1"], "2": ["d1"]}, "later"), team="own")
        expect(rows).to_have_count(before + 1)
    assert watched.errors == []


def test_no_other_site_frames_anything_but_what_is_made_for_it(browser_page):
    with other_origin(f'<iframe src="{browser_page.url}/c/demo-small" width="900" height="500"></iframe>') as address:
        browser_page.page.goto(address)
        assert browser_page.page.frame_locator("iframe").locator("tbody tr").count() == 0
    assert any("frame-ancestors" in error for error in browser_page.errors)
