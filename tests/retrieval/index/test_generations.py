"""What the index of page vectors survives and what it refuses: kills, other models, damage, pickles."""

import json
import os
import pickle
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from vector_pages import card, random_pages, random_query, unit

from retrieval.errors import InputError
from retrieval.index.image_vectors import ImageVectors
from retrieval.settings import ImageIndexSettings

EXACT = ImageIndexSettings(candidates=0)
WRITER = """
import os, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
from pathlib import Path
from vector_pages import card, random_pages
from retrieval.index.image_vectors import ImageVectors
from retrieval.settings import ImageIndexSettings

left = int(sys.argv[4])

def dying(call):
    def step(*arguments, **keywords):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return call(*arguments, **keywords)
    return step

index = ImageVectors(Path(sys.argv[3]), card(), ImageIndexSettings(candidates=0, storage="int8"))
for name in ("fsync", "replace", "open", "rmdir", "mkdir"):
    setattr(os, name, dying(getattr(os, name)))
getattr(index, sys.argv[5])(*{"add": [random_pages(8, seed=1)], "remove": [["p1", "p7"]], "compact": []}[sys.argv[5]])
"""


@pytest.fixture
def folder(tmp_path):
    """An index of 12 pages in three segments, one page of them removed."""
    index = ImageVectors(tmp_path / "images", card(), ImageIndexSettings(candidates=0, storage="int8"))
    pages = random_pages(12)
    for start in range(0, 12, 4):
        index.add(pages[start : start + 4])
    index.remove(["p2"])
    return tmp_path / "images"


def opened(folder, storage="int8"):
    return ImageVectors(folder, card(), ImageIndexSettings(candidates=0, storage=storage))


@pytest.mark.slow
@pytest.mark.parametrize("deed", ["add", "remove", "compact"])
def test_a_write_that_is_killed_leaves_the_old_or_the_new_generation(folder, deed, tmp_path):
    query = random_query()
    before = opened(folder).search(query, 30)
    seen = []
    for point in range(60):
        trial = tmp_path / f"{deed}{point}"
        subprocess.run(["cp", "-r", str(folder), str(trial)], check=True)
        here = Path(__file__).parent
        root = here.parents[2]
        command = [sys.executable, "-c", WRITER, str(root), str(here), str(trial), str(point), deed]
        code = subprocess.run(command, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}).returncode
        found = opened(trial).search(query, 30)
        seen.append(found)
        opened(trial).add([("late", query)])
        named = {s["name"] for s in json.loads((trial / "manifest.json").read_text())["segments"]}
        assert {p.name for p in (trial / "segments").iterdir()} == named
        assert not (trial / "manifest.json.new").exists()
        assert opened(trial).search(query, 1)[0].key == "late"
        if code == 0:
            break
        assert code == 9
    after = seen[-1]
    assert len(seen) > 3
    assert all(found in (before, after) for found in seen)
    assert seen[0] == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "other"}, "model is 'tiny', not 'other'"),
        ({"revision": "b2"}, "revision is 'a1', not 'b2'"),
        ({"preprocessing": "big"}, "preprocessing is '768 tiles', not 'big'"),
        ({"dimension": 64}, "dimension is 32, not 64"),
        ({"multi": False}, "multi is True, not False"),
    ],
)
def test_vectors_of_another_model_are_refused_with_the_difference_and_the_remedy(folder, changes, said):
    with pytest.raises(InputError) as caught:
        ImageVectors(folder, card(**changes), ImageIndexSettings(candidates=0, storage="int8"))
    assert said in str(caught.value)
    assert "name the model tiny" in str(caught.value)
    assert "index the pages again" in str(caught.value)


def test_other_storage_and_pooling_are_refused_and_other_candidates_are_not(folder):
    for settings in (ImageIndexSettings(), ImageIndexSettings(storage="int8", pooling=3)):
        with pytest.raises(InputError, match="set storage to int8 and pooling to 1"):
            ImageVectors(folder, card(), settings)
    other = ImageIndexSettings(storage="int8", approximation="encodings", candidates=7)
    assert len(ImageVectors(folder, card(), other).keys()) == 11


