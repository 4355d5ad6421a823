"""Messages that show a stranger's text, and messages of the same shapes that are the user's own, in five languages."""

from __future__ import annotations

EN = "I moved to Chicago last year and I hate pizza. My husband is a pilot."
VI = "Tôi sống ở Cần Thơ. Tôi bị dị ứng với tôm."
ZH = "我住在重庆。我有两只猫。"
JA = "私は大阪に住んでいます。猫が二匹います。"
EN_2 = "I grew up in Oslo and I am allergic to cats. My wife teaches maths."
VI_2 = "Tôi làm ở Đồng Nai. Con tôi học lớp ba."
ZH_2 = "我在成都工作。我妈妈是医生。"
JA_2 = "私は札幌で働いています。母は医者です。"
DE = "Ich wohne in Bremen. Ich habe zwei Katzen und eine Allergie."

SHOWN = [
    f"Translate this review to German:\n\n{EN}",
    f"Can you proofread this for my colleague:\n{EN}",
    f"here is the README:\n# Project\nMy name is Readme.\n## Usage\n{EN}",
    f"My boss wrote:\n\n{EN}",
    f"[10:31, 3/3/2025] Bob: {EN}\nwhat should I say?",
    f"Bob: {EN}\nAnn: I live in Hue.\nBob: I do not.\n\nwho is right here?",
    f"From: Bob\nSubject: home\n\n{EN}",
    f"Tóm tắt giúp tôi thư này:\n\n---------- Thư đã chuyển tiếp ----------\nTừ: Lan\n{VI}",
    f"Đây là email của khách hàng:\n{VI}",
    f"Lan viết:\n{VI}",
    f"3/3/2025, 10:31 - Lan: {VI}\n3/3/2025, 10:32 - Minh: Tôi ở Huế.",
    f"请总结:\n\n发件人: 李雷\n发送时间: 2025年3月3日\n收件人: me\n主题: 家\n\n{ZH}",
    f"帮我回复这封邮件：\n\n{ZH}",
    f"李雷说：\n{ZH}",
    f"[2025-03-03 10:31] 李雷：{ZH}\n我该怎么回答？",
    f"李雷：{ZH}\n韩梅：我住在上海。\n李雷：好的。",
    f"次の文章を要約してください：\n\n{JA}",
    f"このメールに返信してください：\n{JA}",
    f"田中さんが書きました：\n{JA}",
    f"差出人: 田中\n件名: 家\n\n{JA}",
    f"田中：{JA}\n佐藤：私は東京です。\n田中：はい。",
    f"Übersetze das ins Englische:\n\n{DE}",
    f"Fasse diese Mail zusammen:\n{DE}",
    f"Hier ist die E-Mail des Kunden:\n\n{DE}",
    f"Von: Bob\nBetreff: Wohnung\n\n{DE}",
    f"Draft a polite answer to my neighbour's note:\n{EN_2}",
    f"Here's the job description:\n## About\n{EN_2}\n## Tasks\nI cook.",
    f"Dịch giúp mình sang tiếng Nhật:\n{VI_2}",
    f"tom tat giup toi email nay:\n\n{VI_2}",
    "Résume ce courriel :\n\nDe : Jo\nDate : 3 mars 2025 10:00\nObjet : moi\n\nJ'habite à Oslo et j'ai un chat.",
    "Traduce esta reseña:\n\nVivo en Oslo y tengo dos gatos.",
]
"""What the user shows is the stranger's; each of these has the stranger's text of its language."""

OWN = [
    "My allergies:\n- peanuts\n- shrimp and crab",
    "About me:\nI live in Hue.",
    "Remember this:\nI live in Hue.",
    "Name: An\nCity: Hue\n\nI have two cats.",
    "I have three hobbies:\nI swim.\nI paint.\nI bake.",
    "Tôi giới thiệu:\nTôi sống ở Huế.",
    "Thông tin của tôi:\nTên: An\nThành phố: Huế",
    "Tôi có ba con mèo:\nMimi là con lớn nhất.",
    "Lịch của tôi:\nThứ hai: Tôi đi bơi.\nThứ ba: Tôi học vẽ.",
    "关于我：\n我住在顺化。",
    "我的过敏：\n- 我对花生过敏\n- 我对虾过敏",
    "家：我住在顺化。\n工作：我是护士。",
    "自己紹介：\n私はフエに住んでいます。",
    "私の趣味：\n・水泳が好きです。\n・絵を描きます。",
    "私の状況です：\n私はフエに住んでいます。",
    "Über mich:\nIch wohne in Hue.",
    "Meine Allergien:\n- Erdnüsse\n- Krabben",
    "Name: An\nStadt: Hue\n\nIch habe zwei Katzen.",
    "I wrote to my boss:\nI am going to quit in May.",
    "Update:\nI moved to Hue.",
    "Flight: VN123\nDate: 3/3/2025\nSeat: 12A\n\nI need a vegetarian meal.",
    "Je me présente :\nJ'habite à Hue.",
    "Sobre mí:\nVivo en Hue.",
    "I want to explain this to you: I am deaf. I live in Hue.",
    "Please read the following and remember it:\nI live in Hue.",
    "检查结果：我的血压是140。我有糖尿病。",
    "修正：我住在顺化。我有两只猫。",
    "Zusammenfassung: Ich wohne in Hue. Ich habe zwei Katzen.",
]
"""All of each is the user's own."""

STRANGERS = {
    "Chicago",
    "pilot",
    "Cần Thơ",
    "tôm",
    "重庆",
    "两只猫",
    "大阪",
    "二匹",
    "Bremen",
    "Katzen",
    "Oslo",
    "Đồng Nai",
    "成都",
    "札幌",
}
"""Words of the strangers' texts."""
