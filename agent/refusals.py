"""Replies that refuse: words about the task ("I'm sorry, I can't read this") in the place of the text."""

from __future__ import annotations

import re

_OPENING = 200
_LACK = (
    r"(?:can(?:no|['’]?)t|can not|could(?:n['’]t| not)|(?:am|['’]m|was) (?:unable|not able)|won['’]t|do(?:n['’]t| not))"
)
_TASK = (
    r"(?:translat|transcri|read|recogni[sz]e|see|view|make out|decipher|assist|help|provide|process|identify|access"
    r"|extract|do (?:that|this))"
)
_TASK_HAN = (
    r"(?:翻译|翻譯|识别|識別|识读|识认|辨认|辨認|辨识|读取|读出|阅读|抄录|转录"
    r"|查看|看到|看清|处理|提供|完成|提取|访问|协助|帮)"
)
_LACK_HAN = r"(?:无法|無法|不能|没法|没有办法|难以|没有能力|不便)"
_REFUSAL = re.compile(
    rf"(?:(?:i['’]?m|i am)\s+)?(?:(?:very|so|really)\s+)?(?:sorry|unfortunately|apologies|i apologi[sz]e)\b"
    rf".{{0,60}}?\b(?:i|it)\b.{{0,12}}?{_LACK}"
    rf"|i\s?{_LACK}.{{0,20}}?{_TASK}"
    r"|as an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    rf"|(?:很|非常|十分|实在)?(?:抱歉|对不起|對不起|不好意思|遗憾).{{0,24}}?(?:{_LACK_HAN}|不清|模糊|看不)"
    rf"|(?:我|本模型|目前|暂时|图片|图像|页面|此页|本页|文字|内容)*\s*{_LACK_HAN}"
    rf"(?:为您|为你|直接|准确|清楚地?)*{_TASK_HAN}"
    r"|作为(?:一个|一名|一款)?\s*(?:ai|人工智能|大?语言模型|大模型)"
    r"|(?:图片|图像|页面|此页|本页)(?:中的?)?(?:文字|内容)?(?:太|过于|非常|十分)?(?:模糊|不清)",
    re.IGNORECASE | re.DOTALL,
)


def refuses(text: str) -> bool:
    """Whether a reply opens by saying that its task can't be done."""
    return _REFUSAL.match(text.lstrip(" \n\t\"'“‘「（(*#>")[:_OPENING]) is not None
