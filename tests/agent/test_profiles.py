"""Profiles: shipped ones by name, own ones from files, typing errors refused with the valid choices."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.budget import Budget
from agent.settings import AgentSettings, Profile, load_profile
from retrieval.errors import InputError


def test_the_embedded_profile_is_the_defaults() -> None:
    assert load_profile() == Profile()


def test_the_caps_of_the_tasks_are_those_of_the_paper() -> None:
    settings = AgentSettings()
    tasks = ("ocr", "translation", "reasoning_qa", "knowledge_qa", "linguistic_qa", "document_qa")
    assert [Budget.of(settings, task).tool_calls for task in tasks] == [3, 5, 5, 7, 6, 12]


def test_a_file_changes_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nagent: {replans: 5}\nretrieval: {search: {vectors: 0}}\n", encoding="utf-8")
    profile = load_profile(str(path))
    assert (profile.agent.replans, profile.retrieval.search.vectors) == (5, 0)
    assert profile.agent.verifications == AgentSettings().verifications


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("agent: {replan: 5}", "replans"),
        ("agnet: {}", "retrieval, agent"),
        ("agent: {tasks: {ocr: {tool_call: 1, support: 0.5}}}", "tool_calls, support"),
        ("agent: {granularity: page}", "'block' or 'focus'"),
        ("agent: [", "YAML"),
        ("- a", "list"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_valid(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=told):
        load_profile(str(path))


def test_an_unknown_name_lists_the_shipped_profiles() -> None:
    with pytest.raises(InputError, match="embedded"):
        load_profile("embeded")


def test_a_tentative_bound_above_the_firm_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text("agent: {tasks: {document_qa: {tool_calls: 12, support: 0.3, tentative: 0.6}}}", encoding="utf-8")
    with pytest.raises(InputError, match=r"tentative \(0\.6\) is above support \(0\.3\)"):
        load_profile(str(path))


ENVIRONMENT = {"DOCSAGE_BASE_URL": "http://127.0.0.1:8000/v1", "DOCSAGE_API_KEY": "sk-1", "DOCSAGE_MODEL": "qwen"}


def test_a_server_in_the_environment_makes_endpoint_the_default() -> None:
    profile = load_profile(None, ENVIRONMENT)
    assert profile.name == "endpoint"
    model = profile.model
    assert (model.base_url, model.api_key, model.name) == tuple(ENVIRONMENT.values())
    assert load_profile(None, {**ENVIRONMENT, "DOCSAGE_BASE_URL": " "}).name == "embedded"
    assert load_profile("embedded", ENVIRONMENT) == Profile()
    assert load_profile("local", ENVIRONMENT).model.model_dump(include={"name", "base_url", "api_key"}) == {
        "name": "qwen",
        "base_url": "",
        "api_key": "",
    }


def test_what_a_file_says_of_a_model_goes_before_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("model: {kind: endpoint, name: llama, base_url: 'http://127.0.0.1:9/v1'}", encoding="utf-8")
    model = load_profile(str(path), ENVIRONMENT).model
    assert (model.name, model.base_url, model.api_key) == ("llama", "http://127.0.0.1:9/v1", "sk-1")


def test_a_script_is_sought_beside_its_profile(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("model: {kind: scripted, script: replies.yaml}", encoding="utf-8")
    assert load_profile(str(path), {}).model.script == str(tmp_path / "replies.yaml")
    path.write_text("model: {kind: scripted, script: /somewhere/replies.yaml}", encoding="utf-8")
    assert load_profile(str(path), {}).model.script == "/somewhere/replies.yaml"


def test_no_secret_is_recorded_or_shown() -> None:
    url = "https://user:pa55@llm.example:8443/v1?token=t0ken#part"
    profile = load_profile(None, {**ENVIRONMENT, "DOCSAGE_BASE_URL": url})
    recorded = profile.recorded()["model"]
    assert recorded["base_url"] == "https://llm.example:8443/v1"
    assert "api_key" not in recorded
    assert "sk-1" not in repr(profile)


@pytest.mark.parametrize("url", ["http://user:pa55@[bad", "http://127.0.0.1:port/v1", "http://127.0.0.1:99999/v1"])
def test_a_url_that_is_none_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InputError, match="DOCSAGE_BASE_URL") as refused:
        load_profile(None, {"DOCSAGE_BASE_URL": url})
    assert "pa55" not in str(refused.value)


def test_a_page_image_embedder_comes_from_the_environment_unless_the_file_names_one(tmp_path: Path) -> None:
    environment = {"DOCSAGE_EMBEDDER": "vidore/colqwen2.5-v0.2"}
    assert load_profile("embedded", environment).retrieval.images.embedder.model == "vidore/colqwen2.5-v0.2"
    path = tmp_path / "mine.yaml"
    path.write_text("retrieval: {images: {embedder: {model: /models/siglip, max_pixels: 500000}}}", encoding="utf-8")
    found = load_profile(str(path), environment).retrieval.images.embedder
    assert (found.model, found.max_pixels) == ("/models/siglip", 500_000)
