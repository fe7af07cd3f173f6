"""What the paper reports (CHaystack, tables 2 and 3, figure 4), in per cent, to set our rows beside."""

from __future__ import annotations

from typing import Literal

from evaluation.chaystack.samples import Category

Row = Literal["all"] | Category
RETRIEVAL: dict[str, dict[Row, tuple[float, float, float, float]]] = {
    "Qwen3-VL": {
        "all": (71.91, 86.57, 89.90, 92.67),
        "paper": (64.13, 85.51, 90.40, 93.54),
        "webpage": (85.75, 92.57, 93.63, 94.69),
        "advertise": (68.93, 80.73, 83.87, 88.20),
        "camera": (83.33, 89.22, 91.18, 93.14),
    },
    "Chinese-CLIP": {
        "all": (14.40, 20.89, 23.71, 27.82),
        "paper": (2.95, 5.89, 7.36, 10.17),
        "webpage": (6.29, 10.01, 11.98, 15.77),
        "advertise": (47.49, 64.31, 70.80, 77.19),
        "camera": (25.49, 38.24, 43.14, 55.88),
    },
    "AltCLIP": {
        "all": (11.05, 16.93, 19.68, 23.38),
        "paper": (2.47, 4.94, 5.99, 7.60),
        "webpage": (4.47, 9.17, 11.75, 16.30),
        "advertise": (37.86, 52.70, 59.00, 65.59),
        "camera": (5.88, 7.84, 12.75, 19.61),
    },
    "SigLIP": {
        "all": (1.63, 2.47, 3.02, 3.96),
        "paper": (0.19, 0.24, 0.29, 0.76),
        "webpage": (0.15, 0.23, 0.45, 0.61),
        "advertise": (6.59, 9.93, 11.80, 14.45),
        "camera": (0.98, 2.94, 4.90, 8.82),
    },
    "CLIP": {
        "all": (0.64, 0.88, 1.12, 1.56),
        "paper": (0.05, 0.05, 0.14, 0.29),
        "webpage": (0.38, 0.61, 0.76, 1.36),
        "advertise": (2.26, 2.85, 3.44, 4.13),
        "camera": (0.00, 1.96, 2.94, 4.90),
    },
}
"""Recall@1, 3, 5 and 10 of the original question in the index of its own category (table 2)."""
FILTERED: dict[str, dict[Row, float]] = {
    "Qwen3-VL-Embedding-2B": {"all": 71.82, "paper": 64.04, "advertise": 68.83},
    "with the filter": {"all": 78.32, "paper": 70.07, "advertise": 78.47},
}
"""Recall@1 before and after the filter, as far as section 5.3 says it (Qwen2.5-VL-3B-Instruct, 15 candidates)."""
GENERATION: dict[str, dict[Row, tuple[float, float]]] = {
    "Qwen2.5-VL-3B": {
        "all": (35.44, 61.62),
        "paper": (24.99, 50.90),
        "webpage": (46.17, 72.64),
        "advertise": (39.92, 66.95),
        "camera": (67.65, 86.95),
    },
    "LLaVA-OneVision-0.5B": {
        "all": (0.92, 19.68),
        "paper": (0.19, 15.12),
        "webpage": (0.68, 23.16),
        "advertise": (2.46, 22.79),
        "camera": (3.92, 37.82),
    },
    "InternVL2.5-4B": {
        "all": (20.89, 42.64),
        "paper": (20.76, 42.05),
        "webpage": (7.58, 26.35),
        "advertise": (33.82, 60.75),
        "camera": (66.67, 84.98),
    },
}
"""Exact match and character F1 from the gold image (table 3)."""
