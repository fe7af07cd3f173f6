"""How well questions run at the same time, and what docsage adds to the time of the model.

    python benchmarks/concurrency.py [--questions 64] [--concurrency 16] [--latency 0.1] [--rounds 3]

A server in a process of its own answers every chat after `latency` seconds, as a model would that is asked over a
network: it plans, answers and verifies. The questions go through `app.batch.ask_file`, as those of `docsage ask
--questions` do, one by one and then at the same time, with the request cache off and on (and empty each time). Printed
are the ratio of the two times, the CPU time of this process, and what a question costs beside the model when they are
asked one by one:

- overhead: wall time, less model calls and tool calls as the trace has them. It is graph, checkpoints, budget, trace,
  prompts, parsing, choosing what the model is shown, writing the answer down: all but model, search, reading, locating;
- between nodes: the part of it that is graph, checkpoints and budget, and the trace around nodes;
- around the run: the part of it before a trace begins and after it ends, most of which is forcing the answer to disk.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pymupdf
from rich.console import Console
from rich.table import Table

WANTED_SHARE, WANTED_OVERHEAD = 1 / 12, 15.0
_ON_A_PAGE = 8
_FIRST = "Alder Birch Cedar Dogwood Elm Fir Gorse Hazel Iris Juniper Laurel Maple Nettle Oak Poplar Rowan".split()
_SECOND = "Bay Creek Dell Field Grove Hill Island Lake Moor Point Quay Ridge Shore Tor Vale Weir".split()
_COUNTED = re.compile(r"counted ([\d,]+) herring")


@dataclass(frozen=True)
class Measured:
    """One way through the questions: seconds of wall and CPU, and milliseconds a question."""

    wall: float
    cpu: float
    overhead: float
    between: float
    around: float
    tools: float
    model: float
    calls: float


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        _serve(float(sys.argv[2]))
        return
    options = _options()
    table = Table(
        "cache", "asked", "wall s", "CPU s", "CPU each", "overhead", "between nodes", "around", "tools", "model"
    )
    shares: list[float] = []
    overheads: list[float] = []
    with tempfile.TemporaryDirectory() as folder, _server(options.latency) as url:
        work = Path(folder)
        _prepare(work, options.questions)
        for cache in (False, True):
            for number in range(1, options.rounds + 1):
                serial = _measured(work, url, cache=cache, together=1)
                together = _measured(work, url, cache=cache, together=options.concurrency)
                shares.append(together.wall / serial.wall)
                overheads.append(serial.overhead)
                name = f"{'on' if cache else 'off'}, round {number}"
                per = (serial.overhead, serial.between, serial.around, serial.tools, serial.model)
                table.add_row(name, "one by one", *_cells(serial, options.questions), *(f"{ms:.1f} ms" for ms in per))
                cells = _cells(together, options.questions)
                table.add_row("", f"{options.concurrency} at a time", *cells, f"{shares[-1]:.4f}")
    console = Console(width=130)
    console.print(table)
    console.print(
        f"{options.questions} questions, {serial.calls:.1f} model calls each of {options.latency * 1000:.0f} ms; "
        f"times in ms are means a question, and in the rows below the share of the serial time;\n"
        f"load of the machine {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores"
    )
    console.print(
        f"of the serial time: best {min(shares):.4f}, median {statistics.median(shares):.4f}, wanted at most "
        f"{WANTED_SHARE:.4f}\noverhead of a question: best {min(overheads):.1f} ms, median "
        f"{statistics.median(overheads):.1f} ms, wanted at most {WANTED_OVERHEAD:.0f} ms"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=64, help="at most 256")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--latency", type=float, default=0.1, help="seconds that the server waits before each reply")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def _cells(measured: Measured, questions: int) -> tuple[str, ...]:
    return f"{measured.wall:.2f}", f"{measured.cpu:.2f}", f"{1000 * measured.cpu / questions:.1f} ms"


def _measured(work: Path, url: str, *, cache: bool, together: int) -> Measured:
    """Ask all questions over a fresh copy of the collection, so that nothing is cached, after one to warm up."""
    from agent.trace import find, load
    from app.batch import ask_file
    from app.session import opened

    root = Path(tempfile.mkdtemp(dir=work))
    collection = Path(shutil.copytree(work / "collection", root / "collection"))
    with opened(collection, profile=_profile(url, cache=cache, together=together)) as session:
        ask_file(session, work / "first.jsonl", root / "first.out.jsonl", paths=())
        out = root / "out.jsonl"
        wall, cpu = time.perf_counter(), time.process_time()
        report = ask_file(session, work / "questions.jsonl", out, paths=())
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    answers = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    gold = json.loads((work / "gold.json").read_text(encoding="utf-8"))
    wrong = [t["question"] for t in answers if t["answer"] != gold[t["question_id"]]]
    if wrong or len(answers) != len(gold):
        raise SystemExit(f"{report}; not answered as the document says: {wrong[:3]}")
    model = tools = inside = runs = 0.0
    for trajectory in answers:
        events = load(find(collection, trajectory["trace_id"]))
        model += sum(event.data["ms"] for event in events if event.kind == "model_call")
        tools += _covered([_span(event) for event in events if event.kind == "tool_call"])
        inside += 1000 * trajectory["usage"]["seconds"]
        runs += _at(events[-1]) - _at(events[0])
    share = 1 / len(answers)
    return Measured(
        wall=wall,
        cpu=cpu,
        overhead=(1000 * wall - model - tools) * share,
        between=(runs - inside) * share,
        around=(1000 * wall - runs) * share,
        tools=tools * share,
        model=model * share,
        calls=sum(t["usage"]["model_calls"] for t in answers) * share,
    )


def _span(event: Any) -> tuple[float, float]:
    """Begin and end of a call in ms; an event is written at its end."""
    end = _at(event)
    return end - event.data["ms"], end


def _at(event: Any) -> float:
    """When an event was written, in ms."""
    return 1000 * datetime.fromisoformat(event.ts).timestamp()


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of the calls ran: calls of one stage run at the same time."""
    total, last = 0.0, 0.0
    for begin, end in sorted(spans):
        total += max(end - max(begin, last), 0.0)
        last = max(last, end)
    return total


