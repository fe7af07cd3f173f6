"""How near a text is to a reference: chrF++ and BERTScore, on a scale from 0 to 1.

chrF++ (Popović, 2017) is sacrebleu's `CHRF(word_order=2)`: the F score (beta 2) of the mean precision and recall over
character 1- to 6-grams and word 1- and 2-grams, white space dropped. sacrebleu finds words at white space and takes
off ASCII punctuation only, so a Chinese sentence is one single word: its word unigram matches when both texts are
equal, and where no text has a space the bigrams don't count. The score of a Chinese text is thus about 6/7 of its chrF.
Nothing is segmented here: what is known of AncientDoc and SAGE mentions no segmenter, so the plain call is likeliest.

Neither paper says whether it averages over the corpus or over samples. `chrf_corpus` pools the n-grams of all samples,
which is sacrebleu's own score and the usual meaning of "chrF++"; `chrf_sentence` is that of one sample, for the mean.

BERTScore (Zhang et al., 2020) is bert-score's F1, without idf and without a baseline to rescale by. Of a
text that is longer than the encoder takes (512 tokens, about as many Chinese characters) only the beginning counts.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from retrieval.errors import InputError

if TYPE_CHECKING:
    from sacrebleu.metrics.chrf import CHRF

_USED_LAYERS = 2 / 3
"""Where bert-score's own table has no entry: it takes layer 8 of 12 for bert-base-chinese, 17 of 24 for the large."""
_TOKENS = 512
"""What a BERT-like encoder takes when it doesn't say."""


def chrf_sentence(prediction: str, reference: str) -> float:
    """chrF++ of one text; an empty prediction scores 0."""
    return float(_chrf().sentence_score(prediction, [reference]).score) / 100


def chrf_corpus(predictions: Sequence[str], references: Sequence[str]) -> float:
    """chrF++ of all texts together (at least one); an empty prediction costs recall."""
    return float(_chrf().corpus_score(list(predictions), [list(references)]).score) / 100


def chrf_signature() -> str:
    """sacrebleu's description of the score, for those who want to repeat it."""
    metric = _chrf()
    metric.sentence_score("-", ["-"])  # the number of references is known once something was scored
    return str(metric.get_signature())


def _chrf() -> CHRF:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(word_order=2)


class Similarity(Protocol):
    """What compares the meaning of texts."""

    @property
    def name(self) -> str:
        """The model, and what else the values depend on."""

    def f1(self, predictions: Sequence[str], references: Sequence[str]) -> list[float]:
        """One value a pair; an empty prediction scores 0."""


class BertScore:
    """BERTScore F1 with an encoder in a local folder; nothing is downloaded. It is loaded at the first use.

    `layers` is the layer whose vectors are compared; by default the one that bert-score chose for a model of the
    folder's name, else the one at two thirds. InputError when the folder holds no model, or not so many layers.
    """

    def __init__(self, folder: Path, *, layers: int | None = None, batch_size: int = 16) -> None:
        self.folder = folder
        self._batch_size = batch_size
        self._wanted = layers
        self._config = _config(folder)
        if layers is not None and not 1 <= layers <= self._config.layers:
            raise InputError(
                f"the model in {folder} has no layer {layers}",
                remedy=f"--bertscore-layers is 1 to {self._config.layers}",
            )

    @cached_property
    def layers(self) -> int:
        """The layer in use."""
        if self._wanted is not None:
            return self._wanted
        from bert_score.utils import model2layers

        known = {name.rsplit("/", 1)[-1]: layer for name, layer in model2layers.items()}
        depth = self._config.layers
        return min(int(known.get(self.folder.resolve().name, max(1, round(depth * _USED_LAYERS)))), depth)

    @property
    def name(self) -> str:
        """The folder's name and the layer."""
        return f"{self.folder.resolve().name}, layer {self.layers} of {self._config.layers}"

    def f1(self, predictions: Sequence[str], references: Sequence[str]) -> list[float]:
        """F1 by pair, in order. Empty texts aren't shown to the model, and score 0."""
        pairs = list(zip(predictions, references, strict=True))
        written = [place for place, (said, gold) in enumerate(pairs) if said.strip() and gold.strip()]
        scores = [0.0] * len(pairs)
        if written:
            _, _, f1 = self._scorer.score([pairs[i][0] for i in written], [pairs[i][1] for i in written])
            for place, value in zip(written, f1.tolist(), strict=True):
                scores[place] = float(value)
        return scores

    @cached_property
    def _scorer(self) -> Any:
        from bert_score import BERTScorer

        try:
            scorer = BERTScorer(
                model_type=str(self.folder),
                num_layers=self.layers,
                lang="zh",
                batch_size=self._batch_size,
                rescale_with_baseline=False,
            )
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise InputError(
                f"the model in {self.folder} can't be loaded ({' '.join(str(error).split())[:200]})",
                remedy="give the folder of a BERT-like encoder with its tokenizer",
            ) from error
        # A tokenizer that wasn't told how much the model takes says 10^30, which its own truncation can't count to.
        scorer._tokenizer.model_max_length = min(scorer._tokenizer.model_max_length, self._config.tokens)
        return scorer


class _Config(NamedTuple):
    """What a model's config.json says: its number of layers, and how many tokens it takes."""

    layers: int
    tokens: int


def bertscore_missing(folder: Path | None) -> str:
    """Why BERTScore can't be had; "" when it can."""
    if folder is None:
        return "no model: --bertscore-model DIR"
    if importlib.util.find_spec("bert_score") is None:
        return "bert-score is not installed: pip install 'docsage[bertscore]'"
    return ""


def _config(folder: Path) -> _Config:
    config = folder / "config.json"
    try:
        found = json.loads(config.read_text(encoding="utf-8"))
        layers = int(found.get("num_hidden_layers") or found["n_layers"])
        positions = int(found.get("max_position_embeddings") or _TOKENS)
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it doesn't say how many layers the model has"
        raise InputError(
            f"{folder} holds no model: config.json can't be used ({reason})",
            remedy="--bertscore-model is the folder of a model such as bert-base-chinese, saved with its tokenizer",
        ) from error
    # RoBERTa counts positions from 2: of 514 it takes 512.
    return _Config(layers=layers, tokens=positions - 2 if positions > _TOKENS else positions)
