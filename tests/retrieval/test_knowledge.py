"""The evidence pool: what is frozen, what is refused and left out, and what a look-up matches."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from retrieval.errors import InputError
from retrieval.knowledge.building import BuildReport, build_pool
from retrieval.knowledge.pool import Pool
from retrieval.knowledge.records import read_records
from retrieval.knowledge.years import years_in, years_of_term

WELLS = "井田制是相传行于商周的土地制度：方里为井，八家共耕，中央的一块是公田。"
TAX = "两税法以资产为宗，分夏秋两次征收，代替了租庸调。"
TENTH = "貞觀元年，分天下為十道。"
REVOLT = "The revolt of the Three Feudatories ended when Kunming fell."
RECORDS: list[dict[str, Any]] = [
    {"keys": ["井田制", "井田"], "text": WELLS, "source": {"title": "孟子注", "url": "https://example.org/a"}},
    {"key": "两税法", "text": TAX, "source": "新唐书"},
    {"term": "貞觀元年", "text": TENTH},
    {"terms": ["1681"], "text": REVOLT, "title": "Qing history", "date": 2009},
    {"key": "僖公二十三年", "text": "晋公子重耳出亡，及于难。"},
]
MakePool = Callable[..., Pool]


def lines(path: Path, records: Sequence[Any]) -> Path:
    path.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in records), encoding="utf-8")
    return path


@pytest.fixture
def make_pool(tmp_path: Path) -> MakePool:
    def make(records: Sequence[Any] = RECORDS) -> Pool:
        build_pool([lines(tmp_path / "terms.jsonl", records)], tmp_path / "pool")
        return Pool.open(tmp_path / "pool")

    return make


def texts(pool: Pool, terms: Sequence[str], question: str = "", **options: int) -> list[str]:
    return [hit.snippet.text for hit in pool.match(terms, question, **options)]


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("康熙二十年", (1681,)),
        ("康熙20年", (1681,)),
        ("貞觀元年", (627, 1101)),
        ("唐太宗贞观元年", (627,)),
        ("西夏贞观元年", (1101,)),
        ("建元二年", (-139, 344, 366, 480)),
        ("漢武帝建元二年", (-139,)),
        ("元始元年", (1,)),
        ("元寿二年", (-1,)),
        ("乾隆甲子", (1744,)),
        ("建文元年", (1399,)),
        ("永樂元年", (1403,)),
        ("民國三十八年", (1949,)),
        ("景佑元年", (1034,)),
        ("康熙六十三年", ()),
        ("一六八一年", (1681,)),
        ("一九四九年", (1949,)),
        ("公元1681年", (1681,)),
        ("１６８１年", (1681,)),
        ("1681 CE", (1681,)),
        ("AD 627", (627,)),
        ("公元前二百二十一年", (-221,)),
        ("前221年", (-221,)),
        ("221 BCE", (-221,)),
        ("目前1990年的版本", (1990,)),
        ("顾炎武（1613—1682）", (1613, 1682)),
        ("What happened in 1681?", (1681,)),
        ("二十年", ()),
        ("凡三百年", ()),
        ("1500年来", ()),
        ("人口1500", ()),
    ],
)
def test_years_are_read_in_every_form(text: str, years: tuple[int, ...]) -> None:
    assert years_in(text) == years


def test_a_bare_number_is_a_year_only_as_a_term() -> None:
    assert years_of_term("1681") == (1681,)
    assert years_in("1681") == ()
    assert years_of_term("9999") == ()


@pytest.mark.parametrize(
    ("terms", "question", "text", "basis"),
    [
        (["井田制"], "", WELLS, "exact key 井田制"),
        (["《井田制》"], "", WELLS, "exact key 井田制"),
        (["兩稅法"], "", TAX, "exact key 两税法"),
        ([], "孟子所說的井田是什麼？", WELLS, "key in question 井田"),
        (["貞觀元年"], "", TENTH, "exact key 贞观元年"),
        (["两税"], "", TAX, "substring 两税法"),
        (["杨炎两税法改革"], "", TAX, "substring 两税法"),
        (["康熙二十年"], "", REVOLT, "year-equivalent 1681"),
        (["一六八一年"], "", REVOLT, "year-equivalent 1681"),
        ([], "公元627年发生了什么？", TENTH, "year-equivalent 627"),
        (["贞观1年"], "", TENTH, "year-equivalent 贞观元年"),
        (["僖公23年"], "", "晋公子重耳出亡，及于难。", "year-equivalent 僖公二十三年"),
        ([], "僖公23年，谁出亡？", "晋公子重耳出亡，及于难。", "year-equivalent 僖公二十三年"),
        ([], "哪种办法以资产为宗，分夏秋征收？", TAX, "character overlap"),
        ([], "When did Kunming fall in the revolt?", REVOLT, "character overlap"),
    ],
)
def test_each_match_names_its_grounds(
    make_pool: MakePool, terms: list[str], question: str, text: str, basis: str
) -> None:
    hits = {hit.snippet.text: hit for hit in make_pool().match(terms, question)}
    assert hits[text].basis.split("; ")[0] == basis
    assert 0 < hits[text].score <= 1


@pytest.mark.parametrize(
    ("terms", "question"),
    [(["火星"], "火星有水吗？"), ([], ""), (["", "《》"], ""), (["the"], "Who is it?"), ([], "天气很好"), (["制"], "")],
)
def test_no_match_is_a_result(make_pool: MakePool, terms: list[str], question: str) -> None:
    assert make_pool().match(terms, question) == ()


def test_english_keys_are_whole_words(make_pool: MakePool) -> None:
    pool = make_pool([{"key": "art", "text": "A craft."}, {"key": "state of the art", "text": "Newest."}])
    assert texts(pool, [], "Where does it start?") == []
    assert texts(pool, ["Art"]) == ["A craft.", "Newest."]


def test_a_word_that_all_snippets_use_matches_as_an_exact_key_only(make_pool: MakePool) -> None:
    numerals = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥"
    pool = make_pool(
        [
            *({"key": f"{c}书", "text": f"{c * 7}，不可轻言。"} for c in numerals),
            {"key": "不可", "text": "不可，否定之辞。"},
            {"key": "孟子", "text": "名轲，邹人。"},
        ]
    )
    assert texts(pool, [], "孟子为何说不可？") == ["名轲，邹人。"]
    assert texts(pool, ["不可"])[0] == "不可，否定之辞。"


def test_better_grounds_rank_higher(make_pool: MakePool) -> None:
    pool = make_pool(
        [
            {"key": "丘甲", "text": "赋税之一种。"},
            {"key": "作丘甲", "text": "成公元年所行。"},
            {"key": "鲁国", "text": "周公之后，国于曲阜。"},
        ]
    )
    hits = pool.match(["丘甲"], "鲁国的赋税如何？")
    assert [hit.snippet.keys[0] for hit in hits] == ["丘甲", "鲁国", "作丘甲"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_among_equal_keys_the_question_decides(make_pool: MakePool) -> None:
    notes = [{"key": "盐", "text": f"第{n}条，论茶马互市之制。"} for n in "甲乙丙丁戊己庚辛壬癸"]
    pool = make_pool([*notes, {"key": "盐", "text": "池盐出于解州，夏秋南风则一夜结成。"}])
    assert texts(pool, ["盐"], "解州的池盐如何结成？", limit=1) == ["池盐出于解州，夏秋南风则一夜结成。"]


def test_at_most_eight_and_none_twice(make_pool: MakePool) -> None:
    pool = make_pool(
        [{"key": "论语", "text": f"论语卷{n}：{c * 12}"} for n, c in enumerate("学时习说朋远方来乐君子愠")]
    )
    assert len(texts(pool, ["论语"], limit=100)) == 8
    assert len(texts(pool, ["论语"], limit=3)) == 3


def test_snippets_that_say_the_same_come_once(make_pool: MakePool) -> None:
    twice = [WELLS, WELLS.replace("相传", "据传"), TAX]
    assert sorted(texts(make_pool([{"key": "田制", "text": text} for text in twice]), ["田制"])) in (
        sorted([twice[0], TAX]),
        sorted([twice[1], TAX]),
    )


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    first = lines(tmp_path / "a.jsonl", RECORDS[:3])
    second = lines(tmp_path / "b.jsonl", RECORDS[2:])
    held_out = lines(tmp_path / "test.jsonl", [{"question": "两税法以什么为宗？", "answer": TAX}])
    reports = [
        build_pool(files, tmp_path / name, exclude=[held_out])
        for name, files in (("one", [first, second]), ("two", [second, first]))
    ]
    for name in ("pool.json", "snippets.jsonl", "excluded.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert reports[0].manifest.snippets == 4
    again = build_pool([first, second], tmp_path / "one", exclude=[held_out])
    assert again.unchanged
    assert not reports[0].unchanged


def test_what_says_the_same_is_merged_with_all_keys_and_sources(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "a.jsonl",
        [
            {"key": "井田", "text": "<p>八家共耕，<b>同養</b>公田。[1]</p>", "source": "孟子"},
            {"key": "公田", "text": " 八家共耕, 同养公田\u200b。", "url": "https://example.org"},
            {"key": "公田", "text": "八家共耕，同養公田。", "source": "孟子"},
        ],
    )
    report = build_pool([file], tmp_path / "pool")
    assert (report.manifest.snippets, report.manifest.keys, report.manifest.duplicates) == (1, 2, 2)
    snippet = Pool.open(tmp_path / "pool").match(["公田"])[0].snippet
    assert snippet.text.strip("。").replace(", ", "，") in ("八家共耕，同養公田", "八家共耕，同养公田")
    assert set(snippet.keys) == {"井田", "公田"}
    assert {str(source) for source in snippet.sources} == {"孟子", "https://example.org"}


def test_markup_and_hidden_characters_are_taken_out(make_pool: MakePool) -> None:
    text = "<script>alert(1)</script>甲&amp;乙<br/>丙\u202e丁[编辑]<!-- x -->\x1b[2J 3 < 5"
    assert texts(make_pool([{"key": "x1", "text": text}]), ["x1"]) == ["甲&乙丙丁 [2J 3 < 5"]


def test_long_texts_become_several_snippets(make_pool: MakePool) -> None:
    pool = make_pool([{"key": "史记", "text": "".join(f"第{n}句说的是另一件事。" for n in range(200))}])
    assert len(pool) > 2
    for text in texts(pool, ["史记"]):
        assert len(text) <= 600
        assert text.endswith("。")


def test_every_file_kind_is_read(tmp_path: Path) -> None:
    files = {
        "a.csv": "\ufeffKey,Text,url\n井田|井田制,甲文在此,https://example.org\n",
        "b.tsv": "term\ttext\ttitle\n两税\t乙文在此\t唐书\n",
        "c.json": '{"府兵": "丙文在此", "均田": ["丁文在此", {"text": "戊文在此", "date": "2001"}]}',
        "d.json": '[{"key": "科举", "text": "己文在此"}]',
        "e.txt": "\n保甲、保马：庚文在此\n青苗: 辛文在此\n",
        "f.ndjson": '{"key": "方田", "text": "壬文在此"}\n\n',
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    report = build_pool([tmp_path / name for name in files], tmp_path / "pool")
    assert (report.manifest.snippets, report.refused) == (9, ())
    pool = Pool.open(tmp_path / "pool")
    sources = {key: str(pool.match([key])[0].snippet.sources[0]) for key in ("井田制", "两税", "府兵", "保马")}
    assert sources == {"井田制": "https://example.org", "两税": "唐书", "府兵": "c.json", "保马": "e.txt"}
    assert {text[0] for text in texts(pool, ["均田"])} == {"丁", "戊"}


@pytest.mark.parametrize(
    ("name", "bad", "why"),
    [
        ("a.jsonl", '{"text": "有文"}', "a.jsonl, line 2: it has no key"),
        ("a.jsonl", '{"key": "有键"}', "line 2: its text is missing"),
        ("a.jsonl", '{"key": "有键", "text": "  "}', "line 2: its text is empty"),
        ("a.jsonl", '{"key": 5, "text": "有文"}', "line 2: a key is a number"),
        ("a.jsonl", '{"key": "。。", "text": "有文"}', "line 2: its key '。。' has no letter"),
        ("a.jsonl", '{"key": "有键", "text": ["有文"]}', "line 2: its text is a list"),
        ("a.jsonl", '{"key": "有键", "text": "有文", "source": 7}', "line 2: its source is a number"),
        ("a.jsonl", '{"key": "有键", "text": ', "line 2: it is not JSON"),
        ("a.jsonl", "[]", "line 2: it is a list"),
        ("a.txt", "没有键的一行", "a.txt, line 2: it has no key"),
        ("a.csv", '"甲"乙,文', "a.csv, line 2: it is no CSV"),
        ("a.csv", "只有键", "a.csv, line 2: its text is missing"),
    ],
)
def test_bad_records_are_named_and_the_rest_goes_on(tmp_path: Path, name: str, bad: str, why: str) -> None:
    good = {
        "a.jsonl": ['{"key": "甲", "text": "甲文"}', '{"key": "乙", "text": "乙文"}'],
        "a.txt": ["甲：甲文", "乙：乙文"],
    }
    before, after = good.get(name, ["key,text", "乙,乙文"])
    (tmp_path / name).write_text("\n".join([before, bad, after]), encoding="utf-8")
    report = build_pool([tmp_path / name], tmp_path / "pool")
    assert len(report.refused) == 1
    assert why in report.refused[0]
    assert report.manifest.inputs[0].refused == 1
    assert texts(Pool.open(tmp_path / "pool"), ["乙"]) == ["乙文"]


def test_a_long_field_of_a_table_costs_nothing_that_follows(tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text(
        f"key,text\n井田,{'相傳的土地制度。' * 20_000}\n鹽,{'x' * 2_000_001}\n君子,有德之人。\n", encoding="utf-8"
    )
    found = read_records(path)
    assert [record.keys for record in found.records] == [("井田",), ("君子",)]
    assert len(found.records[0].text) == 160_000
    assert [line for line in found.refused if "2000000 are the most" in line] == list(found.refused)


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("甲：甲文\n".encode() + "乙：乙文\n".encode("gbk"))
    report = build_pool([tmp_path / "a.txt"], tmp_path / "pool")
    assert report.refused == ("a.txt, line 2: it is not UTF-8; save the file as UTF-8",)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.pdf", b"x", "no kind"),
        ("a.json", b"{", "is not JSON"),
        ("a.csv", b"a,b\n1,2\n", "names the columns a, b"),
        ("a.csv", "键,text\n".encode("gbk"), "is not UTF-8"),
        ("a.jsonl", b"", "nothing is left"),
        ("a.jsonl", b'{"text": "x"}', "nothing is left"),
    ],
)
def test_files_that_cannot_be_used_are_refused(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=problem):
        build_pool([tmp_path / name], tmp_path / "pool")
    assert not (tmp_path / "pool").exists()


def test_missing_files_and_no_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        build_pool([tmp_path / "none.jsonl"], tmp_path / "pool")
    with pytest.raises(InputError, match="no regular file"):
        build_pool([(tmp_path / "dir.jsonl", (tmp_path / "dir.jsonl").mkdir())[0]], tmp_path / "pool")
    with pytest.raises(InputError, match="at least one file"):
        build_pool([], tmp_path / "pool")


def test_a_frozen_pool_is_never_replaced(tmp_path: Path) -> None:
    file = lines(tmp_path / "a.jsonl", RECORDS)
    build_pool([file], tmp_path / "pool")
    before = (tmp_path / "pool" / "snippets.jsonl").read_bytes()
    with pytest.raises(InputError, match="pools are frozen"):
        build_pool([lines(tmp_path / "b.jsonl", RECORDS[:2])], tmp_path / "pool")
    assert (tmp_path / "pool" / "snippets.jsonl").read_bytes() == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="holds no pool"):
        build_pool([file], tmp_path / "other")
    with pytest.raises(InputError, match="can't be the folder"):
        build_pool([file], file)


def test_a_build_that_was_interrupted_is_taken_up(tmp_path: Path) -> None:
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "snippets.jsonl.partial").write_bytes(b"{")
    (tmp_path / "pool" / "snippets.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match=r"there is no pool\.json"):
        Pool.open(tmp_path / "pool")
    build_pool([lines(tmp_path / "a.jsonl", RECORDS)], tmp_path / "pool")
    assert len(Pool.open(tmp_path / "pool")) == len(RECORDS)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda pool: (pool / "snippets.jsonl").write_text("{}\n"), "was changed since"),
        (lambda pool: (pool / "snippets.jsonl").unlink(), "can't be read"),
        (lambda pool: (pool / "pool.json").write_text("{}"), "no pool of this version"),
        (lambda pool: (pool / "pool.json").write_text('{"schema": "docsage.pool/9"}'), "schema"),
        (lambda pool: (pool / "pool.json").write_bytes(b"\xff"), "no pool of this version"),
        (lambda pool: (pool / "pool.json").unlink(), "there is no pool.json"),
    ],
)
def test_a_pool_that_is_not_what_was_frozen_is_refused(
    tmp_path: Path, make_pool: MakePool, damage: Callable[[Path], object], problem: str
) -> None:
    make_pool()
    damage(tmp_path / "pool")
    with pytest.raises(InputError, match=problem):
        Pool.open(tmp_path / "pool")


def test_a_folder_that_does_not_exist_is_no_pool(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        Pool.open(tmp_path / "none")


QUESTION = "谦卦六五的爻辞是什么，它告诫人君如何用兵？"
LINE = "六五，不富以其鄰，利用侵伐，无不利。"


def sifted(tmp_path: Path, text: str, name: str, tests: str) -> BuildReport:
    (tmp_path / name).write_text(tests, encoding="utf-8")
    records = [{"key": "甲一", "text": text}, {"key": "乙一", "text": "毫不相干的另一条。"}]
    return build_pool([lines(tmp_path / "a.jsonl", records)], tmp_path / "pool", exclude=[tmp_path / name])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("《周易》：六五 不富以其邻 利用侵伐 无不利。象曰。", "holds an answer"),
        ("经文作六五，不富以其邻，利用侵伐，故云。" + "此下为历代诸家之论说，" * 3, "repeats an answer"),
        (
            "有人问谦卦六五的爻辞是什么，它告诫人君何事，诸家所答不同。" + "此下为历代诸家之论说，" * 3,
            "repeats a question",
        ),
        ("不富以其邻，利用侵伐", "repeats an answer"),
        ("谦者，有而不居之义也。", None),
        ("谦卦是六十四卦之一，艮下坤上，五阴一阳。", None),
    ],
)
def test_what_repeats_a_test_is_left_out(tmp_path: Path, text: str, reason: str | None) -> None:
    test = {"image": "a.jpg", "task": "knowledge_qa", "question": QUESTION, "reference": LINE}
    report = sifted(tmp_path, text, "t.jsonl", json.dumps(test, ensure_ascii=False))
    assert [one.reason for one in report.excluded] == ([reason] if reason else [])
    if reason:
        assert (report.excluded[0].source, report.excluded[0].test) == ("a.jsonl, line 1", "t.jsonl, line 1")
        assert report.manifest.excluded == {reason: 1}
        assert Pool.open(tmp_path / "pool").match(["甲一"]) == ()
        assert text not in (tmp_path / "pool" / "excluded.jsonl").read_text(encoding="utf-8")


def test_a_short_answer_alone_rejects_nothing(tmp_path: Path) -> None:
    test = json.dumps({"question": "“民为贵，社稷次之”出自谁之口？", "answers": ["孟子"]}, ensure_ascii=False)
    report = sifted(tmp_path, "孟子名轲，邹人，受业于子思之门人。", "t.jsonl", test)
    assert report.excluded == ()


def test_a_short_answer_beside_its_question_is_left_out(tmp_path: Path) -> None:
    test = json.dumps({"question": "杨朱的弟弟是谁？", "answers": ["杨布"]}, ensure_ascii=False)
    report = sifted(tmp_path, "问：杨朱的弟弟是谁？答曰杨布。", "t.jsonl", test)
    assert [one.reason for one in report.excluded] == ["repeats a question"]


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        (
            "squad.json",
            json.dumps(
                {"data": [{"paragraphs": [{"context": "x", "qas": [{"question": "?", "answers": [{"text": LINE}]}]}]}]}
            ),
        ),
        ("list.json", json.dumps([{"question": "?", "answer": LINE}])),
        ("plain.txt", LINE + "\n"),
    ],
)
def test_tests_of_other_forms_are_read(tmp_path: Path, name: str, tests: str) -> None:
    assert len(sifted(tmp_path, "《周易》曰：" + LINE, name, tests).excluded) == 1


@pytest.mark.parametrize(
    ("name", "tests", "problem"),
    [
        ("t.jsonl", '{"id": 1}', "no test question"),
        ("t.jsonl", '{"question": "a"}\n{', "line 2 of .* is not JSON"),
        ("t.json", "{", "is not JSON"),
    ],
)
def test_tests_that_cannot_be_read_stop_the_build(tmp_path: Path, name: str, tests: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        sifted(tmp_path, "甲", name, tests)
    assert not (tmp_path / "pool").exists()


def test_threads_get_the_same_answers(make_pool: MakePool) -> None:
    pool = make_pool()
    asked = [(["井田"], "两税法如何？"), (["康熙二十年"], ""), ([], "以资产为宗，分夏秋征收？")] * 20
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda one: pool.match(*one), asked))
    assert found[:3] == [pool.match(*one) for one in asked[:3]]
    assert found == found[:3] * 20
