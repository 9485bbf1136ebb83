/*
 * commands.h — the commands that people may give in a chat: one row each.
 *
 * From the rows come what is recognised (control.c), the list that /help shows, and the list that a
 * platform is told of (Telegram's setMyCommands). What a command does is one row in
 * actors/store/control.c. In the order in which people read them.
 *
 * Row: enum sma_control without its prefix, the word, the Chinese word, who may give it in a group
 * that nobody was first in (enum sma_command_trait), what it does in English and in Chinese.
 */
#ifndef SMA_COMMANDS_H
#define SMA_COMMANDS_H

#include "sma/buf.h"
#include "sma/config.h"
#include "sma/messages.h"

enum sma_command_trait
{
    SMA_COMMAND_PLAIN = 0,
    SMA_COMMAND_HELPS = 1, /* everybody may give it in a group */
    SMA_COMMAND_LOOKS = 2, /* changes nothing: everybody's where nobody has been first */
    SMA_COMMAND_ALIAS = 4, /* on the platform's list, but not among those that /help names */
    /* with words behind it for owners and administrators: the platform is asked who is one */
    SMA_COMMAND_RULES = 8,
};

/* clang-format off */
#define SMA_COMMAND_MAP(X) \
    X(HELP, "help", "帮助", SMA_COMMAND_HELPS, "What I can do", "查看帮助") \
    X(START, "start", NULL, SMA_COMMAND_HELPS | SMA_COMMAND_ALIAS, "Say hello", "开始使用") \
    X(STATUS, "status", "状态", SMA_COMMAND_LOOKS, "Show what is running and waiting", \
      "查看运行状态") \
    X(USAGE, "usage", "用量", SMA_COMMAND_PLAIN, "Show what the models used here", "查看用量") \
    X(MODEL, "model", "模型", SMA_COMMAND_RULES, "List the models, or choose one for this chat", \
      "列出模型，或为本会话选择模型") \
    X(RETRY, "retry", "重试", SMA_COMMAND_PLAIN, "Answer my last message again", \
      "重新回复我的上一条消息") \
    X(MORE, "more", "继续", SMA_COMMAND_LOOKS, "Send what was cut of my last answer", \
      "发送上一条回复中被截断的内容") \
    X(FULL, "full", "完整输出", SMA_COMMAND_LOOKS, "Send my whole last answer as a file", \
      "以文件形式发送上一条回复的完整内容") \
    X(NEW, "new", "新会话", SMA_COMMAND_PLAIN, "Begin a new conversation", "开始新的会话") \
    X(COMPACT, "compact", "整理", SMA_COMMAND_PLAIN, \
      "Sum up what was said before; words behind it say what to keep", \
      "把之前的对话整理成摘要，后面可写明要保留什么") \
    X(CLEAR, "clear", "清除", SMA_COMMAND_PLAIN, "Forget this conversation", "清除当前会话") \
    X(MEMORY, "memory", "记忆", SMA_COMMAND_LOOKS, \
      "Show what I remember of you; words behind it look for them", \
      "查看我记住的关于你的内容，后面可写要查找的词") \
    X(FORGET, "forget", "忘记", SMA_COMMAND_LOOKS | SMA_COMMAND_RULES, \
      "Delete what I remember: a number that /memory shows, words, or all", \
      "删除我记住的内容：/记忆 中的编号、词语，或“全部”") \
    X(WHOAMI, "whoami", "我是谁", SMA_COMMAND_LOOKS, "Show your id and your role", \
      "查看你的 ID 和角色") \
    X(APPROVE, "approve", "同意", SMA_COMMAND_RULES, \
      "Approve a request by its id", "按编号同意请求") \
    X(REJECT, "reject", "拒绝", SMA_COMMAND_RULES, \
      "Refuse a request by its id", "按编号拒绝请求") \
    X(APPROVALS, "approvals", "审批", SMA_COMMAND_PLAIN, \
      "List the requests that wait for a decision", "列出等待确认的请求") \
    X(PROMPTS, "prompts", "提示词", SMA_COMMAND_LOOKS, \
      "List the prompts of outside servers", "列出外部服务器提供的提示词") \
    X(TASKS, "tasks", "任务", SMA_COMMAND_LOOKS, "List the tasks of this project", \
      "列出本项目的任务") \
    X(LOGS, "logs", "日志", SMA_COMMAND_PLAIN, \
      "Show the newest lines of the log, to owners and administrators", "查看最新日志（仅所有者和管理员）") \
    X(STOP, "stop", "停止", SMA_COMMAND_PLAIN, "Cancel what is running", "停止当前任务")
/* clang-format on */

struct sma_command
{
    enum sma_control control;
    const char *word, *chinese_word; /* chinese_word: NULL = none */
    unsigned traits;                 /* enum sma_command_trait */
    const char *doc, *chinese_doc;
};

/** All rows, in their order. Static. */
const struct sma_command *sma_commands(size_t *ret_count);
/** The row of a control, NULL = it has none (UNKNOWN). */
const struct sma_command *sma_command_of(enum sma_control control);
/** What stands after the command in a message that sma_control_parse knows, trimmed: "2" of "@bot
 *  /model 2". Slice of text. */
struct sma_str sma_control_argument(struct sma_str text);
/** MORE or FULL when the whole text is a word for it without a slash ("继续", "发完整输出"), a mention
 *  before it aside; else NONE. People also say these words to the model: whoever asks decides by
 *  whether something was cut. */
enum sma_control sma_control_word(struct sma_str text);
/**
 * Is it a prompt of an MCP server: "/server:prompt words", maybe behind mentions?
 * @ret_rest  trimmed words behind it. Slices of text; set only when it is one.
 */
bool sma_control_prompt(struct sma_str text, struct sma_str *ret_server, struct sma_str *ret_prompt,
                        struct sma_str *ret_rest);
/** The lines of /help: "\n/stop — Cancel what is running" of each row that is no alias. */
void sma_commands_put_help(struct sma_buf *buf, enum sma_language language);

#endif
