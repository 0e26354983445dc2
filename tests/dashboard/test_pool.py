"""The page *Pool* for organisers: a form before anything is judged, then files, costs and progress."""

import re

from tests.waiting import over
from tests.world.campaigns import QRELS, RUN, WORSE, Campaign
from tests.world.people import Person
from tests.world.servers import ADMIN


def test_a_pool_is_made_by_the_form_downloaded_and_its_judging_followed(shared):
    campaign = Campaign(shared, name="web")
    campaign.submit(RUN, name="first")
    campaign.submit(WORSE, team="otter", name="second")
    person = Person(shared, ADMIN)
    before = person.get("/c/web/pool").text
    assert "There is no pool yet" in before
    fields = dict.fromkeys(re.findall(r'name="(\w+)"', before.split("Make a pool")[1]), "")
    asked = {"csrf": person.csrf, "depth": "1", "order": "document", "seed": "0", "depths": "1, 2"}
    answer = person.post("/c/web/analyses/job/pool", **fields | asked)
    assert answer.status_code == 303, answer.text
    job = answer.headers["location"].removeprefix("/jobs/")
    done = over(shared.organiser, f"/v1/jobs/{job}")
    assert (done["state"], done["params"]["depth"], done["params"]["depths"]) == ("succeeded", 1, [1, 2])
    page = person.get("/c/web/pool").text
    assert "3 documents of 2 topics are in the pool of depth 1 in the order document" in page
    assert "There are no judgments yet" in page
    texts = {form: person.get(f"/c/web/pools/{job}.{form}") for form in ("txt", "ntcir", "csv")}
    assert texts["txt"].text == "1 bad\n1 good\n2 bad\n"
    assert texts["ntcir"].text.splitlines()[1] == "1 good 2"
    assert texts["csv"].text.splitlines()[0] == "topic,document,place"
    assert f'filename="web-pool-{job[:12]}.txt"' in texts["txt"].headers["content-disposition"]
    campaign.put_qrels(QRELS)
    campaign.put_qrels("2 0 bad 2\n", judgments="second")
    judged = re.sub(r"\s*<[^>]*>\s*", " ", person.get(f"/c/web/pool?job={job}").text)
    assert "official 1 2 67 % 1 of 2 L2: 1, L0: 1" in re.sub(" +", " ", judged)
    assert "second 1 1 33 % 1 of 2 L2: 1" in re.sub(" +", " ", judged)
    participant = Person(shared, campaign.token("participant", "lemur"))
    campaign.release()
    seen = participant.get("/c/web/pool")
    assert (seen.status_code, "Make a pool" in seen.text, job[:12] in seen.text) == (200, False, False)
    assert participant.get(f"/c/web/pools/{job}.txt").status_code == 404
    assert participant.get(f"/c/web/pool?job={job}").text == seen.text