def _profile(url: str, *, cache: bool, together: int) -> Any:
    """The endpoint profile for the server; what the model can do is said, so that nothing is probed."""
    from agent.settings import load_profile

    profile = load_profile("endpoint", {})
    said = {"base_url": url, "name": "fake", "vision": False, "structured": "schema", "context": 32_768}
    model = profile.model.model_copy(update={**said, "cache": cache, "concurrency": together})
    return profile.model_copy(update={"model": model})


def _prepare(work: Path, count: int) -> None:
    """A document, a collection that has read and laid it out, a file of questions about it, and one to warm up."""
    from retrieval.collection import Collection
    from retrieval.types import PageRef

    names = [f"{first} {second}" for second in _SECOND for first in _FIRST]
    stations = [(name, f"{1211 + 37 * number:,}") for number, name in enumerate(names[:count])]
    path = work / "survey.pdf"
    document = pymupdf.open()
    for start in range(0, len(stations), _ON_A_PAGE):
        page = document.new_page()
        page.insert_text((72, 80), f"Survey of the northern stations, part {start // _ON_A_PAGE + 1}", fontsize=16)
        for row, (name, counted) in enumerate(stations[start : start + _ON_A_PAGE]):
            first = f"At {name} the crew counted {counted} herring in 2024, more than in the year"
            second = f"before. The nets were hauled on {row + 3} May, and the boat stayed overnight."
            page.insert_text((72, 120 + 60 * row), first, fontsize=11)
            page.insert_text((72, 135 + 60 * row), second, fontsize=11)
    document.save(path)
    collection = Collection(work / "collection")
    (doc_id,) = collection.read([path]).documents
    for number in range(1, document.page_count + 1):
        collection.laid_out(PageRef(doc_id=doc_id.doc_id, page=number))
    collection.close()
    asked = [{"id": n, "question": f"How many herring were counted at {n} in 2024?", "doc": str(path)} for n in names]
    asked = asked[: len(stations)]
    (work / "questions.jsonl").write_text("".join(json.dumps(item) + "\n" for item in asked), encoding="utf-8")
    first = {"question": f"Which boat stayed overnight at {names[0]}?", "doc": str(path)}
    (work / "first.jsonl").write_text(json.dumps(first), encoding="utf-8")
    (work / "gold.json").write_text(json.dumps(dict(stations)), encoding="utf-8")


def _reply(request: Any) -> str:
    """What the model says to a request, whose role is the name of its schema."""
    user = request.user
    station = re.search(r"counted at ([A-Z]\w+ [A-Z]\w+) in", user)
    role = request.body["response_format"]["json_schema"]["name"]
    name = station.group(1) if station else "Alder Bay"
    if role == "classify":
        return json.dumps({"task": "document_qa"})
    if role == "plan":
        step = {"tool": "page_retriever", "query": f"{name} herring 2024", "pages": [], "why": "the survey"}
        return json.dumps({"sub_questions": [], "steps": [step], "criteria": []})
    said = _COUNTED.search(user[max(user.find(f"At {name} the crew"), 0) :])
    counted = said.group(1) if said else ""
    if role == "verify":
        return json.dumps(
            {"quote": f"counted {counted} herring", "value": counted, "verdict": "supported", "missing": ""}
        )
    piece = re.search(rf"\[(S\d+)\] [^\n]*At {name} the crew", user)
    fact = {"text": f"At {name} {counted} herring were counted in 2024.", "sources": [piece.group(1)] if piece else []}
    return json.dumps({"facts": [fact], "sufficient": True, "answer": counted, "calculation": "", "missing": ""})


def _serve(latency: float) -> None:
    """Answer until standard input ends; the first line of the output is the address."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "agent"))
    from fake_server import FakeServer

    with FakeServer(_reply, latency=latency) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


@contextmanager
def _server(latency: float) -> Iterator[str]:
    """The address of a server that runs in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, __file__, "serve", str(latency)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main()
