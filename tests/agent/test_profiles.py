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
