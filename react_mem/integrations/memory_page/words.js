"use strict";

// Every word of the page, in the languages that it speaks. {name} is filled in; {name:one|other} is what goes with its number.
const WORDS = {
  en: {
    skip: "Skip to the content", brand: "Memory", language: "Language", sections: "Sections", notices: "Notices",
    who: "Who I am", token: "Token", user: "User", use: "Use this", cancel: "Cancel", close: "Close",
    tokenHint: "It stays in this tab until you close it.",
    userHint: "Whose memory is shown; it counts only where the server authenticates nobody.",
    whoAsked: "The server wants to know who you are.", whoRefused: "The server does not accept this token.",
    whoNobody: "The server does not know whose memory to show: name a user.",
    whoExpired: "Your token has expired: give a new one.", whoNoMore: "The server does not accept this token any more; it may have expired.",
    takes_token: "This server knows its users by a token.", takes_user: "This server authenticates nobody: it shows the memory of the user that you name.",
    whoDoomed: "“{text}” has not been forgotten yet. If somebody else goes on here, it stays.",
    sparedByChange: "Somebody else is here now: what was still waiting to be forgotten was not forgotten.",
    live: "Live: changes appear by themselves", notLive: "Not connected: changes do not appear by themselves",
    memories: "What I know of you", conversations: "Conversations", why: "Why that answer", graph: "Graph",
    skills: "Skills", waiting: "Waiting", hidden: "Hidden", usage: "Usage",
    memoriesLead: "What your conversations have left, with the words that say it. You can correct it, and have it forgotten.",
    search: "Search what is remembered", find: "Search", clear: "Back to the list",
    topics: "Topics", otherTopics: "Other", all: "Everything", state: "Show", current: "what is believed now", past: "what was believed before",
    both: "both", remember: "Have something remembered", rememberLabel: "In your own words", rememberDo: "Remember",
    remembered: "Remembered.", known: "That was known already.",
    more: "More", shown: "{count} of {total}", none: "Nothing is remembered here yet.", notFound: "Nothing was found.",
    found: "{count} found", notOfKind: "Nothing of this kind; of other kinds {count} {count:was|were} found.", missing: "This did not answer, so something may be missing: {names}",
    edit: "Correct", editLabel: "How it is", save: "Save", forget: "Forget", details: "Details", showWhole: "Show all of it", showLess: "Show less",
    room: "{count} of {most} characters", tooLong: "{count} characters: {over} more than the {most} that there may be. Nothing is cut, and nothing is saved until it is shorter.",
    blank: "Write how it is. To have it removed, leave this and choose Forget.", blankTold: "Write something first.", same: "This is what it says already.",
    changedTo: "It has changed meanwhile. Now it says:", changedChoice: "Your words are still here: save again to put them in its place, or cancel to leave it.",
    endedMeanwhile: "It has been forgotten or is not believed any more.", endedChoice: "Your words are still here: have them remembered anew, or cancel.",
    saveAgain: "Save again", undoFailed: "It was not changed back to “{text}”. {why}",
    corrected: "Corrected.", undo: "Undo", undone: "Changed back.",
    doomed: "“{text}” will be forgotten for good in {seconds} seconds. If you leave the page before, it stays.",
    doomedWaits: "“{text}” waits to be forgotten for good while you are at these buttons. Forget now does it at once; when you move on, it is done after {seconds} seconds.",
    now: "Forget now", kept: "It stays.", forgetting: "Forgetting “{text}” …",
    forgotten: "Forgotten for good: {removed} {removed:record|records} removed, {rewritten} rewritten without it.",
    forgottenLess: "“{text}” is forgotten, but not everything could be checked.",
    forgetLater: "“{text}” is not forgotten yet. {why} It is tried again once the server is there.",
    forgetChanged: "“{text}” has changed meanwhile and was not forgotten. This is how it stands now.",
    forgetFailed: "“{text}” was not forgotten. {why}", goneAlready: "“{text}” is not there any more.", serverSays: "What the server says",
    leftBefore: "You left the page before “{text}” was forgotten: it is still remembered.",
    since: "since {date}", until: "until {date}", saidOn: "{date}", doubted: "in doubt", pastMark: "no longer believed",
    from_user: "you said it", from_assent: "you agreed to it", from_speaker: "another speaker said it",
    from_quoted: "quoted in a message of yours",
    from_assistant: "the assistant said it", from_tool: "from a tool", from_web: "from a web page", from_import: "imported",
    wordsOfIt: "The words that say it", noWords: "No message says it any more.", history: "What was believed in its place",
    why_believed: "believed now", why_replaced: "replaced by what came after", why_ended: "ended by your words", why_over: "over by its own date",
    why_reworded: "the same in other words", why_set_aside: "set aside, then said again",
    doubts: "What speaks against it", derived: "What came of it", links: "What it is linked with", used: "Answers it stood behind",
    answerOf: "The answer of {date}", inConversation: "In its conversation", added: "{count} new", memory: "A memory",
    profile: "Profile",
    kind_fact: "Facts", kind_episode: "Episodes", kind_skill: "Skills", kind_document: "Documents", kind_knowledge: "Knowledge",
    kind_task: "Tasks", kind_task_step: "Steps", kind_summary: "Summaries", kind_message: "Messages", kind_concept: "Concepts",
    kind_experience: "Experience", kind_profile: "Profile", kind_file: "Files", kind_outcome: "Outcomes of turns", kind_conversation: "Conversations",
    kind_chain: "Summing up in progress", kind_pending: "Turns that wait", kind_state: "Where tasks stand", kind_other: "Other",
    one_fact: "Fact", one_episode: "Episode", one_skill: "Skill", one_document: "Document", one_knowledge: "Knowledge", one_task: "Task",
    one_task_step: "Step", one_summary: "Summary", one_message: "Message", one_concept: "Concept", one_experience: "Experience", one_file: "File",
    one_profile: "Profile", one_outcome: "Outcome of a turn", one_conversation: "Conversation", one_chain: "Summing up", one_pending: "Turn that waits", one_state: "Where a task stands",
    arm_vector: "meaning", arm_lexical: "words", arm_window: "what was said around it", arm_speaker: "who said it",
    arm_time: "the time asked about", arm_standing: "a standing wish of yours", arm_hub: "close to everything", arm_graph: "links",
    because: "Found by (share of the strongest)", percent: "{percent} %", likeness: "{percent} % alike",
    conversationsLead: "What was talked about, from the summary down to every message.",
    noConversations: "There are no conversations yet.", messagesCount: "{count} {count:message|messages}", untitled: "Conversation of {date}",
    summaries: "Summary", noSummaries: "It has not been summed up yet.", turns: "turns {first} to {last}", turn: "turn {first}", messages: "Messages",
    role_user: "You", role_assistant: "Assistant", role_tool: "Tool", role_system: "System",
    whyThis: "Why this answer?", forgetConversation: "Forget this conversation", conversationOf: "the conversation of {date}",
    back: "Back",
    whyLead: "See which memories stood behind an answer, or what the model would be shown for a message.",
    latestAnswers: "Your latest answers", noAnswers: "No answer is remembered yet.", tryMessage: "Try a message",
    tryLead: "Nothing is sent: this shows each part of the prompt that such a message would get, what it takes, and which memories stand in it.",
    message: "A message", explain: "Show the prompt", tokensShare: "{tokens} {tokens:token|tokens} · {share}", tokensOf: "The prompt takes {tokens} of the {limit} tokens that there are.",
    sharesOf: "Below, each part as its share of these {tokens} tokens.",
    parts: "Parts of the prompt", part: "Part", place: "Place", wholePrompt: "The whole prompt", inIt: "Memories in it",
    answerLead: "The memories that stood in the prompt of this answer.", usedNone: "No memory stood in the prompt of this answer.",
    part_system: "Instructions", part_tools: "Tools", part_profile: "Profile", part_question: "Question", part_web_pages: "Web pages",
    part_memories: "Memories", part_outline: "Outline of all that was said", part_summaries: "Summaries", part_conversation: "Conversation",
    part_working_memory: "Notes of this task",
    place_system: "the beginning", place_memory: "behind the instructions", place_tools: "the tools", place_conversation: "the conversation",
    place_question: "the end",
    prompt_system: "Instructions", prompt_human: "You", prompt_ai: "Assistant", prompt_tool: "Tool",
    dropped: "{count} left out for want of room", cutOff: "{count} {count:character|characters} of the message {count:does|do} not fit.",
    goneSince: "{count} more {count:is|are} not there any more.", nextPrompt: "The prompt of the next message",
    graphLead: "What is remembered, and how it hangs together.", drawing: "Drawing", asList: "List", view: "View",
    kinds: "Kinds of memories", relations: "Kinds of links", chosen: "Chosen", chooseOne: "Choose a memory to see what it is linked with.",
    graphSize: "{nodes} {nodes:memory|memories}, {links} {links:link|links}", leftOut: "{count} older {count:one is|ones are} left out: the newest 2,000 are shown.",
    graphKeys: "Drag to move, scroll or use + and − to zoom, arrow keys to move. The list has the same.", findInGraph: "Find",
    zoomIn: "Closer", zoomOut: "Further", fit: "All of it", noLinks: "No links", drawAgain: "Memory has changed: draw it anew", linksCount: "{count} {count:link|links}",
    link_support: "comes from", link_summarization: "sums up", link_milestone: "was reached through", link_dependency: "depends on",
    link_timeline: "was followed by", link_semantic: "is like",
    back_support: "supports", back_summarization: "is summed up in", back_milestone: "led to", back_dependency: "is needed for",
    back_timeline: "followed on", back_semantic: "is like",
    skillsLead: "Ways of doing things that were learnt from what worked.", noSkills: "No skill has been learnt yet.",
    skill: "Skill", uses: "Used", successes: "Worked", rate: "Success", skillState: "State", never: "not used yet",
    hiddenLead: "What a conversation seems to have asked to forget. It is hidden, and erased after a day.", noHidden: "Nothing is hidden.",
    erasedAt: "Erased at", eraseNow: "Erase now", erased: "Erased.", broughtBack: "It is back.",
    waitingLead: "What was said and has not been taken in yet. Nothing of it is lost.", noWaiting: "Nothing waits.", notTold: "This server does not tell.",
    skill_probation: "on trial", skill_active: "in use", skill_archived: "put aside",
    waitsSince: "Since", waitsWhy: "Why", waitsWhat: "What", waitsTurn: "It has not had its turn yet.", parked: "Given up",
    attempts: "tried {count} {count:time|times}", retryAt: "again at {date}",
    health_database: "Database", health_embedder: "Embedder", health_worker: "Worker", health_queue: "Queue of all users", works: "Works",
    queueOf: "{waiting} {waiting:waits|wait}, {failed} {failed:was|were} tried in vain, {parked} given up", milliseconds: "{count} ms", exported: "{name} is saved.",
    usageLead: "How much is remembered, and taking it along.", count: "How many", what: "What", bytes: "Bytes", texts: "Texts in the index",
    health: "Health", exportTitle: "Take it along", exportLead: "Everything that is remembered of you, as a file.",
    export_jsonl: "All of it (JSON Lines)", export_html: "To read (HTML)", export_markdown: "To read (Markdown)",
    loading: "Loading …", again: "Try again", yes: "yes", no: "no",
    wrong_network: "The server cannot be reached.", wrong_401: "The server does not know who you are.",
    wrong_403: "You may not do this on this server.", wrong_404: "There is no such thing in your memory.", wrong_412: "It has changed meanwhile.",
    wrong_413: "That is too long, or your memory is full.", wrong_string_too_long: "That is too long.", wrong_422: "The server refuses this as it is.",
    wrong_422_POST_text: "This states nothing that could be remembered. Say it as a statement of your own, such as “I live in Hue.”; to have something removed, choose Forget beside it.",
    wrong_422_PATCH_text: "This cannot be put in its place: only a fact that is still believed is corrected, by what it does not say yet.",
    wrong_422_agent: "The agent of this server has no such prompt.", wrong_429: "That was too much for now. Wait a little, then try again.",
    wrong_500: "The server has failed at this.", wrong_502: "The server cannot be reached.", wrong_504: "The server does not answer in time.",
    wrong_423: "This is under a legal hold and cannot be removed.", wrong_503: "The memory is not available now.",
    wrong_other: "That did not work.",
  },
  vi: {
    skip: "Đến nội dung", brand: "Trí nhớ", language: "Ngôn ngữ", sections: "Các mục", notices: "Thông báo",
    who: "Tôi là ai", token: "Mã truy cập", user: "Người dùng", use: "Dùng", cancel: "Hủy", close: "Đóng",
    tokenHint: "Chỉ được giữ trong thẻ này, đến khi bạn đóng thẻ.",
    userHint: "Trí nhớ của ai được hiển thị; chỉ có tác dụng khi máy chủ không xác thực ai.",
    whoAsked: "Máy chủ cần biết bạn là ai.", whoRefused: "Máy chủ không chấp nhận mã này.",
    whoNobody: "Máy chủ không biết cần cho xem trí nhớ của ai: hãy nhập tên người dùng.",
    whoExpired: "Mã truy cập của bạn đã hết hạn: hãy nhập mã mới.", whoNoMore: "Máy chủ không còn chấp nhận mã này; có thể mã đã hết hạn.",
    takes_token: "Máy chủ này nhận ra người dùng bằng mã truy cập.", takes_user: "Máy chủ này không xác thực ai: hãy nhập tên người dùng có trí nhớ cần xem.",
    whoDoomed: "“{text}” vẫn chưa bị quên. Nếu người khác tiếp tục ở đây, điều đó vẫn còn.",
    sparedByChange: "Nay là người khác: những gì còn đang chờ bị quên đã không bị quên.",
    live: "Trực tiếp: thay đổi tự hiện ra", notLive: "Mất kết nối: thay đổi không tự hiện ra",
    memories: "Tôi biết gì về bạn", conversations: "Hội thoại", why: "Vì sao trả lời vậy", graph: "Đồ thị",
    skills: "Kỹ năng", waiting: "Đang chờ", hidden: "Đang ẩn", usage: "Dung lượng",
    memoriesLead: "Những gì các cuộc trò chuyện để lại, kèm lời đã nói. Bạn có thể sửa và xóa.",
    search: "Tìm trong trí nhớ", find: "Tìm", clear: "Về danh sách",
    topics: "Chủ đề", otherTopics: "Khác", all: "Tất cả", state: "Hiện", current: "điều đang được tin", past: "điều từng được tin", both: "cả hai",
    remember: "Nhờ ghi nhớ một điều", rememberLabel: "Bằng lời của bạn", rememberDo: "Ghi nhớ",
    remembered: "Đã ghi nhớ.", known: "Điều này đã biết rồi.",
    more: "Thêm", shown: "{count} trên {total}", none: "Ở đây chưa có gì được ghi nhớ.", notFound: "Không tìm thấy gì.",
    found: "Tìm thấy {count}", notOfKind: "Không có gì thuộc loại này; tìm thấy {count} mục thuộc loại khác.", missing: "Phần sau không trả lời nên có thể còn thiếu: {names}",
    edit: "Sửa", editLabel: "Nội dung đúng", save: "Lưu", forget: "Quên đi", details: "Chi tiết", showWhole: "Hiện toàn bộ", showLess: "Thu gọn",
    room: "{count} trên {most} ký tự", tooLong: "{count} ký tự: nhiều hơn {over} so với mức tối đa {most}. Không có gì bị cắt, và chưa có gì được lưu cho đến khi ngắn hơn.",
    blank: "Hãy viết nội dung đúng. Nếu muốn xóa, hãy hủy rồi chọn Quên đi.", blankTold: "Trước hết hãy viết gì đó.", same: "Nội dung đã đúng như vậy rồi.",
    changedTo: "Trong lúc đó nội dung đã đổi. Bây giờ là:", changedChoice: "Lời bạn viết vẫn còn đây: lưu lần nữa để thay vào, hoặc hủy để giữ nguyên.",
    endedMeanwhile: "Điều này đã bị quên hoặc không còn được tin.", endedChoice: "Lời bạn viết vẫn còn đây: ghi nhớ như điều mới, hoặc hủy.",
    saveAgain: "Lưu lần nữa", undoFailed: "Chưa đổi lại thành “{text}”. {why}",
    corrected: "Đã sửa.", undo: "Hoàn tác", undone: "Đã đổi lại như cũ.",
    doomed: "“{text}” sẽ bị quên hẳn sau {seconds} giây. Nếu bạn rời trang trước đó, nó vẫn còn.",
    doomedWaits: "“{text}” đang chờ bị quên hẳn khi bạn còn ở các nút này. Quên ngay sẽ làm luôn; khi bạn đi tiếp, việc đó được làm sau {seconds} giây.",
    now: "Quên ngay", kept: "Vẫn được giữ lại.", forgetting: "Đang quên “{text}” …",
    forgotten: "Đã quên hẳn: xóa {removed} mục, viết lại {rewritten} mục không còn điều đó.",
    forgottenLess: "Đã quên “{text}”, nhưng chưa kiểm tra được hết.",
    forgetLater: "“{text}” chưa bị quên. {why} Sẽ thử lại khi máy chủ hoạt động trở lại.",
    forgetChanged: "Trong lúc đó “{text}” đã đổi nên chưa bị quên. Đây là nội dung hiện tại.",
    forgetFailed: "“{text}” chưa bị quên. {why}", goneAlready: "“{text}” không còn nữa.", serverSays: "Máy chủ nói (tiếng Anh)",
    leftBefore: "Bạn đã rời trang trước khi “{text}” bị quên: điều đó vẫn được nhớ.",
    since: "từ {date}", until: "đến {date}", saidOn: "{date}", doubted: "còn nghi ngờ", pastMark: "không còn được tin",
    from_user: "chính bạn nói", from_assent: "bạn đã đồng ý", from_speaker: "người khác nói", from_quoted: "trích trong tin nhắn của bạn",
    from_assistant: "trợ lý nói", from_tool: "từ công cụ", from_web: "từ trang web", from_import: "được nhập vào",
    wordsOfIt: "Lời đã nói", noWords: "Không còn tin nhắn nào nói điều này.", history: "Điều từng được tin",
    why_believed: "đang được tin", why_replaced: "đã được thay bằng điều nói sau", why_ended: "kết thúc theo lời bạn", why_over: "đã hết hạn",
    why_reworded: "cùng ý, cách nói khác", why_set_aside: "từng bỏ qua, rồi được nhắc lại",
    doubts: "Điều trái với nó", derived: "Điều rút ra từ nó", links: "Liên kết", used: "Những câu trả lời đã dùng nó",
    answerOf: "Câu trả lời ngày {date}", inConversation: "Trong hội thoại", added: "{count} mục mới", memory: "Một điều ghi nhớ",
    profile: "Hồ sơ",
    kind_fact: "Sự việc", kind_episode: "Sự kiện", kind_skill: "Kỹ năng", kind_document: "Tài liệu", kind_knowledge: "Kiến thức",
    kind_task: "Việc", kind_task_step: "Bước", kind_summary: "Tóm tắt", kind_message: "Tin nhắn", kind_concept: "Khái niệm",
    kind_experience: "Kinh nghiệm", kind_profile: "Hồ sơ", kind_file: "Tệp", kind_outcome: "Kết quả của lượt", kind_conversation: "Hội thoại",
    kind_chain: "Tóm tắt đang thực hiện", kind_pending: "Lượt đang chờ", kind_state: "Tình trạng công việc", kind_other: "Khác",
    one_fact: "Sự việc", one_episode: "Sự kiện", one_skill: "Kỹ năng", one_document: "Tài liệu", one_knowledge: "Kiến thức", one_task: "Việc",
    one_task_step: "Bước", one_summary: "Tóm tắt", one_message: "Tin nhắn", one_concept: "Khái niệm", one_experience: "Kinh nghiệm", one_file: "Tệp",
    one_profile: "Hồ sơ", one_outcome: "Kết quả của lượt", one_conversation: "Hội thoại", one_chain: "Việc tóm tắt", one_pending: "Lượt đang chờ", one_state: "Tình trạng công việc",
    arm_vector: "ý nghĩa", arm_lexical: "từ ngữ", arm_window: "lời nói xung quanh", arm_speaker: "người nói",
    arm_time: "thời gian được hỏi", arm_standing: "yêu cầu lâu dài của bạn", arm_hub: "gần với mọi điều", arm_graph: "liên kết",
    because: "Tìm thấy nhờ (so với phần mạnh nhất)", percent: "{percent} %", likeness: "giống {percent} %",
    conversationsLead: "Những điều đã trò chuyện, từ tóm tắt đến từng tin nhắn.",
    noConversations: "Chưa có hội thoại nào.", messagesCount: "{count} tin nhắn", untitled: "Hội thoại ngày {date}",
    summaries: "Tóm tắt", noSummaries: "Chưa được tóm tắt.", turns: "lượt {first} đến {last}", turn: "lượt {first}", messages: "Tin nhắn",
    role_user: "Bạn", role_assistant: "Trợ lý", role_tool: "Công cụ", role_system: "Hệ thống",
    whyThis: "Vì sao trả lời vậy?", forgetConversation: "Quên hội thoại này", conversationOf: "hội thoại ngày {date}",
    back: "Quay lại",
    whyLead: "Xem những điều ghi nhớ đứng sau một câu trả lời, hoặc mô hình sẽ được cho xem gì với một tin nhắn.",
    latestAnswers: "Những câu trả lời mới nhất", noAnswers: "Chưa có câu trả lời nào được ghi nhớ.", tryMessage: "Thử một tin nhắn",
    tryLead: "Không gửi gì đi: đây là từng phần của lời nhắc cho tin nhắn như vậy, độ dài, và những điều ghi nhớ trong đó.",
    message: "Một tin nhắn", explain: "Xem lời nhắc", tokensShare: "{tokens} token · {share}", tokensOf: "Lời nhắc chiếm {tokens} trên {limit} token.",
    sharesOf: "Dưới đây, mỗi phần theo tỷ lệ trong {tokens} token này.",
    parts: "Các phần của lời nhắc", part: "Phần", place: "Vị trí", wholePrompt: "Toàn bộ lời nhắc", inIt: "Điều ghi nhớ trong đó",
    answerLead: "Những điều ghi nhớ có trong lời nhắc của câu trả lời này.", usedNone: "Không có điều ghi nhớ nào trong lời nhắc này.",
    part_system: "Chỉ dẫn", part_tools: "Công cụ", part_profile: "Hồ sơ", part_question: "Câu hỏi", part_web_pages: "Trang web",
    part_memories: "Điều ghi nhớ", part_outline: "Đại ý mọi điều đã nói", part_summaries: "Tóm tắt", part_conversation: "Hội thoại",
    part_working_memory: "Ghi chú của việc này",
    place_system: "ở đầu", place_memory: "sau chỉ dẫn", place_tools: "phần công cụ", place_conversation: "phần hội thoại",
    place_question: "ở cuối",
    prompt_system: "Chỉ dẫn", prompt_human: "Bạn", prompt_ai: "Trợ lý", prompt_tool: "Công cụ",
    dropped: "{count} mục bị bỏ vì thiếu chỗ", cutOff: "{count} ký tự của tin nhắn không vừa.",
    goneSince: "{count} mục khác nay không còn.", nextPrompt: "Lời nhắc cho tin nhắn tiếp theo",
    graphLead: "Những gì được ghi nhớ, và chúng gắn với nhau ra sao.", drawing: "Hình vẽ", asList: "Danh sách", view: "Cách xem",
    kinds: "Loại ghi nhớ", relations: "Loại liên kết", chosen: "Đang chọn", chooseOne: "Chọn một mục để xem nó gắn với những gì.",
    graphSize: "{nodes} mục, {links} liên kết", leftOut: "Bỏ bớt {count} mục cũ hơn: chỉ hiện 2.000 mục mới nhất.",
    graphKeys: "Kéo để di chuyển, cuộn hoặc dùng + và − để phóng to thu nhỏ, phím mũi tên để di chuyển. Danh sách có cùng nội dung.", findInGraph: "Tìm",
    zoomIn: "Gần hơn", zoomOut: "Xa hơn", fit: "Toàn bộ", noLinks: "Không có liên kết", drawAgain: "Trí nhớ đã thay đổi: vẽ lại", linksCount: "{count} liên kết",
    link_support: "dựa trên", link_summarization: "tóm tắt", link_milestone: "đạt được nhờ", link_dependency: "phụ thuộc vào",
    link_timeline: "tiếp theo là", link_semantic: "giống",
    back_support: "là cơ sở của", back_summarization: "được tóm tắt trong", back_milestone: "dẫn đến", back_dependency: "cần cho",
    back_timeline: "tiếp sau", back_semantic: "giống",
    skillsLead: "Những cách làm học được từ điều đã thành công.", noSkills: "Chưa học được kỹ năng nào.",
    skill: "Kỹ năng", uses: "Đã dùng", successes: "Thành công", rate: "Tỷ lệ", skillState: "Trạng thái", never: "chưa dùng",
    hiddenLead: "Điều mà một cuộc trò chuyện dường như đã xin quên. Nó được ẩn đi, và bị xóa sau một ngày.", noHidden: "Không có gì đang ẩn.",
    erasedAt: "Bị xóa lúc", eraseNow: "Xóa ngay", erased: "Đã xóa.", broughtBack: "Đã trở lại.",
    waitingLead: "Điều đã nói nhưng chưa được tiếp nhận. Không điều nào bị mất.", noWaiting: "Không có gì đang chờ.", notTold: "Máy chủ này không cho biết.",
    skill_probation: "đang thử", skill_active: "đang dùng", skill_archived: "đã cất",
    waitsSince: "Từ lúc", waitsWhy: "Lý do", waitsWhat: "Nội dung", waitsTurn: "Chưa đến lượt.", parked: "Đã thôi thử",
    attempts: "đã thử {count} lần", retryAt: "thử lại lúc {date}",
    health_database: "Cơ sở dữ liệu", health_embedder: "Bộ tạo vector", health_worker: "Tiến trình nền", health_queue: "Hàng đợi của mọi người", works: "Hoạt động",
    queueOf: "{waiting} đang chờ, {failed} đã thử không thành, {parked} thôi thử", milliseconds: "{count} ms", exported: "Đã lưu {name}.",
    usageLead: "Trí nhớ lớn đến đâu, và cách mang nó theo.", count: "Số lượng", what: "Gì", bytes: "Số byte", texts: "Văn bản trong chỉ mục",
    health: "Tình trạng", exportTitle: "Mang theo", exportLead: "Tất cả những gì được ghi nhớ về bạn, trong một tệp.",
    export_jsonl: "Toàn bộ (JSON Lines)", export_html: "Để đọc (HTML)", export_markdown: "Để đọc (Markdown)",
    loading: "Đang tải …", again: "Thử lại", yes: "có", no: "không",
    wrong_network: "Không kết nối được máy chủ.", wrong_401: "Máy chủ không biết bạn là ai.",
    wrong_403: "Bạn không được phép làm việc này trên máy chủ này.", wrong_404: "Trong trí nhớ của bạn không có mục này.", wrong_412: "Trong lúc đó nội dung đã đổi.",
    wrong_413: "Nội dung quá dài, hoặc trí nhớ của bạn đã đầy.", wrong_string_too_long: "Nội dung quá dài.", wrong_422: "Máy chủ không chấp nhận nội dung này.",
    wrong_422_POST_text: "Nội dung này không khẳng định điều gì để ghi nhớ. Hãy viết thành lời khẳng định của bạn, ví dụ “Tôi sống ở Huế.”; nếu muốn xóa điều gì, hãy chọn Quên đi bên cạnh điều đó.",
    wrong_422_PATCH_text: "Không thể thay bằng nội dung này: chỉ sửa được sự việc còn đang được tin, bằng điều chưa được ghi trong đó.",
    wrong_422_agent: "Tác tử của máy chủ này không có lời nhắc như vậy.", wrong_429: "Quá nhiều yêu cầu. Hãy chờ một lát rồi thử lại.",
    wrong_500: "Máy chủ đã gặp lỗi khi làm việc này.", wrong_502: "Không kết nối được máy chủ.", wrong_504: "Máy chủ không trả lời kịp.",
    wrong_423: "Mục này đang bị giữ theo yêu cầu pháp lý, không thể xóa.", wrong_503: "Hiện không dùng được trí nhớ.",
    wrong_other: "Việc này không thành.",
  },
};

