"""How the agent does with a small model behind an endpoint, beside the model alone and beside the rules alone.

    python benchmarks/model_trial.py ask --mmlongbench DIR --reading DIR --work DIR --mode agent --out agent.jsonl
    python benchmarks/model_trial.py score agent.jsonl direct.jsonl embedded.jsonl

MODE is agent, direct, direct-rag or embedded; DOCSAGE_BASE_URL and DOCSAGE_MODEL name the model. 20 questions are every
twelfth of MMLongBench-Doc's samples (each over its own PDF), 20 are Chinese: ten each of cmrc_zh.json and
drcd_zh_hant.json in the SQuAD format, over PDFs of 40 paragraphs that are made in WORK. Settings are held fixed between
modes: --context, --evidence-tokens, --max-tokens, temperature 0, one replan. A run that is stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymupdf

from agent.build import build_agent, build_baseline
from agent.settings import Profile, load_profile
from agent.trace import load, trace_path
from agent.types import Trajectory
from evaluation.metrics.mmlongbench import score_answer
from evaluation.metrics.reading import match_answer
from evaluation.mmlongbench.samples import document_paths, load_samples
from evaluation.mmlongbench.short_answers import short_answer
from retrieval.collection import Collection
from retrieval.types import Scope

SETS = ("cmrc_zh", "drcd_zh_hant")
PARAGRAPHS = 40


@dataclass(frozen=True, slots=True)
class Item:
    """One question with its gold answer; `kind` is the answer format of MMLongBench-Doc, or "zh"."""

    id: str
    question: str
    path: Path
    gold: Any
    kind: str
    answerable: bool


def english(folder: Path) -> list[Item]:
    samples = load_samples(folder)[::12][:20]
    paths = document_paths(folder, samples)
    return [Item(f"mm-{s.id}", s.question, paths[s.document], s.answer, s.answer_format, s.answerable) for s in samples]


def chinese(folder: Path, work: Path) -> list[Item]:
    items = []
    for name in SETS:
        found = list(paragraphs_as_pdfs(folder / f"{name}.json", work, name))
        random.Random(4).shuffle(found)
        items += [Item(f"{name}-{n}", q, path, gold, "zh", bool(gold)) for n, (q, path, gold) in enumerate(found[:10])]
    return items


def paragraphs_as_pdfs(file: Path, work: Path, name: str) -> Iterator[tuple[str, Path, list[str]]]:
    """The questions of a set, each with the PDF of its paragraph and its answers."""
    work.mkdir(parents=True, exist_ok=True)
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    font = "china-t" if "hant" in name else "china-s"
    for number, first in enumerate(range(0, len(paragraphs), PARAGRAPHS)):
        path = work / f"{name}_{number}.pdf"
        chunk = paragraphs[first : first + PARAGRAPHS]
        if not path.exists():
            _print([paragraph["context"] for paragraph in chunk], path, font)
        for paragraph in chunk:
            for question in paragraph["qas"]:
                gold = [] if question.get("is_impossible") else [answer["text"] for answer in question["answers"]]
                yield question["question"], path, gold


def _print(texts: Sequence[str], path: Path, font: str) -> None:
    document = pymupdf.open()
    page, y = document.new_page(), 60.0
    for text in texts:
        need = len(text) * 11 / 470 * 15 + 30
        if y + need > 790:
            page, y = document.new_page(), 60.0
        bottom = min(y + need + 60, 820)
        left = page.insert_textbox((60, y, 535, bottom), text, fontsize=11, fontname=font, lineheight=1.2)
        if left < 0:
            page, y, bottom = document.new_page(), 60.0, 820
            left = page.insert_textbox((60, y, 535, bottom), text, fontsize=9, fontname=font, lineheight=1.1)
        y += bottom - y - max(left, 0) + 14
    document.save(path)


def profile_of(options: argparse.Namespace) -> Profile:
    if options.mode == "embedded":
        return load_profile("embedded", {})
    profile = load_profile("endpoint").model_dump()
    profile["model"] |= {
        "context": options.context,
        "evidence_tokens": options.evidence_tokens,
        "timeout": 600,
        "retries": 1,
        "concurrency": 1,
    }
    profile["model"]["decoding"] |= {"max_tokens": options.max_tokens}
    profile["agent"] |= {"replans": 1, "seconds": 1200}
    return Profile.model_validate(profile)


def ask(options: argparse.Namespace) -> None:
    profile = profile_of(options)
    items = [*english(options.mmlongbench), *chinese(options.reading, options.work)]
    done = {json.loads(line)["id"] for line in options.out.open()} if options.out.exists() else set()
    collection = Collection(options.collection or options.work / "collection", profile.retrieval)
    collection.read([item.path for item in items])
    baseline = options.mode.startswith("direct")
    agent: Any = build_baseline(collection, profile, options.mode) if baseline else build_agent(collection, profile)
    for item in items:
        if item.id in done:
            continue
        known = collection.store.known_file(item.path)
        if known is None:
            raise SystemExit(f"{item.path} can't be read")
        begin = time.perf_counter()
        row = {"id": item.id, "question": item.question, "gold": item.gold, "kind": item.kind}
        row |= {"answerable": item.answerable, "error": None, "trajectory": None, "drafts": []}
        try:
            trajectory = agent.ask(item.question, Scope(doc_ids=(known.doc_id,)))
            row["trajectory"] = json.loads(trajectory.model_dump_json(by_alias=True))
            events = load(trace_path(collection.root, trajectory.trace_id))
            row["drafts"] = [event.data["origin"] for event in events if event.kind == "facts"]
        except Exception as error:
            # What ends in an error is what this is to find out.
            row["error"] = f"{type(error).__name__}: {error}"
        row["seconds"] = time.perf_counter() - begin
        with options.out.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
        said = row["error"] or (row["trajectory"] or {}).get("answer")
        print(item.id, f"{row['seconds']:.0f} s", repr(said), "| gold", repr(item.gold), flush=True)


def score(files: Sequence[Path]) -> None:
    for file in files:
        rows = [json.loads(line) for line in file.open(encoding="utf-8")]
        runs = [(row, Trajectory.model_validate(row["trajectory"])) for row in rows if row["trajectory"]]
        english_scores = [
            score_answer(row["gold"], short_answer(run), row["kind"]) for row, run in runs if row["kind"] != "zh"
        ]
        matches = [match_answer(run.answer or "", row["gold"], "cmrc") for row, run in runs if row["kind"] == "zh"]
        support = [run.report.support_rate for _, run in runs if run.report.support_rate is not None]
        plans = Counter(run.plan.origin.split(":")[0] for _, run in runs)
        drafts = Counter(origin.split(":")[0] for row in rows for origin in row["drafts"])
        declined = [run.abstained for row, run in runs if not row["answerable"]]
        ends = Counter(run.stop_reason for _, run in runs)
        lines = {
            "questions, errors": f"{len(rows)}, {len(rows) - len(runs)}",
            "ended": dict(ends),
            "English accuracy": _mean(english_scores),
            "unanswerable declined": f"{sum(declined)} of {len(declined)}",
            "Chinese F1, EM": f"{_mean([m.f1 for m in matches])}, {_mean([float(m.exact) for m in matches])}",
            "support rate": _mean(support),
            "plans": dict(plans),
            "drafts": dict(drafts),
            "calls, tokens a question": f"{_mean([run.usage.model_calls for _, run in runs], 1)}, "
            f"{_mean([run.usage.tokens_in + run.usage.tokens_out for _, run in runs], 0)}",
            "median seconds": f"{statistics.median(row['seconds'] for row in rows):.1f}",
        }
        print(file.name)
        for name, value in lines.items():
            print(f"  {name}: {value}")


def _mean(values: Sequence[float], digits: int = 3) -> str:
    return f"{statistics.mean(values):.{digits}f}" if values else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    asking = commands.add_parser("ask")
    asking.add_argument("--mmlongbench", type=Path, required=True)
    asking.add_argument("--reading", type=Path, required=True)
    asking.add_argument("--work", type=Path, required=True)
    asking.add_argument("--collection", type=Path, help="one that has read these documents; else in WORK")
    asking.add_argument("--mode", choices=("agent", "direct", "direct-rag", "embedded"), required=True)
    asking.add_argument("--out", type=Path, required=True)
    asking.add_argument("--context", type=int, default=4096)
    asking.add_argument("--evidence-tokens", type=int, default=2000)
    asking.add_argument("--max-tokens", type=int, default=512)
    scoring = commands.add_parser("score")
    scoring.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "ask":
        ask(options)
    else:
        score(options.files)


if __name__ == "__main__":
    main()
