"""Discretion: no secret of a user, and nothing that is said off the record, is in what memory keeps or sends again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.memory.adapters import MemoryMiddleware
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope, MemoryWriteEvent
from react_mem.memory.model.policy import MemoryPolicy
from tests.support.scripted_model import ScriptedModel, calls

SECRETS = [
    ("My password is hunter2.", ["hunter2"]),
    ("The wifi password is sunflower.", ["sunflower"]),
    ("my netflix password is Tr0ub4dor&3", ["Tr0ub4dor&3"]),
    ("Mein Passwort lautet Blau&Regen7", ["Blau&Regen7"]),
    ("Das WLAN-Passwort ist sonnenblume.", ["sonnenblume"]),
    ("Mein Passwort für die Bank ist Kx9!pQ2z", ["Kx9!pQ2z"]),
    ("Mi contraseña es Gato#1987", ["Gato#1987"]),
    ("la contraseña del wifi es mariposa.", ["mariposa"]),
    ("La clave del wifi es casaazul22", ["casaazul22"]),
    ("Mật khẩu wifi nhà mình là hoadao123", ["hoadao123"]),
    ("mật khẩu email của tôi là Xuan@2026!", ["Xuan@2026!"]),
    ("我的密码是sunshine88。", ["sunshine88"]),
    ("WiFi密码：tianqi2026", ["tianqi2026"]),
    ("银行卡密码是 839201", ["839201"]),
    ("パスワードはsakura99です。", ["sakura99"]),
    ("WiFiのパスワードは「haru2026」です", ["haru2026"]),
    ("暗証番号は4821です", ["4821"]),
    ("My PIN is 4821", ["4821"]),
    ("PIN 9934 for the card", ["9934"]),
    ("Meine PIN ist 4711.", ["4711"]),
    ("mi PIN es 5501", ["5501"]),
    ("mã PIN của tôi là 7788", ["7788"]),
    ("The door code is 4711#", ["4711#"]),
    ("alarm code: 2580", ["2580"]),
    ("Der Türcode lautet 8842", ["8842"]),
    ("El código de la alarma es 1357", ["1357"]),
    ("门禁码是5566", ["5566"]),
    ("CVV 123 and expiry 12/27", ["123"]),
    ("card 4111 1111 1111 1111 exp 12/27", ["4111 1111 1111 1111"]),
    ("Pay with 5500005555555559 please", ["5500005555555559"]),
    ("amex 3782-822463-10005", ["3782-822463-10005"]),
    ("Meine Kartennummer ist 4012 8888 8888 1881", ["4012 8888 8888 1881"]),
    ("número de tarjeta: 6011111111111117", ["6011111111111117"]),
    ("卡号是6222020000000000000", ["6222020000000000000"]),
    ("use sk-proj-abcDEF123456ghiJKL789mnoPQR for the api", ["sk-proj-abcDEF123456ghiJKL789mnoPQR"]),
    ("OPENAI_API_KEY=sk-abc123def456ghi789jkl012mno345", ["sk-abc123def456ghi789jkl012mno345"]),
    ("sk-ant-api03-AbCdEf0123456789-XyZ", ["sk-ant-api03-AbCdEf0123456789-XyZ"]),
    (
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ["AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"],
    ),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a is my github token", ["ghp_16C7e42F292c6912E7710c838347Ae178B4a"]),
    ("token: glpat-xYz12345AbCdEf67890q", ["glpat-xYz12345AbCdEf67890q"]),
    ("xoxb-123456789012-abcdefGHIJKL", ["xoxb-123456789012-abcdefGHIJKL"]),
    ("STRIPE_KEY='sk_live_51HxAbCdEfGhIjKlMn'", ["sk_live_51HxAbCdEfGhIjKlMn"]),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", ["AIzaSyA1234567890abcdefghijklmnopqrstuv"]),
    ("Authorization: Bearer abc123.def456-ghi789", ["abc123.def456-ghi789"]),
    ("Authorization: Basic YWRtaW46aHVudGVyMg==", ["YWRtaW46aHVudGVyMg=="]),
    (
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        ["eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"],
    ),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc\n-----END RSA PRIVATE KEY-----", ["MIIEpAIBAAKCAQEA"]),
    (
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ",
        ["b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"],
    ),
    ('{"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADAN\\n-----END PRIVATE KEY-----\\n"}', ["MIIEvQIBADAN"]),
    ("postgres://shop:pa55w0rd@db.example.com:5432/orders", ["pa55w0rd"]),
    ("mongodb+srv://ann:s3cr3t@cluster0.mongodb.net/x", ["s3cr3t"]),
    ("redis://:topsecret@cache:6379/0", ["topsecret"]),
    ("Server=db;Database=shop;User Id=sa;Password=My$ecret1;", ["My$ecret1"]),
    (
        "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=abcd1234EFGH5678ijkl9012==;EndpointSuffix=core",
        ["abcd1234EFGH5678ijkl9012=="],
    ),
    (
        "seed phrase: witch collapse practice feed shame open despair creek road again ice least",
        ["witch collapse", "ice least"],
    ),
    ("witch collapse practice feed shame open despair creek road again ice least", ["witch collapse", "ice least"]),
    (
        "My recovery phrase is abandon ability able about above absent absorb abstract absurd abuse access accident",
        ["abandon ability"],
    ),
    (
        "Meine Wiederherstellungsphrase ist witch collapse practice feed shame open despair creek road again ice",
        ["witch collapse"],
    ),
    ("助记词：witch collapse practice feed shame open despair creek road again ice least", ["witch collapse"]),
    (
        "cụm từ khôi phục là witch collapse practice feed shame open despair creek road again ice least",
        ["witch collapse"],
    ),
    ("backup codes: 1234-5678, 8765-4321, 1111-2222", ["1234-5678", "8765-4321", "1111-2222"]),
    ("Your verification code is 482913", ["482913"]),
    ("OTP: 998877", ["998877"]),
    ("otpauth://totp/Acme:ann?secret=JBSWY3DPEHPK3PXP&issuer=Acme", ["JBSWY3DPEHPK3PXP"]),
    ("my 2FA secret is JBSWY3DPEHPK3PXP", ["JBSWY3DPEHPK3PXP"]),
    ('{"user": "ann", "password": "sunshine"}', ["sunshine"]),
    ("{'db_password': 'x9!kLm2'}", ["x9!kLm2"]),
    ("password: swordfish\nuser: ann", ["swordfish"]),
    ("const apiKey = 'a1b2c3d4e5f6g7h8'", ["a1b2c3d4e5f6g7h8"]),
    ("DB_PASSWORD=super_secret_pw", ["super_secret_pw"]),
    ("export TOKEN=abc123def456", ["abc123def456"]),
    ("conn = psycopg.connect(password=\"hunter22\", host='x')", ["hunter22"]),
    ("curl -u admin:hunter2 https://x.y", ["hunter2"]),
    ("mysql -u root -pS3cret! shop", ["S3cret!"]),
    ("<password>hunter2</password>", ["hunter2"]),
    ("hunter2 is my password", ["hunter2"]),
    ("Use Blue$ky42 as the password for the router", ["Blue$ky42"]),
    ("hunter22 ist mein Passwort", ["hunter22"]),
    ("hunter22 es mi contraseña", ["hunter22"]),
    ("hunter22 là mật khẩu của tôi", ["hunter22"]),
    ("hunter22是我的密码", ["hunter22"]),
    ("hunter22がパスワードです", ["hunter22"]),
    ("I changed my password to N3wP@ss2026", ["N3wP@ss2026"]),
    ("Ich habe mein Passwort auf Herbst2026! geändert", ["Herbst2026!"]),
    ("đổi mật khẩu thành Mua_Thu9", ["Mua_Thu9"]),
    ("cambié la contraseña a Otono_2026", ["Otono_2026"]),
    ("密码改成Qiu2026", ["Qiu2026"]),
    ("パスワードをAki2026に変えた", ["Aki2026"]),
    ("The passphrase is correct horse battery staple.", ["correct horse"]),
    ("My password is correct horse battery staple", ["correct horse"]),
    ('password: "open sesame"', ["open sesame"]),
    ("WIFI:T:WPA;S:home;P:gartenzaun;;", ["gartenzaun"]),
    ("https://hooks.slack.com/services/T00000000/B00000000/XXabc123XXdef456", ["XXabc123XXdef456"]),
    ("https://acct.blob.core.windows.net/c?sv=2020&sig=abCDef%2F123456%3D", ["abCDef%2F123456%3D"]),
    ("bot token 123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1", ["AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"]),
    ("here: x7Jk29qLmPzR8vTnW3yB5cD1", ["x7Jk29qLmPzR8vTnW3yB5cD1"]),
    (
        "private key: 4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318",
        ["4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"],
    ),
    ("The license key is ABCDE-12345-FGHIJ-67890", ["ABCDE-12345-FGHIJ-67890"]),
    ("Cookie: sessionid=38afes7a8; csrftoken=zz12", ["38afes7a8"]),
    ("machine api.x.com login ann password s3cr3tword", ["s3cr3tword"]),
    ("ALTER USER ann WITH PASSWORD 'Hemlig123';", ["Hemlig123"]),
    ("The safe combination is 12-34-56.", ["12-34-56"]),
    ("login: ann / pass: Winter#77", ["Winter#77"]),
    ("SG.abc123DEF456ghi789.jklMNO012pqrSTU345vwxYZ", ["SG.abc123DEF456ghi789"]),
    ("my API key is 7f3a9c2e8b1d4f60a5e2", ["7f3a9c2e8b1d4f60a5e2"]),
    ("Mein API-Schlüssel ist 7f3a9c2e8b1d4f60a5e2", ["7f3a9c2e8b1d4f60a5e2"]),
    ("API密钥是7f3a9c2e8b1d4f60", ["7f3a9c2e8b1d4f60"]),
    ("APIキーは7f3a9c2e8b1d4f60です", ["7f3a9c2e8b1d4f60"]),
    ("khóa API là 7f3a9c2e8b1d4f60", ["7f3a9c2e8b1d4f60"]),
    ("la clave de API es 7f3a9c2e8b1d4f60", ["7f3a9c2e8b1d4f60"]),
    ("username ann, password hunter2!", ["hunter2!"]),
    ("Passwort: Sommer2026", ["Sommer2026"]),
    ("npm_abcdefghij1234567890KLMNOPQRST", ["npm_abcdefghij1234567890KLMNOPQRST"]),
    ("hf_AbCdEfGhIjKlMnOpQrStUv12", ["hf_AbCdEfGhIjKlMnOpQrStUv12"]),
]
HARMLESS = [
    "My phone number is +84 905 123 456",
    "Call me at (555) 867-5309",
    "0171 2345678 ist meine Nummer",
    "Tel: 090-1234-5678",
    "电话13812345678",
    "+34 612 34 56 78",
    "Order 114-3941689-8772232 arrived",
    "Bestellnummer 4929301",
    "order number 1234567890123456",
    "Tracking 1Z999AA10123456784",
    "invoice INV-2026-00123",
    "Rechnung RE-20261125-77",
    "It cost $1,299.99",
    "das kostet 49,90 €",
    "€5.000.000",
    "1.250.000 đồng",
    "¥12,800",
    "the total is 4111 dollars",
    "on 2026-11-25 at 14:30",
    "25/11/2026",
    "born 1987-04-12",
    "25.11.2026",
    "2026年11月25日",
    "1764115200",
    "1764115200123",
    "since 2019",
    "version 3.11.4",
    "Python 3.12.0rc1",
    "node v20.11.1",
    "react-mem 0.9.3",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "git show 16dedd43",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "md5 d41d8cd98f00b204e9800998ecf8427e",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "507f1f77bcf86cd799439011",
    "ISBN 978-3-16-148410-0",
    "IBAN DE89 3704 0044 0532 0130 00",
    "ES9121000418450200051332",
    "GB29 NWBK 6016 1331 9268 19",
    "My password is too short",
    "The password is required.",
    "the password is wrong",
    "I forgot my password",
    "password reset is broken",
    "Password must have 12 characters",
    "Mein Passwort ist abgelaufen.",
    "Das Passwort ist falsch",
    "La contraseña es incorrecta.",
    "mật khẩu sai rồi",
    "密码错误",
    "パスワードが間違っています",
    "The password policy requires 12 characters and ISO27001",
    "I use 1Password as my password manager",
    "max_tokens=2048",
    "max_tokens: 4096",
    "token count: 1500",
    "the token is expired",
    "tokens: 120,000",
    '"max_tokens": 4096',
    "The secret is garlic",
    "secret ingredient is cinnamon",
    "error code 500",
    "zip code 94105",
    "area code 415",
    "country code +49",
    "discount code SAVE20",
    "PLZ 10115",
    "flight LH1234",
    "seat 12A",
    "room 404",
    "license plate B-AB 1234",
    "MAC 00:1B:44:11:3A:B7",
    "IP 192.168.1.10",
    "port 5432",
    "https://youtu.be/dQw4w9WgXcQ",
    "https://docs.google.com/document/d/1A2b3C4d5E6f7G8h9I0jKlMnOpQrStUvWxYz/edit",
    "lat 16.4637 lon 107.5909",
    "IMEI 356938035643809",
    "VIN 1HGCM82633A004352",
    "iPhone15ProMax256GB",
    "my_function_name_2",
    "getElementById2",
    "password = get_password()",
    "password: str",
    "password=os.environ['DB_PASSWORD']",
    "api_key = settings.api_key",
    "token = user.token",
    "self.password = password",
    "postgres://localhost:5432/db",
    "http://localhost:8080/@foo",
    "I weigh 72.5 kg",
    "pins 3 and 4",
    "GPIO pin 17",
    "opinion 4711",
    "train ICE 1234",
    "Card game 52",
    "the card is red",
    "basic understanding of 3 things",
    "bearer of news",
    "please open the window and then close the door because it gets cold",
    "integrity sha512-AbCdEf0123456789abcdefGHIJKLmnop==",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "Mein Passwort habe ich vergessen.",
    "He asked for my PIN in 2024",
    "We pinned 3 messages",
    "the key is 42 steps",
    "Schlüssel 12 hängt am Brett",
    "Số điện thoại của tôi là 0905123456",
    "Đơn hàng 20261125001",
    "mi pedido 55512345",
    "número de pedido 998877665544",
    "订单号2026112500012345",
    "注文番号 250-1234567-1234567",
    "Kundennummer 88123456",
    "customer id 99182",
    "SSN? no",
    "temperature -40",
    "score 3:2",
    "https://github.com/a/b/commit/9fceb02d0ae598e95dc970b74767f19372d61af8",
    "rgb(12, 34, 56)",
    "#ff00aa",
    "UTC+07:00",
    "8K TV 65 inch",
    "room 12-34-56",
    "sk-learn",
    "the wifi is slow",
    "API rate limit 5000 per hour",
    "4 cards, 16 tokens",
    "My bank account number is 0123456789",
    "passport photos 35x45 mm",
    "PIN code area: Hanoi",
    "password for ann@example.com was reset",
    "Can you reset the password for https://example.com/login?",
    "token-based auth v2",
    "secret santa 2026",
    "the code review 1234",
    "postal code 700000",
    "The door is 2m wide",
    "la tarjeta es roja",
    "número 4711 de la calle",
    "mã đơn hàng là 123456",
    "mã bưu điện 700000",
]
OFF_THE_RECORD = [
    "Off the record: I'm leaving my job in March.",
    "I'm leaving my job. This is off the record.",
    "I'm leaving. Off the record!",
    "Please don't remember this: I had an affair.",
    "I had an affair. Please don't save this.",
    "Don't store this message. I owe money.",
    "I owe Bo 500. Please keep this between us.",
    "Off the record, I hate my boss",
    "off the record - I drink",
    "(Off the record) I drink",
    "Keep this off the record: x y",
    "What I say now is off the record. I drink.",
    "I drink. don't write this down",
    "Do not remember any of this. I drink.",
    "Im Vertrauen: ich kündige.",
    "Unter uns gesagt, ich kündige.",
    "Ich kündige. Bitte merk dir das nicht.",
    "Ich kündige. Bitte nicht speichern.",
    "Merke dir das nicht: ich kündige",
    "Off the record: ich kündige",
    "Ich kündige. Das bleibt unter uns.",
    "Speichere das bitte nicht. Ich kündige.",
    "Entre nosotros: dejo el trabajo.",
    "Dejo el trabajo. Por favor, no lo guardes.",
    "No recuerdes esto: dejo el trabajo.",
    "Extraoficialmente, dejo el trabajo.",
    "Dejo el trabajo. Esto queda entre nosotros.",
    "No guardes este mensaje. Dejo el trabajo.",
    "Đừng ghi nhớ điều này: tôi sắp nghỉ việc.",
    "Tôi sắp nghỉ việc. Đừng lưu lại nhé.",
    "Nói riêng nhé: tôi sắp nghỉ việc",
    "Chuyện này chỉ giữa chúng ta: tôi nghỉ việc",
    "Tôi nghỉ việc. Xin đừng ghi lại điều này.",
    "Không lưu tin nhắn này. Tôi nghỉ việc.",
    "私下说，我要辞职了。",
    "请不要记录这条消息。我要辞职了。",
    "我要辞职了，别记下来。",
    "不要记住这个：我要辞职",
    "我要辞职了。请勿保存。",
    "这件事只有你知我知：我要辞职",
    "オフレコで、会社を辞めます。",
    "オフレコですが、会社を辞めます",
    "会社を辞めます。これは記録しないでください。",
    "ここだけの話ですが、会社を辞めます。",
    "これは覚えないで。会社を辞めます。",
    "会社を辞めます。この話は保存しないでください。",
]
ON_THE_RECORD = [
    "What does off the record mean?",
    "He spoke off the record to the press yesterday.",
    "The minister said it off the record.",
    "Don't store this in the fridge, it goes bad.",
    "I like tea.",
    "Remember this: I like tea.",
    "Ich merke mir das nicht gut.",
    "Please don't remember me as rude.",
    "She told me, off the record, that it is true and I like tea.",
    "Speichere das bitte.",
    "Guarda esto, por favor.",
    "请记住这个：我喜欢茶",
    "覚えておいてください。お茶が好きです。",
    "Tôi không nhớ tên anh ấy.",
    "Đừng quên điều này: tôi dị ứng lạc",
    "Don't forget this: I am allergic",
    "Mi contraseña no la recuerdo",
    "I can't remember this song",
    "unter uns wohnt eine Familie",
    "Entre nosotros hay amor",
    "我们之间有矛盾",
    "私は記録係です",
    "記録しました",
    "No lo recuerdo bien",
]
TURN = {"extraction": {"mode": "inline"}}


class Talk:
    """An agent with memory, and what it has told and kept."""

    def __init__(self, answers: list[Any], tools: Any = (), **policy: Any) -> None:
        self.model, self.store = ScriptedModel(script=answers), InMemoryStore()
        self.middleware = MemoryMiddleware(policy=TURN | policy)
        self.graph = create_agent(
            self.model, list(tools), middleware=[self.middleware], store=self.store, checkpointer=InMemorySaver()
        )
        self.events: list[dict[str, Any]] = []

    async def say(self, text: str, thread: str = "1") -> None:
        config: Any = {"configurable": {"thread_id": thread, "user_id": "ann"}}
        asked: Any = {"messages": [HumanMessage(text)]}
        async for event in self.graph.astream(asked, config, stream_mode="custom"):
            self.events.append(event)
        await self.middleware.adrain()

    def kept(self) -> str:
        places = self.store.list_namespaces(limit=1000)
        return json.dumps([i.value for p in places for i in self.store.search(p, limit=10_000)], ensure_ascii=False)

    async def exported(self) -> str:
        memory = MemoryFacade(self.store)
        found = await memory.list_records("ann")
        return json.dumps([item.payload for item in found], ensure_ascii=False)


async def test_no_secret_is_kept_or_sent_again_and_harmless_numbers_are() -> None:
    talk = Talk(["Noted."] * (len(SECRETS) + 1))
    for text, _ in SECRETS:
        await talk.say(text)
    await talk.say("What do you know of my passwords, codes, keys and cards?", "2")
    prompt = "".join(message.text for message in talk.model.prompts[-1])
    kept, exported = talk.kept(), await talk.exported()
    parts = [json.dumps(part, ensure_ascii=False)[1:-1] for _, told in SECRETS for part in told if len(part) > 4]
    assert [part for part in parts if part in kept or part in exported or part in prompt] == []
    assert "[secret: password]" in kept
    assert "[secret: password]" in prompt


async def test_harmless_numbers_are_kept() -> None:
    memory = MemoryFacade(InMemoryStore())
    said = await memory.dialog.append("ann", "1", [{"role": "user", "content": text} for text in HARMLESS])
    # a name before a colon may be taken for a speaker's
    assert len(said) == len(HARMLESS)
    assert all(text.endswith(str(message.content)) for message, text in zip(said, HARMLESS, strict=True))


async def test_an_answer_a_step_and_a_later_message_do_not_repeat_a_secret() -> None:
    def login(secret: str) -> str:
        """Log in."""
        return f"{secret} was taken"

    talk = Talk([calls(("login", {"secret": "hunter22"})), "I took hunter22.", "Sorry."], [login])
    await talk.say("My password is hunter22.")
    await talk.say("hunter22 does not work.")
    assert "hunter22" not in talk.kept()
    assert "does not work" in talk.kept()


@pytest.mark.parametrize("text", OFF_THE_RECORD)
async def test_off_the_record_nothing_is_kept(text: str) -> None:
    talk = Talk(["I am sorry about the quitting."])
    await talk.say(text)
    kept = talk.kept()
    assert text not in kept
    assert "quitting" not in kept
    assert await talk.exported() == "[]"
    assert any(event.get("status") == "off" for event in talk.events)


async def test_what_only_looks_like_it_is_kept() -> None:
    memory = MemoryFacade(InMemoryStore())
    said = await memory.dialog.append("ann", "1", [{"role": "user", "content": text} for text in ON_THE_RECORD])
    # a name before a colon may be taken for a speaker's
    assert len(said) == len(ON_THE_RECORD)
    assert all(text.endswith(str(message.content)) for message, text in zip(said, ON_THE_RECORD, strict=True))


async def test_a_private_part_goes_with_its_answer_and_the_conversation_goes_on() -> None:
    talk = Talk(["Tea is fine.", "Owing Bo is bad.", "Mimi, nice."])
    await talk.say("I like tea.")
    await talk.say("I live in Hue. <private>I owe Bo 500 dong.</private>")
    await talk.say("My cat is called Mimi.")
    kept = talk.kept()
    assert all(text in kept for text in ("I like tea.", "I live in Hue.", "Mimi, nice."))
    assert "Bo" not in kept


async def test_the_thread_goes_on_behind_a_turn_off_the_record() -> None:
    talk = Talk(["One.", "Two.", "Three."])
    for text in ("I like tea.", "Off the record: I quit.", "I live in Hue."):
        await talk.say(text)
    found = await MemoryFacade(talk.store).list_records("ann", [MemoryScope.DIALOG])
    said = sorted((i.payload["turn"], i.payload["text"]) for i in found if i.source == "message")
    assert [text for _, text in said] == ["I like tea.", "One.", "I live in Hue.", "Three."]
    facts = await MemoryFacade(talk.store).list_records("ann", [MemoryScope.SEMANTIC])
    assert {i.payload["text"] for i in facts if i.payload.get("current")} >= {"I like tea.", "I live in Hue."}


async def test_a_policy_keeps_or_refuses_secrets() -> None:
    keeps, refuses = Talk(["Ok."], secrets="keep"), Talk(["Ok."], secrets="refuse")
    for talk in (keeps, refuses):
        await talk.say("My password is hunter22.")
    assert "hunter22" in keeps.kept()
    assert "password" not in refuses.kept()
    assert any("secret" in event.get("message", "") for event in refuses.events)
    memory = MemoryFacade(InMemoryStore(), MemoryPolicy(secrets="refuse"))
    event = MemoryWriteEvent(
        user_id="ann", session_id="1", agent_id="a", scope=MemoryScope.SEMANTIC, data={"text": "My PIN is 4821."}
    )
    with pytest.raises(ValueError, match="holds a secret"):
        await memory.write(event)


async def test_what_an_application_writes_is_masked() -> None:
    memory = MemoryFacade(InMemoryStore())
    await memory.profile.update_profile("ann", {"wifi_password": "sunflower", "city": "Hue"})
    await memory.semantic.add(["My PIN is 4821."], user_id="ann", session_id="1", agent_id="a")
    await memory.semantic.add_documents([{"text": "db: postgres://ann:pa55w0rd@db/shop"}], user_id="ann")
    kept = json.dumps([item.payload for item in await memory.list_records("ann")])
    assert [part for part in ("sunflower", "4821", "pa55w0rd") if part in kept] == []
    assert "Hue" in kept
