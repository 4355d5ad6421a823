"""Small talk of a household in two languages, put together of parts, so that no two of a thousand sentences are alike.

The languages mix from turn to turn, as they do where a family speaks both.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

Bank = Mapping[str, Sequence[str]]

ENGLISH: Bank = {
    "who": (
        "my brother", "Tobias", "the plumber", "our neighbour Mrs Okafor", "Nora", "the landlord", "Uncle Piet",
        "my colleague Ines", "the school", "grandmother", "the mechanic", "our guest from Turku", "the choir",
    ),
    "thing": (
        "bookshelf", "washing machine", "canoe", "greenhouse", "piano", "camping stove", "garage door", "tax form",
        "garden fence", "sewing machine", "insurance letter", "kitchen table", "rain barrel", "bicycle trailer",
    ),
    "place": (
        "the attic", "the allotment", "the cellar", "the summer cottage", "the office", "the courtyard", "the workshop",
        "the ferry terminal", "the library", "the old barn", "the bakery", "the tram depot",
    ),
    "when": (
        "on Tuesday", "before the holidays", "next week", "in the evening", "at the end of the month", "tomorrow",
        "this weekend", "after the concert", "in early autumn", "by noon", "within ten days",
    ),
    "what": (
        "repaint", "measure", "sell", "repair", "clean", "move", "replace", "photograph", "insure", "borrow", "lend",
    ),
    "how": ("quickly", "with some help", "for good", "on a small budget", "without any noise", "a second time"),
    "said": (
        "{who} wants to {what} the {thing} {when}.",
        "The {thing} at {place} is what {who} would like to {what} {when}.",
        "I spent the whole morning at {place} because {who} had to {what} the {thing} {how}.",
        "We agreed to {what} the {thing} {when}, unless {who} finds it at {place} first.",
        "I am not sure whether {who} can {what} the {thing} {how}.",
        "It rained at {place}, so {who} did not {what} the {thing} after all.",
    ),
    "asked": (
        "How would you {what} a {thing} {how}?",
        "What should I tell {who} about the {thing}?",
        "Would you {what} the {thing} {when}, or wait?",
        "Does it make sense to {what} the {thing} at {place}?",
    ),
    "answered": (
        "I would {what} the {thing} {when} and ask {who} to be there.",
        "A {thing} is easier to {what} at {place}, if {who} agrees.",
        "You could {what} it {how}, and leave the rest to {who}.",
        "That works as long as nobody has to {what} the {thing} {when}.",
    ),
    "alike": (
        "The spare key of the {thing} hangs next to {place}.",
        "Dr. Lindqvist moved the check of the {thing} to {number} o'clock.",
        "The code of the lock at {place} is {number}.",
        "The allergy test of {who} is {when}.",
    ),
}  # fmt: skip

VIETNAMESE: Bank = {
    "who": (
        "anh Tuấn", "chị Hạnh", "bác thợ điện", "cô giáo của bé", "mẹ tôi", "chú bảo vệ", "ông ngoại", "em gái tôi",
        "bạn cùng phòng", "anh giao hàng", "nhóm leo núi", "hàng xóm tầng trên",
    ),
    "thing": (
        "máy giặt", "cái quạt trần", "bộ bàn ghế", "chiếc xe đạp", "giàn hoa giấy", "tủ lạnh", "đơn bảo hiểm",
        "bếp gas", "cái đàn bầu", "bể cá", "tấm rèm cửa", "giấy khai sinh",
    ),
    "place": (
        "sân thượng", "nhà kho", "chợ Hôm", "cơ quan", "quán cà phê đầu ngõ", "tầng hầm", "trường của bé",
        "bến xe", "nhà cũ ở quê", "phòng khám", "thư viện quận",
    ),
    "when": (
        "vào thứ ba", "trước Tết", "tuần sau", "tối nay", "cuối tháng", "sáng mai", "cuối tuần này", "sau giờ làm",
        "đầu mùa thu", "trong mười ngày tới",
    ),
    "what": ("sửa", "sơn lại", "bán", "chuyển", "thay", "lau", "chụp ảnh", "cho mượn", "đo", "dọn"),
    "how": ("cho nhanh", "với chút giúp đỡ", "một lần cho xong", "ít tốn kém", "không gây ồn", "thêm lần nữa"),
    "said": (
        "{who} muốn {what} {thing} {when}.",
        "{thing} ở {place} thì {who} định {what} {when}.",
        "Tôi mất cả buổi sáng ở {place} vì {who} phải {what} {thing} {how}.",
        "Cả nhà thống nhất {what} {thing} {when}, trừ khi {who} tìm thấy nó ở {place} trước.",
        "Tôi không chắc {who} có {what} được {thing} {how} không.",
        "Ở {place} mưa to nên {who} chưa {what} {thing}.",
    ),
    "asked": (
        "Làm sao để {what} {thing} {how}?",
        "Tôi nên nói gì với {who} về {thing}?",
        "Nên {what} {thing} {when} hay là chờ thêm?",
        "Có nên {what} {thing} ở {place} không?",
    ),
    "answered": (
        "Theo tôi nên {what} {thing} {when} và nhờ {who} có mặt.",
        "{thing} thì {what} ở {place} dễ hơn, nếu {who} đồng ý.",
        "Bạn có thể {what} {how}, phần còn lại để {who} lo.",
        "Cũng được, miễn là không ai phải {what} {thing} {when}.",
    ),
    "alike": (
        "Chìa khóa dự phòng của {thing} treo cạnh {place}.",
        "Mã mở khóa ở {place} là {number}.",
        "{who} dặn đừng để {thing} ở {place}.",
        "Lịch khám của {who} là {when}.",
    ),
}  # fmt: skip


def sentences(chance: random.Random, bank: Bank, kind: str, number: int) -> str:
    """Return so many sentences of a kind.

    Args:
        chance: Where the choices come from.
        bank: The language.
        kind: One of `said`, `asked`, `answered` and `alike`.
        number: How many.
    """
    made = []
    for _ in range(number):
        parts = {name: chance.choice(bank[name]) for name in ("who", "thing", "place", "when", "what", "how")}
        sentence = chance.choice(bank[kind]).format(**parts, number=chance.randint(1000, 9999))
        made.append(sentence[:1].upper() + sentence[1:])
    return " ".join(made)