@pytest.mark.parametrize("name", ["keys.json", "offsets.bin", "tokens.bin", "scales.bin"])
@pytest.mark.parametrize("harm", ["shorter", "longer", "missing"])
def test_a_damaged_file_is_named_with_the_remedy(folder, name, harm):
    path = sorted(folder.rglob(name))[0]
    content = path.read_bytes()
    path.unlink()
    if harm != "missing":
        path.write_bytes(content[:-1] if harm == "shorter" else content + b"\0")
    with pytest.raises(InputError) as caught:
        opened(folder)
    assert str(path) in str(caught.value)
    assert "index the pages again" in str(caught.value)


@pytest.mark.parametrize("name", ["keys.json", "offsets.bin"])
def test_changed_content_of_the_same_size_is_refused(folder, name):
    path = sorted(folder.rglob(name))[0]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"its content has changed"):
        opened(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}', "\xff\xfe"])
def test_a_damaged_manifest_is_refused(folder, text):
    (folder / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"manifest\.json is damaged"):
        opened(folder)


def test_a_manifest_of_a_later_format_is_refused_as_such(folder):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    with pytest.raises(InputError, match="format 2, this docsage reads 1"):
        opened(folder)


def test_a_manifest_cannot_point_outside_its_folder(folder):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["segments"][0]["name"] = "../../elsewhere"
    path.write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="damaged"):
        opened(folder)


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("name", ["tokens.bin", "pooled.bin", "keys.json"])
@pytest.mark.parametrize("same_size", [True, False])
def test_a_planted_pickle_is_never_run(folder, tmp_path, name, same_size):
    path, mark = sorted(folder.rglob(name))[0], tmp_path / "mark"
    size, planted = path.stat().st_size, pickle.dumps(Trap(mark))
    path.write_bytes(planted.ljust(size, b".")[:size] if same_size else planted)
    refused = (
        nullcontext() if name == "pooled.bin" or (same_size and name == "tokens.bin") else pytest.raises(InputError)
    )
    with refused as caught:
        opened(folder).search(random_query(), 3)
    assert caught is None or str(path) in str(caught.value)
    assert not mark.exists()


@pytest.mark.parametrize("harm", ["garbage", "other", "missing"])
def test_a_structure_that_is_not_as_it_was_written_is_built_again(tmp_path, harm):
    vectors = unit(np.random.default_rng(6).standard_normal((2500, 16)))
    single, settings = card(multi=False, dimension=16), ImageIndexSettings(kind="hnsw")
    ImageVectors(tmp_path, single, settings).add((f"p{i}", vectors[i : i + 1]) for i in range(2500))
    path = next(tmp_path.rglob("nearest.faiss"))
    content = path.read_bytes()
    path.unlink()
    if harm == "garbage":
        path.write_bytes(b"IHNf" + b"\xff" * (len(content) - 4))
    elif harm == "other":
        path.write_bytes(content[:-4] + b"\x01\x02\x03\x04")
    assert ImageVectors(tmp_path, single, settings).search(vectors[77:78], 1)[0].key == "p77"


def test_derived_vectors_that_are_missing_are_made_again(tmp_path):
    pages = random_pages(1100)
    settings = ImageIndexSettings(candidates=50)
    index = ImageVectors(tmp_path, card(), settings)
    index.add(pages)
    query = pages[500][1]
    expected = index.search(query, 5)
    index.close()
    next(tmp_path.rglob("pooled.bin")).unlink()
    again = ImageVectors(tmp_path, card(), settings)
    assert again.search(query, 5)[0] == expected[0]


def test_a_folder_that_cannot_be_written_is_still_searched(folder, monkeypatch):
    if os.geteuid() == 0:
        monkeypatch.setattr(Path, "mkdir", _refused)
    else:
        folder.chmod(0o500)
    index = opened(folder)
    assert len(index.search(random_query(), 3)) == 3
    with pytest.raises(InputError, match="can't be written"):
        index.remove(["p1"])
    folder.chmod(0o700)


def _refused(path, *arguments, **keywords):
    raise PermissionError(13, "Permission denied", str(path))
