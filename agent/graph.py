"""LangGraph wiring, and nothing else: the one module that imports langgraph."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
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
    with _saver(checkpoints) as saver:
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
        with _saver(checkpoints) as saver:
            graph = _graph().copy({"checkpointer": saver})
            snapshot = await graph.aget_state({"configurable": {"thread_id": run_id}})
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise
        remove(checkpoints)
        return None
    return cast(AgentState, snapshot.values) if snapshot.values else None


class _Checkpoints(SqliteSaver):
    """Checkpoints that the event loop writes itself, which takes a twentieth of handing each write to a thread.

    A process that is killed loses nothing that it has written, so nothing is forced to the disk, which would take
    longer than all else in a question but its model. What a loss of power damages starts again.
    """

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Nothing: one node runs at a time, so the checkpoint that follows it at once holds all that it wrote."""


@contextmanager
def _saver(checkpoints: Path) -> Iterator[_Checkpoints]:
    """The checkpoints of a run; a file that SQLite can't use is a sqlite3.DatabaseError."""
    with closing(sqlite3.connect(checkpoints, check_same_thread=False)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        yield _Checkpoints(connection, serde=_serializer())


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
