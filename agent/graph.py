"""LangGraph wiring, and nothing else: the one module that imports langgraph."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Protocol, cast, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime as LangGraphRuntime

import agent.budget
import agent.planner
import agent.question
import agent.state
import agent.synthesizer
import agent.types
import agent.verifier
import retrieval.types
import tools.regions
import tools.types
from agent.checkpoints import remove
from agent.nodes import NodeName, Runtime, run_node
from agent.state import AgentState
from retrieval.types import Frozen

_MODULES = (
    agent.budget,
    agent.planner,
    agent.question,
    agent.state,
    agent.synthesizer,
    agent.types,
    agent.verifier,
    retrieval.types,
    tools.regions,
    tools.types,
)


async def run_graph(checkpoints: Path, initial: AgentState, runtime: Runtime) -> AgentState:
    """Run a question to its end. A run id that was interrupted goes on after the last node that finished.

    The checkpoints stand in a file of their own, which the caller removes when the trace holds the end.
    """
    checkpoints.parent.mkdir(parents=True, exist_ok=True)
    begun = checkpoints.exists()
    async with _saver(checkpoints) as saver:
        graph = _graph().copy({"checkpointer": saver})
        config = RunnableConfig(configurable={"thread_id": initial["run_id"]}, recursion_limit=1000)
        goes_on = begun and bool((await graph.aget_state(config)).next)
        final = await graph.ainvoke(
            None if goes_on else initial,
            config,
            context=runtime,
            durability="sync",
        )
    return cast(AgentState, final)


async def interrupted_question(checkpoints: Path, run_id: str) -> AgentState | None:
    """The state in which a run was interrupted, None when it has no checkpoint or a damaged one, which is removed."""
    if not checkpoints.is_file():
        return None
    try:
        async with _saver(checkpoints) as saver:
            graph = _graph().copy({"checkpointer": saver})
            snapshot = await graph.aget_state({"configurable": {"thread_id": run_id}})
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise
        remove(checkpoints)
        return None
    return cast(AgentState, snapshot.values) if snapshot.values else None


@asynccontextmanager
async def _saver(checkpoints: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """The checkpoints of a run.

    A process that is killed loses nothing that it has written, so nothing is forced to the disk, which would take half
    as long as a question without its model. What goes with the power of the machine may be damaged, and starts again.
    """
    async with AsyncSqliteSaver.from_conn_string(str(checkpoints)) as saver:
        await saver.conn.execute("PRAGMA synchronous=OFF")
        saver.serde = _serializer()
        yield saver


@cache
def _serializer() -> JsonPlusSerializer:
    return JsonPlusSerializer(allowed_msgpack_modules=_contract())


@cache
def _graph() -> CompiledStateGraph[AgentState, Runtime, AgentState, AgentState]:
    """The graph, compiled once: a run takes a copy with checkpoints of its own."""
    return _wire().compile()


def _wire() -> StateGraph[AgentState, Runtime, AgentState, AgentState]:
    graph: StateGraph[AgentState, Runtime, AgentState, AgentState] = StateGraph(AgentState, context_schema=Runtime)
    for name in get_args(NodeName):
        graph.add_node(name, _node(name))
    graph.add_edge(START, "plan")
    graph.add_conditional_edges(
        "plan", lambda state: "decide" if state.get("stuck") else "execute", ["execute", "decide"]
    )
    graph.add_edge("execute", "synthesise")
    graph.add_edge("synthesise", "verify")
    graph.add_edge("verify", "decide")
    graph.add_conditional_edges(
        "decide", lambda state: "plan" if state["decision"].outcome == "replan" else END, ["plan", END]
    )
    return graph


class _Node(Protocol):
    async def __call__(self, state: AgentState, *, runtime: LangGraphRuntime[Runtime]) -> AgentState: ...


def _node(name: NodeName) -> _Node:
    async def node(state: AgentState, *, runtime: LangGraphRuntime[Runtime]) -> AgentState:
        return await run_node(name, state, runtime.context)

    return node


def _contract() -> list[tuple[str, ...]]:
    """The types that a checkpoint may hold: the frozen values of the contract, and no others."""
    found = {
        (value.__module__, value.__name__)
        for module in _MODULES
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Frozen)
    }
    return sorted(found)
