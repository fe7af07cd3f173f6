"""Pages of a web site at 96 dpi: bars, menus and a side column around the paragraph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from haystack_pages.paragraphs import Language, Leaf
from haystack_pages.typesetting import Colour, Type, break_lines, draw_line, draw_lines, width_of

_WIDTH, _SIDE, _EDGE, _GAP = 1060, 268, 36, 36
_TEXT: Colour = (51, 51, 51)
_FAINT: Colour = (140, 140, 140)
_LINK: Colour = (28, 92, 168)
_ACCENTS: tuple[Colour, ...] = ((22, 82, 160), (176, 38, 40), (24, 118, 92), (58, 62, 72), (198, 96, 16))
_MENUS: dict[Language, str] = {
    "zh": "首页 新闻 百科 图片 视频 地图 论坛 专题 下载 帮助 登录 注册",
    "zh-Hant": "首頁 新聞 百科 圖片 影音 地圖 論壇 專題 下載 說明 登入 註冊",
    "en": "Home News Reference Photos Video Maps Forum Topics Downloads Help Login Join",
}
_SITES: dict[Language, tuple[str, ...]] = {
    "zh": ("知识在线", "百科天地", "读书网", "博览资讯"),
    "zh-Hant": ("知識在線", "百科天地", "讀書網", "博覽資訊"),
    "en": ("Knowledge Daily", "The Open Almanac", "Readers Net", "World Digest"),
}
_BOXES: dict[Language, tuple[str, ...]] = {
    "zh": ("热门推荐", "最新更新", "相关阅读", "网友评论"),
    "zh-Hant": ("熱門推薦", "最新更新", "相關閱讀", "網友評論"),
    "en": ("Most read", "Latest updates", "Related reading", "Comments"),
}
_LINKS: dict[Language, str] = {
    "zh": "本周精选文章 编辑部的话 如何使用站内搜索 读者来信选登 摄影作品展示 周末去哪儿 手机版上线公告 "
    "常见问题解答 历史上的今天 每日一图 网站改版说明 投稿须知 会员积分兑换 新手入门指南 意见反馈 友情链接申请",
    "zh-Hant": "本週精選文章 編輯部的話 如何使用站內搜尋 讀者來信選登 攝影作品展示 週末去哪兒 手機版上線公告 "
    "常見問題解答 歷史上的今天 每日一圖 網站改版說明 投稿須知 會員積分兌換 新手入門指南 意見回饋 友情連結申請",
    "en": "This_week's_picks From_the_editors How_to_search_this_site Letters_from_readers Photo_gallery "
    "Where_to_go_this_weekend Our_mobile_site Common_questions On_this_day Picture_of_the_day About_the_redesign "
    "Write_for_us Points_and_rewards Beginner's_guide Send_feedback Partner_sites",
}
_WORDS: dict[Language, dict[str, str]] = {
    "zh": {
        "by": "来源：网络整理　发布时间：{}　阅读：{}",
        "share": "分享　收藏　打印　字号：大 中 小",
        "find": "搜索",
        "banner": "广告",
        "foot": "关于我们　|　联系方式　|　版权声明　|　网站地图　|　隐私政策",
    },
    "zh-Hant": {
        "by": "來源：網路整理　發布時間：{}　閱讀：{}",
        "share": "分享　收藏　列印　字級：大 中 小",
        "find": "搜尋",
        "banner": "廣告",
        "foot": "關於我們　|　聯絡方式　|　版權聲明　|　網站地圖　|　隱私政策",
    },
    "en": {
        "by": "Staff report   |   Posted {}   |   {} views",
        "share": "Share   Save   Print   Text size: A A A",
        "find": "Search",
        "banner": "Advertisement",
        "foot": "About   |   Contact   |   Copyright   |   Site map   |   Privacy",
    },
}


@dataclass(slots=True)
class _Site:
    """A page that is being drawn."""

    image: Image.Image
    language: Language
    accent: Colour
    chance: np.random.Generator

    @property
    def pen(self) -> ImageDraw.ImageDraw:
        return ImageDraw.Draw(self.image)

    def pick(self, words: str, count: int) -> list[str]:
        """Some of the words, in an order drawn at random."""
        found = [word.replace("_", " ") for word in words.split()]
        return [found[place] for place in self.chance.permutation(len(found))[:count]]


def web(leaf: Leaf, chance: np.random.Generator) -> Image.Image:
    """A page of two columns: the paragraph in the wide one, boxes of links in the narrow one."""
    width = _WIDTH - 2 * _EDGE - _SIDE - _GAP
    body = Type(float(chance.choice([15.0, 16.0, 17.0])), "sans", _TEXT, 1.6 if leaf.language == "en" else 1.85)
    heading = Type(26.0, "sans bold", (34, 34, 34), 1.4)
    titles, lines = break_lines(leaf.title, width, heading), break_lines(leaf.text, width, body, 2 * body.size)
    picture = int(chance.choice([0, 0, 150]))
    used = 170 + len(titles) * heading.leading + 60 + picture + len(lines) * body.leading + 60
    image = Image.new("RGB", (_WIDTH, round(max(used, 620)) + 70), (255, 255, 255))
    site = _Site(image, leaf.language, _ACCENTS[int(chance.integers(len(_ACCENTS)))], chance)
    y = _header(site, leaf.title)
    left = _EDGE if chance.random() < 0.75 else _EDGE + _SIDE + _GAP
    _side(site, _EDGE + width + _GAP if left == _EDGE else _EDGE, y)
    y = draw_lines(image, (left, y), titles, heading)
    y = _byline(site, left, y, width)
    if picture:
        _picture(site, (left, round(y), left + width, round(y) + picture - 16))
        y += picture
    y = draw_lines(image, (left, y), lines, body, 2 * body.size)
    draw_line(image, (left, y + 34), _WORDS[leaf.language]["share"], Type(13.0, "sans", _LINK))
    _footer(site)
    return image


def _header(site: _Site, title: str) -> float:
    """Name of the site, search box, menu and the path to the page; where the columns begin."""
    pen, name = site.pen, _SITES[site.language][int(site.chance.integers(len(_SITES[site.language])))]
    draw_line(site.image, (_EDGE, 52), name, Type(30.0, "sans bold", site.accent))
    box = (_WIDTH - _EDGE - 250, 26, _WIDTH - _EDGE, 58)
    pen.rectangle(box, (255, 255, 255), (200, 200, 200))
    pen.rectangle((box[2] - 62, 26, box[2], 58), site.accent)
    draw_line(site.image, (box[2] - 52, 48), _WORDS[site.language]["find"], Type(14.0, "sans", (255, 255, 255)))
    pen.rectangle((0, 78, _WIDTH, 116), site.accent)
    x, words = float(_EDGE), _MENUS[site.language].split()
    for word in words:
        draw_line(site.image, (x, 102), word, Type(15.0, "sans", (255, 255, 255)))
        x += (_WIDTH - 2 * _EDGE) / len(words)
    trail = " > ".join((words[0], words[int(site.chance.integers(1, 8))], title))
    draw_line(site.image, (_EDGE, 142), trail, Type(12.0, "sans", _FAINT))
    return 164.0


def _byline(site: _Site, x: float, y: float, width: float) -> float:
    chance = site.chance
    day = f"{chance.integers(2008, 2024)}-{chance.integers(1, 13):02d}-{chance.integers(1, 29):02d}"
    line = _WORDS[site.language]["by"].format(day, int(chance.integers(100, 90000)))
    draw_line(site.image, (x, y + 20), line, Type(12.0, "sans", _FAINT))
    site.pen.line((x, y + 34, x + width, y + 34), (225, 225, 225), 1)
    return y + 46


def _side(site: _Site, x: float, y: float) -> None:
    """Boxes of links, one below the other, with a grey banner between them, down to the bar at the bottom."""
    titles, banner = list(_BOXES[site.language]), int(site.chance.integers(1, 3))
    for number, place in enumerate(site.chance.permutation(len(titles))):
        links = site.pick(_LINKS[site.language], int(site.chance.integers(4, 7)))
        height = 40 + 27 * len(links)
        if y + height > site.image.height - 80:
            return
        site.pen.rectangle((x, y, x + _SIDE, y + 32), (244, 245, 247))
        site.pen.rectangle((x, y, x + 4, y + 32), site.accent)
        draw_line(site.image, (x + 14, y + 22), titles[place], Type(15.0, "sans bold", (34, 34, 34)))
        for row, link in enumerate(links):
            draw_line(site.image, (x + 10, y + 58 + 27 * row), f"{row + 1}. {link}", Type(14.0, "sans", _LINK))
        y += height + 14
        if number == banner and y + 130 < site.image.height - 80:
            _picture(site, (round(x), round(y), round(x) + _SIDE, round(y) + 100))
            draw_line(site.image, (x + 6, y + 94), _WORDS[site.language]["banner"], Type(11.0, "sans", (250, 250, 250)))
            y += 116


def _picture(site: _Site, box: tuple[int, int, int, int]) -> None:
    """A soft picture of nothing in particular."""
    size = (box[2] - box[0], box[3] - box[1])
    coarse = site.chance.integers(60, 220, (4, 7, 3)).astype(np.uint8)
    site.image.paste(Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC), box[:2])


def _footer(site: _Site) -> None:
    image, kind = site.image, Type(12.0, "sans", _FAINT)
    site.pen.rectangle((0, image.height - 54, image.width, image.height), (244, 245, 247))
    text = _WORDS[site.language]["foot"]
    draw_line(image, ((image.width - width_of(text, kind)) / 2, image.height - 22), text, kind)
