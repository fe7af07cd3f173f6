"""Whether cited regions hold what was answered, over pages that are really read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted_trajectory import trajectory

from agent.types import Fact, Trajectory
from evaluation.metrics.grounding import Grounding, grounding_of, grounding_scores, holds
from retrieval.collection import Collection
from retrieval.settings import RetrievalSettings
from retrieval.types import BBox, PageRef, Scope
from tools.types import Evidence, Region

TOP, BOTTOM = BBox(x1=0, y1=0, x2=1, y2=0.5), BBox(x1=0, y1=0.5, x2=1, y2=1)
PAGE = "Orchard survey\nThe orchard holds 1,312 apple trees.\nThe harvest of 2024 came to 18.4 t, that of 2023 to 15.9."


@pytest.fixture
def collection(tmp_path: Path, make_pdf: Callable[..., Path]) -> Iterator[Collection]:
    """One page whose text stands in its upper half."""
    settings = RetrievalSettings.model_validate({"ingest": {"workers": 1}, "search": {"vectors": 0}})
    held = Collection(tmp_path / "collection", settings)
    held.read([make_pdf("orchard.pdf", [PAGE])])
    yield held
    held.close()


def _answered(
    collection: Collection, answer: str, *boxes: BBox, answer_type: str = "number", calculated: str = ""
) -> Trajectory:
    scope = Scope(doc_ids=(collection.documents()[0].doc_id,))
    ref = PageRef(doc_id=scope.doc_ids[0], page=1)
    evidence = Evidence(
        id="c", kind="calculation", text=calculated, region=None, origin="calculator", match_basis="", score=1
    )
    return trajectory("q", answer, scope=scope, answer_type=answer_type).model_copy(
        update={
            "regions": tuple(Region(page_ref=ref, block=box) for box in boxes),
            "evidence": (evidence,) if calculated else (),
        }
    )


def _grounding(
    collection: Collection, answer: str, *boxes: BBox, answer_type: str = "number", calculated: str = ""
) -> Grounding:
    said = _answered(collection, answer, *boxes, answer_type=answer_type, calculated=calculated)
    return grounding_of(said, collection.store.page)


def test_the_answer_must_stand_in_a_region_not_only_on_its_page(collection: Collection) -> None:
    found = _grounding(collection, "1312 trees", TOP)
    assert (found.held, found.areas) == (True, (0.5,))
    assert _grounding(collection, "1312 trees", BOTTOM).held is False
    assert _grounding(collection, "1312 trees", BOTTOM, TOP).held is True
    assert _grounding(collection, "1312 trees").held is False
    assert _grounding(collection, "312", TOP).held is False


def test_every_operand_of_a_calculated_answer_must_stand_there(collection: Collection) -> None:
    assert _grounding(collection, "2.5", TOP, calculated="18.4 - 15.9 = 2.5").held is True
    assert _grounding(collection, "2.5", TOP, calculated="18.4 - 14.9 = 3.5").held is False
    assert _grounding(collection, "18.4", TOP, calculated="18.4 - 0 = 18.4").held is True
    growth = "(18.4 - 15.9) / 15.9 * 100 = 15.7232704403"
    assert _grounding(collection, "15.72%", TOP, calculated=growth).held is True
    assert _grounding(collection, "15.72%", BOTTOM, calculated=growth).held is False


def test_a_count_is_held_by_the_things_counted(collection: Collection) -> None:
    said = _answered(collection, "2", BOTTOM, TOP, answer_type="count")
    regions = said.regions
    harvests = ("The harvest of 2024 came to 18.4 t", "that of 2023 to 15.9")
    evidence = tuple(
        Evidence(id=text, kind="sentence", text=text, region=regions[1], origin="o", match_basis="", score=1)
        for text in harvests
    )
    facts = tuple(Fact(id=e.id, text=e.text, region=regions[1], evidence_ids=(e.id,)) for e in evidence)
    counted = said.model_copy(update={"evidence": evidence, "facts": facts})
    assert grounding_of(counted, collection.store.page).held is True
    # one of two things cited, and cited where it doesn't stand
    assert grounding_of(counted.model_copy(update={"facts": facts[:1]}), collection.store.page).held is False
    assert grounding_of(counted.model_copy(update={"regions": regions[:1]}), collection.store.page).held is False


def test_every_item_of_a_list_must_stand_there(collection: Collection) -> None:
    assert _grounding(collection, "apple trees; orchard", TOP, answer_type="list").held is True
    assert _grounding(collection, "apple trees; pear trees", TOP, answer_type="list").held is False


def test_yes_and_no_stand_nowhere_and_lost_pages_cant_be_read(collection: Collection) -> None:
    assert _grounding(collection, "yes", TOP, answer_type="yes_no").held is None
    lost = grounding_of(_answered(collection, "1312", TOP), lambda ref: None)
    assert (lost.held, lost.focus_held, lost.areas) == (None, None, (0.5,))


def test_the_lines_inside_a_block_are_judged_for_themselves(collection: Collection) -> None:
    said = _answered(collection, "1312 trees", TOP)
    (region,) = said.regions
    title = BBox(x1=0, y1=0, x2=1, y2=0.1)
    focused = said.model_copy(update={"regions": (region.model_copy(update={"focus": title}),)})
    found = grounding_of(focused, collection.store.page)
    assert (found.held, found.focus_held) == (True, False)
    assert (found.areas, found.focus_areas) == ((0.5,), (0.1,))


def test_a_block_that_is_cited_twice_counts_once(collection: Collection) -> None:
    assert _grounding(collection, "1312 trees", TOP, TOP).areas == (0.5,)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("Total debt 7,491", "$7,491 million", True),
        ("Total debt 7491", "7,491", True),
        ("Total debt 17,491", "7,491", False),
        ("reached 12.5 m", "12", False),
        ("共有苹果树三百一十二棵", "312", True),
        ("由馬立德主持種植", "马立德", True),
        ("ＡＢＣ 公司", "abc 公司", True),
        ("by Edith\nMarlow", "Edith Marlow.", True),
        ("a Marlowe", "Marlow", False),
        ("at Pier 45", "Pier 45", True),
        ("45 boats", "Pier 45", False),
        ("anything", "…", False),
    ],
)
def test_a_text_holds_a_value_in_another_spelling(text: str, value: str, expected: bool) -> None:
    assert holds(text, value) is expected


def test_scores_leave_out_what_the_rule_cant_tell() -> None:
    items = [
        Grounding(held=True, areas=(0.1, 0.3)),
        Grounding(held=False, areas=()),
        Grounding(held=None, areas=(0.2,)),
    ]
    scores = grounding_scores(items)
    assert (scores["held"].value, scores["held"].n, scores["held"].missing) == (0.5, 2, 1)
    assert scores["median_area"].value == pytest.approx(0.2)
    assert {score.value for score in grounding_scores([]).values()} == {None}
