/*
 * notices.h — everything the program itself says to chat users, in Chinese and English. One table,
 * nowhere else.
 */
#ifndef SMA_NOTICES_H
#define SMA_NOTICES_H

#include "sma/buf.h"
#include "sma/config.h"

/* clang-format off */
#define SMA_NOTICE_MAP(X) /* name, English, Chinese; %s / %u arguments are the same in both */ \
    X(BUSY, "I'm still working on something; I have your message and will answer it next.", \
      "我还在处理上一条消息；你的消息已收到，接下来就回复。") \
    X(BUSY_POSITION, "I have your message; %u messages are ahead of it.", \
      "你的消息已收到，前面还有 %u 条在等待。") \
    X(QUEUE_FULL, \
      "Too many messages are waiting here. This one is recorded but will not be answered; please " \
      "send it again later.", \
      "这里等待的消息太多了。这一条已记录但不会回复，请稍后再发。") \
    X(LATE_MINUTES, \
      "A message of %u minutes ago has reached me only now. I have noted it and will not answer " \
      "it; please send it again if you still need an answer.", \
      "一条 %u 分钟前的消息现在才送达。我已记录但不会回复；如仍需要回复，请重新发送。") \
    X(LATE_HOURS, \
      "A message of %u hours ago has reached me only now. I have noted it and will not answer " \
      "it; please send it again if you still need an answer.", \
      "一条 %u 小时前的消息现在才送达。我已记录但不会回复；如仍需要回复，请重新发送。") \
    X(STOPPED, "Stopped.", "已停止。") \
    X(NOTHING_TO_STOP, "Nothing is running here.", "当前没有正在进行的任务。") \
    X(CLEARED, "Done. I have forgotten this conversation; the history on disk is kept.", \
      "好的，已忘记当前会话；磁盘上的历史记录保留。") \
    X(COMPACTED, \
      "Done: %u earlier exchanges are now a summary (about %u,000 tokens before, %u,000 after). " \
      "The history on disk is kept.", \
      "好的，之前的 %u 轮对话已整理成摘要（约 %u 千 token → %u 千 token）；磁盘上的历史记录保留。") \
    X(COMPACT_ADMINS, "In a group only owners and administrators may have it summed up.", \
      "群聊中只有所有者和管理员可以整理对话。") \
    X(NOTHING_TO_COMPACT, "There is nothing to sum up here yet.", "目前没有需要整理的内容。") \
    X(NOT_COMPACTED, \
      "I could not sum this conversation up; it stays as it is. Please try again later.", \
      "没能整理出摘要，对话保持原样；请稍后再试。") \
    X(HELP, "Commands:%s\nAnything else is a message to me.", \
      "命令：%s\n其他内容都会作为消息处理。") \
    X(HELLO, \
      "Hello, I am %s. Just write to me; in a group, mention me. Commands:%s", \
      "你好，我是 %s。直接给我发消息即可，在群里请 @我。命令：%s") \
    X(JOINED, \
      "Hello, I am %s. To talk to me in this group, mention me or reply to one of my messages. " \
      "/help lists my commands.", \
      "大家好，我是 %s。在群里与我对话，请 @我 或回复我的消息。发送 /帮助 查看命令。") \
    X(JOINED_FIRST, \
      " I answer the person who speaks to me first here, and the administrators.", \
      "在这个群里，我只回复最先与我对话的人和管理员。") \
    X(JOINED_CLOSED, \
      " First I have to be let in: my owner, or an administrator of mine, mentions me here once. " \
      "Until then I answer only people whom they have allowed.", \
      "首先需要获准：请我的所有者或管理员在这里 @我 一次。在此之前，我只回复已获准的人。") \
    X(WHOAMI, "You are %s, id %s, role %s. This chat is %s.", \
      "你是 %s，ID：%s，角色：%s。本会话：%s。") \
    X(NEW, \
      "A new conversation begins. What was said before stays in this chat's history, where I can " \
      "look it up.", \
      "新的会话开始了。之前的内容保留在本会话的历史记录中，需要时我可以查阅。") \
    X(RETRY_NOTHING, "There is no message here that I could answer again.", \
      "这里没有可以重新回复的消息。") \
    X(RETRY_NOT_YOURS, \
      "The last message here is somebody else's: only they can have it answered again.", \
      "这里的上一条消息是别人发的，只有本人可以要求重新回复。") \
    X(RETRY_BUSY, "I am not done here yet. /stop cancels what is running.", \
      "这里还有未完成的任务。发送 /停止 可取消。") \
    X(RETRY_EFFECTS, \
      "The last answer has used tools that change things (%s), and that is not undone. \"/retry " \
      "anyway\" answers the message again all the same.", \
      "上一次回复用过会做改动的工具（%s），这些改动不会撤销。发送“/重试 仍然”可照样重新回复。") \
    X(MODEL_LIST, \
      "Models:%s\n/model NAME or /model NUMBER chooses one for this chat, /model default goes " \
      "back to the configured one.", \
      "模型：%s\n发送 /模型 名称 或 /模型 编号 为本会话选择，/模型 默认 恢复配置的模型。") \
    X(MODEL_IN_USE, " (in use)", "（当前）") \
    X(MODEL_CHOSEN, "From the next message on %s answers here.", "从下一条消息起，由 %s 回复。") \
    X(MODEL_DEFAULT, "From the next message on the configured model answers here again: %s.", \
      "从下一条消息起恢复使用配置的模型：%s。") \
    X(MODEL_UNKNOWN, "I have no model called \"%s\". /model lists those I have.", \
      "没有名为“%s”的模型。发送 /模型 查看可用的模型。") \
    X(MODEL_NEAREST, "I have no model called \"%s\". Did you mean %s?", \
      "没有名为“%s”的模型。你是指 %s 吗？") \
    X(MODEL_NOT_YOURS, "Only an owner or administrator can choose the model here.", \
      "只有所有者或管理员可以在这里选择模型。") \
    X(STATUS, \
      "Running. Waiting here: %u, waiting in all: %u, waiting for the model: %u, answered since " \
      "start: %u.", \
      "运行中。本会话等待 %u 条，全部等待 %u 条，等待语言模型 %u 条，启动以来已回复 %u 条。") \
    X(STATUS_ASKS, "I am waiting for a decision about: %s.", "正在等待确认：%s。") \
    X(USAGE, "This chat: today %s, this month %s.", "本会话：今天 %s；本月 %s。") \
    X(USAGE_ALL, "All chats: today %s, this month %s.", "全部会话：今天 %s；本月 %s。") \
    X(USAGE_SUM, "%s requests and %s tokens", "%s 次请求、%s 个 token") \
    X(USAGE_COST, ", about %s in cost", "，费用约 %s") \
    X(USAGE_OWN, "You: today %s, this month %s.", "你：今天 %s；本月 %s。") \
    X(USAGE_TOP, "Most this month: %s", "本月用量最多：%s") \
    X(BUDGET_LEFT, "%s for %s: %s of %s left (%s)", "%s%s的额度：剩余 %s / %s（%s）") \
    X(BUDGET_OVER, \
      "%s for %s is used up (%s). I have noted this message and will not answer it. The budget " \
      "is renewed in %s.", \
      "%s%s的额度已用完（%s）。这条消息已记录但不会回复，额度将在 %s后恢复。") \
    X(BUDGET_ENDED, \
      "[%s for %s is used up (%s), so I stop here. What I did is kept. The budget is renewed in " \
      "%s; send \"continue\" then and I go on.]", \
      "［%s%s的额度已用完（%s），先停在这里。已完成的部分都已保留，额度将在 %s后恢复，届时发送“继续”可接着做。］") \
    X(BUDGET_PERSON, "Your budget", "你") \
    X(BUDGET_CHAT, "The budget of this chat", "本会话") \
    X(BUDGET_PLATFORM, "The budget of this platform", "本平台") \
    X(BUDGET_TOTAL, "The budget of all chats", "全部会话") \
    X(BUDGET_TOKENS, "tokens", "token") \
    X(BUDGET_COST, "cost", "费用") \
    X(BUDGET_RUNS, "number of tasks", "任务数") \
    X(BUDGET_TODAY, "today", "今天") \
    X(BUDGET_THIS_MONTH, "this month", "本月") \
    X(BUDGET_MINUTES, "%u minutes", " %u 分钟") \
    X(BUDGET_HOURS, "%u hours", " %u 小时") \
    X(BUDGET_DAYS, "%u days", " %u 天") \
    X(TOO_FAST, \
      "You may send me %u messages a minute. I have noted this one and will not answer it; " \
      "please send it again in a minute.", \
      "每分钟最多处理你的 %u 条消息。这一条已记录但不会回复，请一分钟后再发。") \
    X(UNKNOWN_COMMAND, "I don't know that command. /help lists what I know.", \
      "未知命令。发送 /帮助 查看可用命令。") \
    X(RUN_FAILED, "I could not finish this: %s", "这次没能完成：%s") \
    X(MODEL_WAIT, \
      "The language model cannot be reached just now. I keep trying for up to %u minutes and " \
      "answer as soon as it is back. /stop cancels.", \
      "暂时联系不上语言模型。我会在 %u 分钟内继续尝试，恢复后马上回复。发送 /停止 可取消。") \
    X(MODEL_AWAY, \
      "The language model cannot be reached just now. What you asked and what I did is kept: " \
      "send \"continue\" in a while.", \
      "暂时联系不上语言模型。你的请求和已完成的部分都已保留，稍后发送“继续”即可。") \
    X(MAYBE_MORE, \
      "The language model went away before it said whether that was all. If something is " \
      "missing, send \"continue\" in a while.", \
      "语言模型在确认是否说完之前断开了。如果上面的内容不完整，请稍后发送“继续”。") \
    X(MODEL_BUSY, \
      "The language model takes no more requests just now. What you asked and what I did is " \
      "kept: send \"continue\" in a while.", \
      "语言模型当前请求过多。你的请求和已完成的部分都已保留，稍后发送“继续”即可。") \
    X(MODEL_QUOTA, \
      "The allowance for the language model is used up. Please tell whoever runs me.", \
      "语言模型的额度已用完，请联系本服务的管理者。") \
    X(MODEL_SETUP, "The language model is not set up properly. Please tell whoever runs me.", \
      "语言模型的设置有问题，请联系本服务的管理者。") \
    X(MODEL_REQUEST, \
      "The language model did not accept this request. Please say it in another way, or tell " \
      "whoever runs me.", \
      "语言模型没有接受这个请求。请换一种说法，或联系本服务的管理者。") \
    X(MODEL_DETAILS, "For you as the owner: %s", "仅所有者可见：%s") \
    X(MESSAGE_TOO_LONG, \
      "This message, with what it led to, is too long for the language model. Please ask in " \
      "smaller parts.", \
      "这条消息及其处理内容超出了语言模型的长度限制，请拆成几部分再问。") \
    X(REFUSED, "The language model refused to answer this.", "语言模型拒绝回答这个问题。") \
    X(FILTERED, "A content filter of the language model stopped this answer.", \
      "语言模型的内容过滤器拦截了这个回答。") \
    X(CUT_CALLS, \
      "I could not do this: the language model broke off three times in the middle of what it " \
      "wanted to do. Please ask for it in smaller parts.", \
      "没能完成：语言模型连续三次在操作中途中断。请拆成更小的部分再试。") \
    X(TOO_LONG, \
      "This conversation has grown too long for the model even after shortening it. Send /clear " \
      "to start afresh, then ask again.", \
      "对话过长，缩短后模型仍无法处理。请发送 /清除 重新开始后再问。") \
    X(ANSWER_REFUSED, \
      "I have an answer, but this platform refuses to show its words. Please ask in another way.", \
      "我已写好回答，但平台拒绝显示其中的内容。请换一种方式再问。") \
    X(FILE_REFUSED, "[the file %s: this platform refuses it]", "［文件 %s：平台拒绝发送］") \
    X(FILE_FAILED, "[the file %s could not be sent: the platform does not take it now]", \
      "［文件 %s 未能发送：平台暂时无法接收］") \
    X(FILE_UNKNOWN, "[the file %s: the platform does not say whether it arrived]", \
      "［文件 %s：平台未说明是否已送达］") \
    X(GIVEN_UP, \
      "I was interrupted three times while working on this message and have given it up. Please " \
      "send it again.", \
      "处理这条消息时连续三次被中断，已放弃。请重新发送。") \
    X(NO_ANSWER, "I have no answer to that.", "这个问题我没有得到回答。") \
    X(LOOP, "[I stopped: the same steps came again and again. Say how to go on.]", \
      "[我停下了：同样的步骤一再重复。请告诉我接下来怎么做。]") \
    X(STEP_LIMIT, "[I stopped after %u steps. Send \"continue\" and I go on.]", \
      "［已执行 %u 步，先停在这里。发送“继续”可接着做。］") \
    X(NOT_ALLOWED, \
      "In this chat I answer only the person who spoke to me first and the administrators.", \
      "在这个会话里，我只回复最先与我对话的人和管理员。") \
    X(BUTTON_TAKEN, "Got it.", "已收到。") \
    X(BUTTON_LATER, "Too busy just now. Please press again in a moment.", \
      "现在太忙了，请稍后再点一次。") \
    X(CUT, "[cut: the rest was too long]", "［以下内容过长，已截断］") \
    X(CUT_MORE, "[cut: send \"more\" for the rest, /full for all of it]", \
      "［未完：发送“继续”看下文，发送 /full 收全文］") \
    X(MORE_NOTHING, "Nothing of my last answer was cut: there is no more to send.", \
      "上一条回复没有被截断，没有更多内容可发。") \
    X(MORE_LATER, "My last answer is still being sent. Ask again when it is here.", \
      "上一条回复还在发送，到齐后请再试。") \
    X(FULL_NOTHING, "There is no answer of mine here that I could send as a file.", \
      "这里没有可以作为文件发送的回复。") \
    X(FULL_FAILED, "I could not write the file. The log says why; please try again later.", \
      "无法写入文件，原因见日志，请稍后再试。") \
    X(FULL_CAPTION, "The whole answer", "完整输出") \
    X(CARD_TITLE, "Approval needed", "需要确认") \
    X(CARD_ASKED_BY, "Asked for by: ", "发起人：") \
    X(CARD_HELPER, "A sub-agent asks for this.", "由子智能体提出。") \
    X(CARD_EXEC, "Run this command:", "执行命令：") \
    X(CARD_NO_NETWORK, "In the sandbox, without network.", "在沙箱内运行，没有网络。") \
    X(CARD_NETWORK, "In the sandbox, with network.", "在沙箱内运行，可访问网络。") \
    X(CARD_NO_SANDBOX, \
      "WITHOUT a sandbox: it can read what the service can read, and reach the network.", \
      "没有沙箱：命令可以读取本服务能读取的一切，并访问网络。") \
    X(CARD_UNBOUND, \
      "It reads files that cannot be named: what they hold is not part of what you approve.", \
      "它会读取无法列出的文件，这些文件的内容不在你同意的范围内。") \
    X(CARD_BESIDE, \
      "Files that the command names are part of what you approve; what its program reads " \
      "besides is not.", \
      "命令中写明的文件在你同意的范围内；程序自行读取的其他文件不在。") \
    X(CARD_WRITE, "Change this file: ", "修改文件：") \
    X(CARD_SEND, "Send to: ", "发送给：") \
    X(CARD_MCP, "Call this tool of an outside server: ", "调用外部服务器的工具：") \
    X(CARD_MCP_ARGUMENTS, "With:", "参数：") \
    X(CARD_MEMORY, "Remember this, for later conversations here:", \
      "记住这件事，供以后在此对话时使用：") \
    X(CARD_MEMORY_PROJECT, "Remember this for everybody who talks to me:", \
      "记住这件事，并对所有与我对话的人使用：") \
    X(CARD_WEB, "Fetch a page from ", "读取网页，来自：") \
    X(CARD_OTHER, "Use this tool: ", "使用工具：") \
    X(CARD_REASON, "Why I ask: ", "为何询问：") \
    X(CARD_NO_RULE, "no rule allows it", "没有规则允许它") \
    X(CARD_RULE, "rule ", "规则 ") \
    X(CARD_PLACE, "Chat: ", "会话：") \
    X(CARD_OWNER_ONLY, "Only an owner can approve this.", "只有所有者可以同意。") \
    X(CARD_EXPIRES_DAYS, "Expires in %u days; no answer means no.", \
      "%u 天内无答复则视为拒绝。") \
    X(CARD_EXPIRES_HOURS, "Expires in %u hours; no answer means no.", \
      "%u 小时内无答复则视为拒绝。") \
    X(CARD_EXPIRES_MINUTES, "Expires in %u minutes; no answer means no.", \
      "%u 分钟内无答复则视为拒绝。") \
    X(CARD_OTHERS_DECIDE, \
      "An owner or administrator decides this, in their own chat with me or with `shipmyagent " \
      "approvals`.", \
      "由所有者或管理员决定：在他们与我的私聊中，或使用 `shipmyagent approvals`。") \
    X(CARD_HOW_ONE, "Reply: yes / no, because ...", "请回复：同意 / 拒绝，因为……") \
    X(CARD_HOW_GRANT, "Or: allow for 10 minutes / always allow in this chat", \
      "或：允许10分钟 / 本会话一直允许") \
    X(CARD_HOW_PROGRAM, "Or, as an owner: always allow `%s`", "或（所有者）：一直允许 `%s`") \
    X(CARD_HOW_SEVERAL, "Reply: all yes / all no / 1 yes, 2 no / only 2", \
      "请回复：全部同意 / 全部拒绝 / 1同意，2拒绝 / 只同意2") \
    X(CARD_CUT, "[cut: %u more bytes are not shown]", "［已截断：还有 %u 字节未显示］") \
    X(CARD_APPROVE, "Approve", "同意") \
    X(CARD_REFUSE, "Refuse", "拒绝") \
    X(CARD_TEN_MINUTES, "10 minutes", "允许10分钟") \
    X(CARD_ALWAYS, "Always here", "本会话一直允许") \
    X(CARD_PROGRAM, "Always allow `%s`", "一直允许 `%s`") \
    X(CARD_APPROVE_ALL, "Approve all", "全部同意") \
    X(CARD_REFUSE_ALL, "Refuse all", "全部拒绝") \
    X(CARD_IS_OPEN, "Waiting", "等待中") \
    X(CARD_IS_APPROVED, "Approved", "已同意") \
    X(CARD_IS_REFUSED, "Refused", "已拒绝") \
    X(CARD_IS_EXPIRED, "Expired", "已过期") \
    X(CARD_IS_CANCELLED, "Cancelled", "已取消") \
    X(CARD_IS_DECIDED, "Decided", "已决定") \
    X(CARD_DECIDED_BY, "Decided by: ", "决定人：") \
    X(CARD_HOW_CUT, \
      "Not all of it is shown, so only the button approves it. `shipmyagent approvals` shows " \
      "the rest.", \
      "以上内容未完整显示：只能点击按钮同意。完整内容请用 `shipmyagent approvals` 查看。") \
    X(APPROVAL_CUT, \
      "I could not show all of it, so words do not approve it: %s. Please press its button, or " \
      "use `shipmyagent approvals`, which shows all of it.", \
      "该请求未能完整显示，不能用文字同意：%s。请点击对应的按钮，或用 `shipmyagent approvals` " \
      "查看完整内容。") \
    X(APPROVAL_WAITING, \
      "I am waiting for a decision about: %s. I have your message and will answer it after that.", \
      "我正在等待确认：%s。你的消息已收到，之后会回复。") \
    X(APPROVAL_NOT_YOURS, "This is for an owner or administrator to decide.", \
      "这需要由所有者或管理员决定。") \
    X(APPROVAL_ALREADY, "Already decided by %s.", "已由 %s 决定。") \
    X(APPROVAL_EXPIRED, "This request has expired.", "该请求已过期。") \
    X(APPROVAL_CANCELLED, "This request was cancelled.", "该请求已取消。") \
    X(APPROVAL_UNKNOWN, "No such request.", "没有这个请求。") \
    X(APPROVAL_USAGE, \
      "Which one? /approve ID, or /reject ID and why; /approvals lists what waits.", \
      "请写明编号：/同意 编号，或 /拒绝 编号 原因；发送 /审批 可查看列表。") \
    X(APPROVAL_NOT_OWN, "A forwarded or edited message decides nothing. Please write it anew.", \
      "转发或编辑过的消息不能作决定，请重新发送。") \
    X(APPROVAL_AMBIGUOUS, "%u requests begin with %s; please give more of the id:", \
      "有 %u 个请求的编号以 %s 开头，请写得更完整：") \
    X(APPROVAL_LIST, "Waiting for a decision:", "等待确认的请求：") \
    X(APPROVAL_LIST_NONE, "Nothing waits for a decision here.", "这里没有等待确认的请求。") \
    X(APPROVAL_LIST_HOW, "/approvals ID shows one whole; /approve ID or /reject ID decides it.", \
      "发送 /审批 编号 查看全文；发送 /同意 编号 或 /拒绝 编号 作决定。") \
    X(APPROVAL_LIST_MORE, "... and %u more; `shipmyagent approvals` lists all.", \
      "……另有 %u 个；`shipmyagent approvals` 可列出全部。") \
    X(LOGS_OWNERS, \
      "Only an owner or administrator may see the log, and only in a private chat; all of it " \
      "only an owner.", \
      "只有所有者或管理员可以在私聊中查看日志；全部日志仅所有者可查看。") \
    X(LOGS_NONE, \
      "The log has no lines about this chat since the start; `/logs all` shows the newest of " \
      "all.", \
      "启动以来没有与本会话有关的日志；发送 `/日志 全部` 查看全部最新日志。") \
    X(TASKS_NONE, "This version runs no tasks by itself, and .ship/tasks holds none.", \
      "本版本不会自动执行任务，.ship/tasks 中也没有任务。") \
    X(TASKS_NOT_RUN, \
      "This version runs no tasks by itself: %u%s of .ship/tasks will not be run.", \
      "本版本不会自动执行任务：.ship/tasks 中的 %u%s 个任务不会被执行。") \
    X(MEMORY_NONE, "I remember nothing about you here.", "我在这里没有记住关于你的内容。") \
    X(MEMORY_NONE_GROUP, "I remember nothing of this group.", "我没有记住本群的内容。") \
    X(MEMORY_NONE_FOUND, "I remember nothing here that fits.", "这里没有与之相符的记忆。") \
    X(MEMORY_HEAD, "What I remember of you (%u):", "我记住的关于你的内容（%u 条）：") \
    X(MEMORY_HEAD_GROUP, "What I remember of this group (%u):", "我记住的本群内容（%u 条）：") \
    X(MEMORY_HEAD_PROJECT, "What I remember for everybody (%u):", \
      "我为所有人记住的内容（%u 条）：") \
    X(MEMORY_HEAD_WHICH, "Which of these %u?", "是以下 %u 条中的哪一条？") \
    X(MEMORY_PROPOSED, "Not kept yet; /memory keep N keeps one, /memory keep all all of them:", \
      "尚未保存；发送 /记忆 保留 编号 可保存一条，/记忆 保留 全部 可全部保存：") \
    X(MEMORY_HINT, "/forget N deletes one, /forget all everything.", \
      "发送 /忘记 编号 可删除一条，/忘记 全部 可全部删除。") \
    X(MEMORY_MORE, "/memory %u shows more.", "发送 /记忆 %u 查看更多。") \
    X(MEMORY_KEPT, "Kept: %u.", "已保存 %u 条。") \
    X(MEMORY_OFF, "Memory is switched off here: nothing is kept.", "记忆功能已关闭，不会保存。") \
    X(MEMORY_SHOW_FIRST, "I do not know which one you mean: /memory shows them with numbers.", \
      "我不知道你指的是哪一条：发送 /记忆 查看编号。") \
    X(MEMORY_NOT_YOURS, "That is for the person who said it, an owner or an administrator.", \
      "只有说过这句话的人、所有者或管理员可以这样做。") \
    X(MEMORY_TROUBLE, "I cannot get at what I remember now. Please try again in a moment.", \
      "现在无法读取记忆，请稍后再试。") \
    X(FORGET_HOW, "What? /memory shows it with numbers: /forget N, /forget words of it, or " \
      "/forget all.", \
      "忘记什么？发送 /记忆 查看编号，然后 /忘记 编号、/忘记 其中的词，或 /忘记 全部。") \
    X(FORGET_SURE, "This deletes %u. To do it, send: /forget all yes", \
      "将删除 %u 条。确认请发送：/忘记 全部 确认") \
    X(FORGOTTEN, "Deleted: %u.", "已删除 %u 条。") \
    X(APPROVAL_APPROVED, "Approved.", "已同意。") \
    X(APPROVAL_REFUSED, "Refused.", "已拒绝。") \
    X(APPROVAL_SOME, "Noted: %u of %u are decided.", "已记录：%u / %u 项已决定。") \
    X(APPROVAL_SEVERAL, \
      "Several requests wait for a decision here. Please press the button of the one you mean, " \
      "or use `shipmyagent approvals`.", \
      "这里有多个请求在等待确认。请点击对应请求的按钮，或使用 `shipmyagent approvals`。") \
    X(APPROVAL_WHICH, \
      "Do you mean the request \"%s\"? Please press its button, or use `shipmyagent approvals`.", \
      "你指的是请求“%s”吗？请点击对应的按钮，或使用 `shipmyagent approvals`。") \
    X(APPROVAL_PLAINLY, \
      "That is not a clear answer about: %s. Please press its button, or reply to that " \
      "message with yes or no.", \
      "这还不能决定：%s。请点击对应的按钮，或直接回复那条消息“同意”或“拒绝”。") \
    X(GRANT_REFUSED, "This once only, no lasting permission: %s", \
      "仅限本次，未授予持续权限：%s") \
    X(PAIR_CODE, \
      "To talk to me this chat must be paired. Ask the owner to run: shipmyagent pair approve %s", \
      "与我对话需要先配对。请让所有者运行：shipmyagent pair approve %s") \
    X(PAIR_OWNER, \
      "Nobody owns me yet. If I am your bot, run this where I am installed, and I am yours: " \
      "shipmyagent pair approve %s %s --role owner", \
      "我还没有所有者。如果我是你的机器人，请在我所在的机器上运行以下命令，成为所有者：" \
      "shipmyagent pair approve %s %s --role owner") \
    X(NOT_LISTED, "I talk only with people whom the owner of this project has allowed.", \
      "我只与本项目所有者允许的人对话。") \
    X(PAIR_NEW, \
      "\"%s\" wants to talk to me on %s. Reply \"pair %s\" to allow it, \"reject %s\" to refuse.", \
      "“%s”想在 %s 上与我对话。回复“配对 %s”允许，回复“拒绝 %s”拒绝。") \
    X(PAIRED, "You can talk to me now. I am answering what you have sent.", \
      "现在可以与我对话了。我正在回复你之前发来的内容。") \
    X(PAIRED_AGAIN, "You can talk to me now. Please send again what I have not answered.", \
      "现在可以与我对话了。如有尚未回复的内容，请重新发送。") \
    X(PAIR_DONE, "\"%s\" (%s) may talk to me now.", "“%s”（%s）现在可以与我对话。") \
    X(PAIR_GROUP, \
      "I do not talk in this group yet. To change that, my owner or an administrator of mine " \
      "writes to me here once, or runs: shipmyagent pair approve %s (this group's " \
      "administrators may then approve commands here)", \
      "在这个群里与我对话需要先获准：由我的所有者或管理员在这里对我说一句话，或运行：shipmyagent " \
      "pair approve %s（之后本群管理员可以在群内批准命令）") \
    X(PAIR_GROUP_NEW, \
      "\"%s\" wants me to talk in the group %s on %s. If you allow it, the group's " \
      "administrators may approve commands there. Reply \"pair %s\" to allow it, \"reject %s\" " \
      "to refuse.", \
      "“%s”希望我在群 %s（%s）里对话。获准后，该群的管理员可以在群内批准命令。回复“配对 " \
      "%s”允许，回复“拒绝 %s”拒绝。") \
    X(PAIR_GROUP_DONE, "I talk in the group %s (%s) now.", "群 %s（%s）已获准。") \
    X(PAIR_REFUSED, "\"%s\" (%s) may not talk to me.", "“%s”（%s）不能与我对话。") \
    X(PAIR_UNKNOWN, "There is no such pairing code, or it is too old.", \
      "没有这个配对码，或已过期。") \
    X(HELD_NEW, \
      "The MCP server \"%s\" is not started: files that it runs are not the accepted ones " \
      "(M changed, A new, D missing):\n%sLook at them first. Reply \"approve %s\" to accept " \
      "them as they are now, \"reject %s\" to leave it off.", \
      "MCP 服务器“%s”没有启动：它运行的文件与已接受的不同（M 已修改，A 新增，D 缺失）：\n%s请先" \
      "查看这些文件。回复“批准 %s”接受当前的内容，回复“拒绝 %s”保持停用。") \
    X(HELD_NOT_YOURS, "This is for an owner to decide, in private.", "只有所有者可以在私聊中决定。") \
    X(HELD_YES, \
      "Accepted: \"%s\" is started within half a minute, unless its files change before.", \
      "已接受：“%s”将在半分钟内启动，除非它的文件在此之前又有变化。") \
    X(HELD_NO, "\"%s\" is not started. To accept it after all, reply \"approve %s\".", \
      "“%s”不会启动。如果以后要接受，回复“批准 %s”。") \
    X(HELD_VOID, "The files of \"%s\" have changed again since I asked: that answer is void.", \
      "在我询问之后，“%s”的文件又有变化：那次回答无效。") \
    X(HELD_LATE, "\"%s\" was accepted before. To end it, take it out of .ship/mcp/mcp.json.", \
      "“%s”之前已被接受。如要停用，请从 .ship/mcp/mcp.json 中移除。") \
    X(ELICIT_HEAD, "The outside server \"%s\" asks (do not give it passwords or keys):", \
      "外部服务器“%s”提问（不要告诉它密码或密钥）：") \
    X(ELICIT_YES, "Answer \"yes\" or \"no\"; \"cancel\" leaves the question.", \
      "请回答“是”或“否”；回复“取消”则不予回答。") \
    X(ELICIT_ONE, "Your next message is the answer. \"decline\" refuses, \"cancel\" leaves the " \
      "question.", \
      "您的下一条消息将作为回答。回复“拒绝”表示拒绝，回复“取消”则不予回答。") \
    X(ELICIT_MANY, "Answer in one message, a line for each: \"name: value\". \"decline\" " \
      "refuses, \"cancel\" leaves the question.", \
      "请用一条消息回答，每行一项：“名称: 值”。回复“拒绝”表示拒绝，回复“取消”则不予回答。") \
    X(ELICIT_AGAIN, "That does not fit (%s). Please answer again.", "回答不符合要求（%s），请重新回答。") \
    X(ELICIT_MAY, " (optional)", "（可选）") \
    X(ELICIT_OVER, "The question of the server \"%s\" was not answered in time and is over.", \
      "服务器“%s”的提问超时未答，已结束。") \
    X(ELICIT_LOST, "I was restarted while a server that had asked you something was at work. Its " \
      "question is over; an answer may not have reached it.", \
      "服务器向您提问之后、处理完成之前，程序重启了。该提问已结束，您的回答可能没有送达。") \
    X(ELICIT_GROUP, "In this group, reply to this message or mention me: else I do not see it.", \
      "在群里请回复本消息或 @我，我才能看到您的回答。") \
    X(PROMPTS, "Prompts of outside servers:%s\nWords behind one are its arguments: " \
      "/server:prompt first \"second one\", or name=value.", \
      "外部服务器提供的提示词：%s\n后面写参数：/服务器:提示词 第一个 \"第二个\"，或 名称=值。") \
    X(PROMPTS_NONE, "No outside server offers you a prompt now.", "目前没有外部服务器向你提供提示词。") \
    X(PROMPT_UNKNOWN, "The server %s has no prompt %s. /prompts lists what there is.", \
      "服务器 %s 没有提示词 %s。发送 /提示词 查看列表。") \
    X(PROMPT_AWAY, "The server %s is not connected now: its prompt %s cannot be asked for.", \
      "服务器 %s 目前没有连接，无法使用提示词 %s。") \
    X(PROMPT_ASKED, "The server %s needs consent for its prompt %s, which you cannot give. " \
      "An owner or administrator can send it himself, or allow it (permissions.mcp.allow).", \
      "使用服务器 %s 的提示词 %s 需要批准，您无权批准。" \
      "请所有者或管理员自己发送，或在 permissions.mcp.allow 中允许。") \
    X(PROMPT_ARGUMENT, "This prompt needs an argument %s. Write: %s", "该提示词需要参数 %s。写法：%s") \
    X(PROMPT_SURPLUS, "That is more than this prompt takes. Write: %s", "参数过多。写法：%s") \
    X(PROMPT_FAILED, "The server %s did not give its prompt %s: %s", "服务器 %s 没有给出提示词 %s：%s")
/* clang-format on */

enum sma_notice
{
#define X(name, en, zh) SMA_NOTICE_##name,
    SMA_NOTICE_MAP(X)
#undef X
        SMA_NOTICE_COUNT
};

/** Which language to use for one user: the configured one, else what the platform says, else the
 *  adapter's default. */
enum sma_language sma_notice_language(enum sma_language configured, struct sma_str user_language,
                                      bool is_chinese_by_default);
/** Append the notice; arguments as the table says. */
void sma_notice_format(struct sma_buf *buf, enum sma_language language, enum sma_notice notice,
                       ...);

#endif