const LANGUAGE_KEY = "react-mem.language";
let language = kept(localStorage, LANGUAGE_KEY) || (navigator.language.toLowerCase().startsWith("vi") ? "vi" : "en");
if (!WORDS[language]) language = "en";

// A browser that keeps nothing for pages throws here: the page works without.
function kept(storage, key) {
  try { return storage.getItem(key) || ""; } catch { return ""; }
}

function keep(storage, key, value) {
  try { if (value) storage.setItem(key, value); else storage.removeItem(key); } catch { /* as above */ }
}

// The words of a key; the last part of an unknown one, so that a kind of a later server still has a name.
function words(key, values = {}) {
  const known = WORDS[language][key] ?? WORDS.en[key];
  const text = known ?? key.replace(/^[a-z]+_(?=.)/, "").replaceAll("_", " ");
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (all, name, one, other) => {
    const value = values[name];
    if (other !== undefined) return new Intl.PluralRules(language).select(value) === "one" ? one : other;
    return value === undefined ? all : typeof value === "number" ? number(value) : String(value);
  });
}

function speak(chosen) {
  language = chosen;
  document.documentElement.lang = chosen;
  for (const place of document.querySelectorAll("[data-t]")) place.textContent = words(place.dataset.t);
  for (const [id, key] of [["sections", "sections"], ["notices", "notices"]])
    document.getElementById(id).setAttribute("aria-label", words(key));
  document.getElementById("language").value = chosen;
}

function day(when) {
  const date = new Date(when ?? "");
  return Number.isNaN(date.valueOf()) ? "" : new Intl.DateTimeFormat(language, { dateStyle: "medium" }).format(date);
}

function moment(when) {
  const date = new Date(when ?? "");
  const style = { dateStyle: "medium", timeStyle: "short" };
  return Number.isNaN(date.valueOf()) ? "" : new Intl.DateTimeFormat(language, style).format(date);
}

function number(value) {
  return new Intl.NumberFormat(language, { maximumFractionDigits: 2 }).format(value);
}
