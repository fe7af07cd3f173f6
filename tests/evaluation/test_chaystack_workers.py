"""What a profile's options open for the phases, with embedders of real architectures at tiny sizes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from small_haystack import Notes

from agent.settings import load_profile
from evaluation.chaystack.images import find_images
from evaluation.chaystack.workers import ProfileWorkers, phase_settings, worker_choice
from retrieval.collection import Collection
from retrieval.errors import InputError
from retrieval.settings import RetrievalSettings

sys.path.append(str(Path(__file__).parents[1] / "retrieval" / "embedders"))

EMBEDDED, ENDPOINT = load_profile("embedded", {}), load_profile("endpoint", {})


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    """An empty collection without vectors of text."""
    settings = RetrievalSettings.model_validate({"ingest": {"workers": 1}, "search": {"vectors": 0}})
    held = Collection(tmp_path / "collection", settings)
    yield held
    held.close()


def test_a_model_answers_directly_and_the_embedded_profile_asks_the_agent() -> None:
    nothing = {"embedder": None, "fuse": False, "generator": None, "tokens": 128}
    assert worker_choice(EMBEDDED, **nothing).generator == "agent"
    assert worker_choice(ENDPOINT, **nothing).generator == "direct"
    assert worker_choice(EMBEDDED, **{**nothing, "embedder": "some/model"}).by_text is False
    with pytest.raises(InputError, match="--fuse wants an embedder"):
        worker_choice(EMBEDDED, **{**nothing, "fuse": True})


def test_what_a_phase_is_recorded_with_is_what_its_results_depend_on() -> None:
    choice = worker_choice(ENDPOINT, embedder="some/model", fuse=False, generator=None, tokens=64)
    settings = phase_settings(ENDPOINT, choice, planned=False)
    assert settings["retrieve"]["embedder"]["model"] == "some/model"
    assert (settings["retrieve"]["text"], settings["retrieve"]["planner"]) == (None, None)
    assert settings["filter"]["model"] == settings["generate"]["model"]
    assert "api_key" not in settings["filter"]["model"]
    assert settings["generate"]["tokens"] == 64
    other = ENDPOINT.model_copy(update={"model": ENDPOINT.model.model_copy(update={"name": "other"})})
    assert phase_settings(other, choice, planned=False)["retrieve"] == settings["retrieve"]
    assert phase_settings(other, choice, planned=True)["retrieve"]["planner"]["name"] == "other"


@pytest.mark.local
@pytest.mark.slow
@pytest.mark.parametrize("family", ["colqwen2_5", "siglip"])
def test_an_embedder_ranks_the_images_and_finds_its_vectors_again(
    collection: Collection, tmp_path: Path, family: str
) -> None:
    from tiny_embedders import WRITERS, picture

    for number, name in enumerate(("a", "b", "c")):
        folder = tmp_path / "image" / ("camera" if name == "c" else "paper")
        folder.mkdir(parents=True, exist_ok=True)
        picture(64, 48, seed=number).save(folder / f"{name}.png")
    Image.new("RGB", (40, 40)).save(tmp_path / "image" / "paper" / "d.png")
    choice = worker_choice(
        EMBEDDED, embedder=str(WRITERS[family](tmp_path / family)), fuse=False, generator=None, tokens=128
    )
    notes: list[str] = []
    opener = ProfileWorkers(collection, EMBEDDED, find_images(tmp_path), choice, Notes(notes))
    with opener.workers.retrievers(("paper", "camera")) as (found,):
        assert found.name == "images"
        paper = found.retrieve("果园有多少棵树？", "paper", 9)
        everything = found.retrieve("果园有多少棵树？", None, 9)
    assert {hit.key for hit in paper} == {"paper/a", "paper/b", "paper/d"}
    assert [hit for hit in everything if hit.key != "camera/c"] == paper
    (stored,) = (collection.root / "page-vectors").iterdir()
    before = {path: path.stat().st_mtime_ns for path in stored.rglob("*") if path.is_file()}
    with opener.workers.retrievers(("paper", "camera")) as (again,):
        assert again.retrieve("果园有多少棵树？", None, 9) == everything
    assert {path: path.stat().st_mtime_ns for path in stored.rglob("*") if path.is_file()} == before
    with pytest.raises(RuntimeError, match="closed"):
        found.retrieve("果园有多少棵树？", None, 9)
    assert notes == []
