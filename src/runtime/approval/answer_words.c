/* answer_words.c — a message as the words of an answer. What is no such word is UNKNOWN, and stops every agreement. */
#include "talk_priv.h"

#include "sma/messages.h"
#include "sma/text.h"

#define GRANT_S_MAX (30 * INT64_C(86400))
#define DIGIT_COUNT_MAX 6u

/* The message in lower case, with one form of each sign: full-width, traditional and typographic ones become plain. */
struct plain
{
    size_t len;
    char text[ANSWER_BYTES_MAX + 1];
    uint16_t from[ANSWER_BYTES_MAX + 1]; /* where each byte came from; [len] = end */
};

struct reader
{
    struct sma_str source;
    struct plain plain;
    size_t at;
    uint32_t item_count;
    struct words *words;
};

struct word
{
    const char *text;
    enum token_kind kind;
    bool is_strong;
};

#define STRONG true
/* Of several that fit the longest counts. What looks like an answer and means something else is UNKNOWN here. */
static const struct word dictionary[] = {
    /* yes */
    {"yes", TOKEN_AGREE, 0},
    {"y", TOKEN_AGREE, 0},
    {"yep", TOKEN_AGREE, 0},
    {"yeah", TOKEN_AGREE, 0},
    {"yup", TOKEN_AGREE, 0},
    {"ok", TOKEN_AGREE, 0},
    {"okay", TOKEN_AGREE, 0},
    {"okey", TOKEN_AGREE, 0},
    {"sure", TOKEN_AGREE, 0},
    {"for sure", TOKEN_AGREE, 0},
    {"of course", TOKEN_AGREE, 0},
    {"fine", TOKEN_AGREE, 0},
    {"alright", TOKEN_AGREE, 0},
    {"all right", TOKEN_AGREE, 0},
    {"absolutely", TOKEN_AGREE, 0},
    {"lgtm", TOKEN_AGREE, 0},
    {"sounds good", TOKEN_AGREE, 0},
    {"looks good", TOKEN_AGREE, 0},
    {"go ahead", TOKEN_AGREE, 0},
    {"go for it", TOKEN_AGREE, 0},
    {"do it", TOKEN_AGREE, 0},
    {"just do it", TOKEN_AGREE, 0},
    {"please do", TOKEN_AGREE, 0},
    {"proceed", TOKEN_AGREE, 0},
    {"by all means", TOKEN_AGREE, 0},
    {"granted", TOKEN_AGREE, 0},
    {"permission granted", TOKEN_AGREE, 0},
    {"approve", TOKEN_AGREE, STRONG},
    {"approved", TOKEN_AGREE, STRONG},
    {"agree", TOKEN_AGREE, STRONG},
    {"agreed", TOKEN_AGREE, STRONG},
    {"accept", TOKEN_AGREE, STRONG},
    {"accepted", TOKEN_AGREE, STRONG},
    {"allow", TOKEN_AGREE, STRONG},
    {"allowed", TOKEN_AGREE, STRONG},
    {"permit", TOKEN_AGREE, STRONG},
    {"permitted", TOKEN_AGREE, STRONG},
    {"confirm", TOKEN_AGREE, STRONG},
    {"confirmed", TOKEN_AGREE, STRONG},
    {"authorize", TOKEN_AGREE, STRONG},
    {"authorise", TOKEN_AGREE, STRONG},
    {"run", TOKEN_AGREE, STRONG},
    {"execute", TOKEN_AGREE, STRONG},
    {"同意", TOKEN_AGREE, STRONG},
    {"同意了", TOKEN_AGREE, STRONG},
    {"批准", TOKEN_AGREE, STRONG},
    {"批准了", TOKEN_AGREE, STRONG},
    {"允许", TOKEN_AGREE, STRONG},
    {"准许", TOKEN_AGREE, STRONG},
    {"许可", TOKEN_AGREE, STRONG},
    {"准", TOKEN_AGREE, STRONG},
    {"准了", TOKEN_AGREE, STRONG},
    {"放行", TOKEN_AGREE, STRONG},
    {"授权", TOKEN_AGREE, STRONG},
    {"通过", TOKEN_AGREE, STRONG},
    {"确认", TOKEN_AGREE, STRONG},
    {"执行", TOKEN_AGREE, STRONG},
    {"运行", TOKEN_AGREE, STRONG},
    {"发送", TOKEN_AGREE, STRONG},
    {"可以", TOKEN_AGREE, 0},
    {"可以的", TOKEN_AGREE, 0},
    {"可", TOKEN_AGREE, 0},
    {"好", TOKEN_AGREE, 0},
    {"好的", TOKEN_AGREE, 0},
    {"好滴", TOKEN_AGREE, 0},
    {"好哒", TOKEN_AGREE, 0},
    {"好啊", TOKEN_AGREE, 0},
    {"好呀", TOKEN_AGREE, 0},
    {"好吧", TOKEN_AGREE, 0},
    {"行", TOKEN_AGREE, 0},
    {"行的", TOKEN_AGREE, 0},
    {"行吧", TOKEN_AGREE, 0},
    {"没问题", TOKEN_AGREE, 0},
    {"是", TOKEN_AGREE, 0},
    {"是的", TOKEN_AGREE, 0},
    {"对的", TOKEN_AGREE, 0},
    {"去做吧", TOKEN_AGREE, 0},
    {"做吧", TOKEN_AGREE, 0},
    {"去吧", TOKEN_AGREE, 0},
    {"干吧", TOKEN_AGREE, 0},
    {"开始吧", TOKEN_AGREE, 0},
    {"👍", TOKEN_AGREE, 0},
    {"✅", TOKEN_AGREE, 0},
    {"👌", TOKEN_AGREE, 0},
    {"✓", TOKEN_AGREE, 0},
    /* no */
    {"no", TOKEN_REFUSE, 0},
    {"n", TOKEN_REFUSE, 0},
    {"nope", TOKEN_REFUSE, 0},
    {"nah", TOKEN_REFUSE, 0},
    {"no way", TOKEN_REFUSE, 0},
    {"not now", TOKEN_REFUSE, 0},
    {"no need", TOKEN_REFUSE, 0},
    {"absolutely not", TOKEN_REFUSE, 0},
    {"certainly not", TOKEN_REFUSE, 0},
    {"of course not", TOKEN_REFUSE, 0},
    {"don't do it", TOKEN_REFUSE, 0},
    {"do not do it", TOKEN_REFUSE, 0},
    {"not ok", TOKEN_REFUSE, 0},
    {"not okay", TOKEN_REFUSE, 0},
    {"not approved", TOKEN_REFUSE, STRONG},
    {"not allowed", TOKEN_REFUSE, STRONG},
    {"deny", TOKEN_REFUSE, STRONG},
    {"denied", TOKEN_REFUSE, STRONG},
    {"permission denied", TOKEN_REFUSE, STRONG},
    {"refuse", TOKEN_REFUSE, STRONG},
    {"refused", TOKEN_REFUSE, STRONG},
    {"reject", TOKEN_REFUSE, STRONG},
    {"rejected", TOKEN_REFUSE, STRONG},
    {"decline", TOKEN_REFUSE, STRONG},
    {"declined", TOKEN_REFUSE, STRONG},
    {"disapprove", TOKEN_REFUSE, STRONG},
    {"disagree", TOKEN_REFUSE, STRONG},
    {"disallow", TOKEN_REFUSE, STRONG},
    {"forbid", TOKEN_REFUSE, STRONG},
    {"forbidden", TOKEN_REFUSE, STRONG},
    {"stop", TOKEN_REFUSE, 0},
    {"cancel", TOKEN_REFUSE, 0},
    {"abort", TOKEN_REFUSE, 0},
    {"拒绝", TOKEN_REFUSE, STRONG},
    {"拒绝了", TOKEN_REFUSE, STRONG},
    {"拒绝执行", TOKEN_REFUSE, STRONG},
    {"拒绝批准", TOKEN_REFUSE, STRONG},
    {"拒绝通过", TOKEN_REFUSE, STRONG},
    {"否决", TOKEN_REFUSE, STRONG},
    {"驳回", TOKEN_REFUSE, STRONG},
    {"反对", TOKEN_REFUSE, STRONG},
    {"不同意", TOKEN_REFUSE, STRONG},
    {"不批准", TOKEN_REFUSE, STRONG},
    {"不允许", TOKEN_REFUSE, STRONG},
    {"不行", TOKEN_REFUSE, 0},
    {"不行的", TOKEN_REFUSE, 0},
    {"不可以", TOKEN_REFUSE, 0},
    {"不可以的", TOKEN_REFUSE, 0},
    {"不好", TOKEN_REFUSE, 0},
    {"否", TOKEN_REFUSE, 0},
    {"不用", TOKEN_REFUSE, 0},
    {"不用了", TOKEN_REFUSE, 0},
    {"不必", TOKEN_REFUSE, 0},
    {"不必了", TOKEN_REFUSE, 0},
    {"不了", TOKEN_REFUSE, 0},
    {"算了", TOKEN_REFUSE, 0},
    {"算了吧", TOKEN_REFUSE, 0},
    {"免了", TOKEN_REFUSE, 0},
    {"没门", TOKEN_REFUSE, 0},
    {"休想", TOKEN_REFUSE, 0},
    {"停", TOKEN_REFUSE, 0},
    {"不要做", TOKEN_REFUSE, 0},
    {"别做", TOKEN_REFUSE, 0},
    {"👎", TOKEN_REFUSE, 0},
    {"❌", TOKEN_REFUSE, 0},
    {"🚫", TOKEN_REFUSE, 0},
    {"✗", TOKEN_REFUSE, 0},
    /* not */
    {"not", TOKEN_NEGATE, 0},
    {"don't", TOKEN_NEGATE, STRONG},
    {"dont", TOKEN_NEGATE, STRONG},
    {"do not", TOKEN_NEGATE, STRONG},
    {"never", TOKEN_NEGATE, STRONG},
    {"不", TOKEN_NEGATE, STRONG},
    {"别", TOKEN_NEGATE, STRONG},
    {"不要", TOKEN_NEGATE, STRONG},
    {"不能", TOKEN_NEGATE, STRONG},
    {"不可", TOKEN_NEGATE, STRONG},
    {"不许", TOKEN_NEGATE, STRONG},
    {"不准", TOKEN_NEGATE, STRONG},
    {"禁止", TOKEN_NEGATE, STRONG},
    {"停止", TOKEN_NEGATE, STRONG},
    {"取消", TOKEN_NEGATE, STRONG},
    {"请勿", TOKEN_NEGATE, STRONG},
    {"勿", TOKEN_NEGATE, 0},
    {"先别", TOKEN_NEGATE, STRONG},
    {"先不", TOKEN_NEGATE, STRONG},
    {"先不要", TOKEN_NEGATE, STRONG},
    /* which */
    {"all", TOKEN_ALL, STRONG},
    {"everything", TOKEN_ALL, STRONG},
    {"all of them", TOKEN_ALL, STRONG},
    {"all of it", TOKEN_ALL, STRONG},
    {"全部", TOKEN_ALL, STRONG},
    {"全部都", TOKEN_ALL, STRONG},
    {"全都", TOKEN_ALL, STRONG},
    {"所有", TOKEN_ALL, STRONG},
    {"所有的", TOKEN_ALL, STRONG},
    {"所有都", TOKEN_ALL, STRONG},
    {"全", TOKEN_ALL, STRONG},
    {"都", TOKEN_ALL, 0},
    {"none", TOKEN_NONE, 0},
    {"none of them", TOKEN_NONE, 0},
    {"nothing", TOKEN_NONE, 0},
    {"neither", TOKEN_NONE, 0},
    {"都不", TOKEN_NONE, 0},
    {"全不", TOKEN_NONE, 0},
    {"全都不", TOKEN_NONE, 0},
    {"全部不", TOKEN_NONE, 0},
    {"全部都不", TOKEN_NONE, 0},
    {"一个都不", TOKEN_NONE, 0},
    {"一个也不", TOKEN_NONE, 0},
    {"都不要", TOKEN_NONE, 0},
    {"全部不要", TOKEN_NONE, 0},
    {"一个都不要", TOKEN_NONE, 0},
    {"都别", TOKEN_NONE, 0},
    {"rest", TOKEN_REST, 0},
    {"others", TOKEN_REST, 0},
    {"everything else", TOKEN_REST, 0},
    {"其他", TOKEN_REST, 0},
    {"其他的", TOKEN_REST, 0},
    {"其它", TOKEN_REST, 0},
    {"其它的", TOKEN_REST, 0},
    {"其余", TOKEN_REST, 0},
    {"其余的", TOKEN_REST, 0},
    {"剩下的", TOKEN_REST, 0},
    {"only", TOKEN_ONLY, 0},
    {"just", TOKEN_ONLY, 0},
    {"只", TOKEN_ONLY, 0},
    {"仅", TOKEN_ONLY, 0},
    {"只有", TOKEN_ONLY, 0},
    {"只能", TOKEN_ONLY, 0},
    {"except", TOKEN_EXCEPT, 0},
    {"except for", TOKEN_EXCEPT, 0},
    {"除了", TOKEN_EXCEPT, 0},
    {"除", TOKEN_EXCEPT, 0},
    /* how long */
    {"always", TOKEN_TIME, 0},
    {"forever", TOKEN_TIME, 0},
    {"for ever", TOKEN_TIME, 0},
    {"for good", TOKEN_TIME, 0},
    {"permanently", TOKEN_TIME, 0},
    {"from now on", TOKEN_TIME, 0},
    {"every time", TOKEN_TIME, 0},
    {"一直", TOKEN_TIME, 0},
    {"一直都", TOKEN_TIME, 0},
    {"总是", TOKEN_TIME, 0},
    {"永远", TOKEN_TIME, 0},
    {"始终", TOKEN_TIME, 0},
    {"永久", TOKEN_TIME, 0},
    {"以后都", TOKEN_TIME, 0},
    {"今后都", TOKEN_TIME, 0},
    {"每次都", TOKEN_TIME, 0},
    {"once", TOKEN_ONCE, 0},
    {"only once", TOKEN_ONCE, 0},
    {"just once", TOKEN_ONCE, 0},
    {"this time", TOKEN_ONCE, 0},
    {"only this time", TOKEN_ONCE, 0},
    {"just this time", TOKEN_ONCE, 0},
    {"this once", TOKEN_ONCE, 0},
    {"just this once", TOKEN_ONCE, 0},
    {"only this once", TOKEN_ONCE, 0},
    {"一次", TOKEN_ONCE, 0},
    {"这次", TOKEN_ONCE, 0},
    {"这一次", TOKEN_ONCE, 0},
    {"本次", TOKEN_ONCE, 0},
    {"仅此一次", TOKEN_ONCE, 0},
    {"只此一次", TOKEN_ONCE, 0},
    {"就这一次", TOKEN_ONCE, 0},
    {"只这一次", TOKEN_ONCE, 0},
    {"仅这一次", TOKEN_ONCE, 0},
    {"仅一次", TOKEN_ONCE, 0},
    {"只一次", TOKEN_ONCE, 0},
    {"仅本次", TOKEN_ONCE, 0},
    {"in this chat", TOKEN_PLACE, 0},
    {"here", TOKEN_PLACE, 0},
    {"in this conversation", TOKEN_PLACE, 0},
    {"in this group", TOKEN_PLACE, 0},
    {"本会话", TOKEN_PLACE, 0},
    {"在本会话", TOKEN_PLACE, 0},
    {"此会话", TOKEN_PLACE, 0},
    {"在此会话", TOKEN_PLACE, 0},
    {"这个会话", TOKEN_PLACE, 0},
    {"在这个会话", TOKEN_PLACE, 0},
    {"在这个会话里", TOKEN_PLACE, 0},
    {"本会话中", TOKEN_PLACE, 0},
    {"在本会话中", TOKEN_PLACE, 0},
    {"本群", TOKEN_PLACE, 0},
    {"在本群", TOKEN_PLACE, 0},
    {"这里", TOKEN_PLACE, 0},
    {"在这里", TOKEN_PLACE, 0},
    /* between them */
    {"for", TOKEN_FOR, 0},
    {"for the next", TOKEN_FOR, 0},
    {"接下来", TOKEN_FOR, 0},
    {"because", TOKEN_BECAUSE, 0},
    {"since", TOKEN_BECAUSE, 0},
    {"reason", TOKEN_BECAUSE, 0},
    {"因为", TOKEN_BECAUSE, 0},
    {"由于", TOKEN_BECAUSE, 0},
    {"原因", TOKEN_BECAUSE, 0},
    {"原因是", TOKEN_BECAUSE, 0},
    {"理由", TOKEN_BECAUSE, 0},
    {"理由是", TOKEN_BECAUSE, 0},
    {"and", TOKEN_AND, 0},
    {"和", TOKEN_AND, 0},
    {"与", TOKEN_AND, 0},
    {"跟", TOKEN_AND, 0},
    {"及", TOKEN_AND, 0},
    {"以及", TOKEN_AND, 0},
    {"to", TOKEN_TO, 0},
    {"please", TOKEN_FILLER, 0},
    {"pls", TOKEN_FILLER, 0},
    {"plz", TOKEN_FILLER, 0},
    {"i", TOKEN_FILLER, 0},
    {"it", TOKEN_FILLER, 0},
    {"this", TOKEN_FILLER, 0},
    {"that", TOKEN_FILLER, 0},
    {"them", TOKEN_FILLER, 0},
    {"the", TOKEN_FILLER, 0},
    {"to it", TOKEN_FILLER, 0},
    {"to this", TOKEN_FILLER, 0},
    {"to that", TOKEN_FILLER, 0},
    {"item", TOKEN_FILLER, 0},
    {"items", TOKEN_FILLER, 0},
    {"number", TOKEN_FILLER, 0},
    {"numbers", TOKEN_FILLER, 0},
    {"command", TOKEN_FILLER, 0},
    {"commands", TOKEN_FILLER, 0},
    {"request", TOKEN_FILLER, 0},
    {"requests", TOKEN_FILLER, 0},
    {"我", TOKEN_FILLER, 0},
    {"请", TOKEN_FILLER, 0},
    {"吧", TOKEN_FILLER, 0},
    {"啊", TOKEN_FILLER, 0},
    {"呀", TOKEN_FILLER, 0},
    {"啦", TOKEN_FILLER, 0},
    {"的", TOKEN_FILLER, 0},
    {"这个", TOKEN_FILLER, 0},
    {"这条", TOKEN_FILLER, 0},
    {"该", TOKEN_FILLER, 0},
    {"它", TOKEN_FILLER, 0},
    {"命令", TOKEN_FILLER, 0},
    {"请求", TOKEN_FILLER, 0},
    {"操作", TOKEN_FILLER, 0},
    {"以外", TOKEN_FILLER, 0},
    {"之外", TOKEN_FILLER, 0},
    {"thanks", TOKEN_THANKS, 0},
    {"thank you", TOKEN_THANKS, 0},
    {"thx", TOKEN_THANKS, 0},
    {"谢谢", TOKEN_THANKS, 0},
    {"多谢", TOKEN_THANKS, 0},
    /* sound like an answer, and are none */
    {"no problem", TOKEN_UNKNOWN, 0},
    {"no worries", TOKEN_UNKNOWN, 0},
    {"no doubt", TOKEN_UNKNOWN, 0},
    {"no idea", TOKEN_UNKNOWN, 0},
    {"no matter", TOKEN_UNKNOWN, 0},
    {"no one", TOKEN_UNKNOWN, 0},
    {"no longer", TOKEN_UNKNOWN, 0},
    {"not only", TOKEN_UNKNOWN, 0},
    {"not bad", TOKEN_UNKNOWN, 0},
    {"not sure", TOKEN_UNKNOWN, 0},
    {"not yet", TOKEN_UNKNOWN, 0},
    {"not all", TOKEN_UNKNOWN, 0},
    {"run away", TOKEN_UNKNOWN, 0},
    {"不是", TOKEN_UNKNOWN, 0},
    {"不对", TOKEN_UNKNOWN, 0},
    {"不得不", TOKEN_UNKNOWN, 0},
    {"行了", TOKEN_UNKNOWN, 0},
    {"好了", TOKEN_UNKNOWN, 0},
    {"可以了", TOKEN_UNKNOWN, 0},
    {"好像", TOKEN_UNKNOWN, 0},
    {"可能", TOKEN_UNKNOWN, 0},
    {"可是", TOKEN_UNKNOWN, 0},
    {"可惜", TOKEN_UNKNOWN, 0},
    {"可以不", TOKEN_UNKNOWN, 0},
    {"同意不", TOKEN_UNKNOWN, 0},
    {"不好说", TOKEN_UNKNOWN, 0},
    {"行不行", TOKEN_UNKNOWN, 0},
    {"好不好", TOKEN_UNKNOWN, 0},
    {"可不可以", TOKEN_UNKNOWN, 0},
    {"是不是", TOKEN_UNKNOWN, 0},
    {"是否", TOKEN_UNKNOWN, 0},
    {"能否", TOKEN_UNKNOWN, 0},
    {"不只", TOKEN_UNKNOWN, 0},
    {"不仅", TOKEN_UNKNOWN, 0},
    {"不全", TOKEN_UNKNOWN, 0},
    {"不都", TOKEN_UNKNOWN, 0},
    {"别的", TOKEN_UNKNOWN, 0},
    {"准备", TOKEN_UNKNOWN, 0},
    {"准确", TOKEN_UNKNOWN, 0},
    {"行动", TOKEN_UNKNOWN, 0},
    {"否则", TOKEN_UNKNOWN, 0},
};

struct unit
{
    const char *text;
    int64_t seconds;
    bool is_letter; /* only right behind the digits */
};
static const struct unit units[] = {
    {"s", 1, true},          {"sec", 1, false},         {"secs", 1, false},
    {"second", 1, false},    {"seconds", 1, false},     {"秒", 1, false},
    {"秒钟", 1, false},      {"m", 60, true},           {"min", 60, false},
    {"mins", 60, false},     {"minute", 60, false},     {"minutes", 60, false},
    {"分", 60, false},       {"分钟", 60, false},       {"h", 3600, true},
    {"hr", 3600, false},     {"hrs", 3600, false},      {"hour", 3600, false},
    {"hours", 3600, false},  {"小时", 3600, false},     {"个小时", 3600, false},
    {"钟头", 3600, false},   {"个钟头", 3600, false},   {"d", 86400, true},
    {"day", 86400, false},   {"days", 86400, false},    {"天", 86400, false},
    {"week", 604800, false}, {"weeks", 604800, false},  {"周", 604800, false},
    {"星期", 604800, false}, {"个星期", 604800, false},
};

struct count
{
    const char *text;
    int64_t number; /* 0 = a half */
};
static const struct count counts[] = {
    {"half an", 0}, {"half a", 0},  {"半", 0},    {"半个", 0},  {"a", 1},       {"an", 1},
    {"one", 1},     {"two", 2},     {"three", 3}, {"four", 4},  {"five", 5},    {"six", 6},
    {"seven", 7},   {"eight", 8},   {"nine", 9},  {"ten", 10},  {"twelve", 12}, {"fifteen", 15},
    {"twenty", 20}, {"thirty", 30}, {"一", 1},    {"二", 2},    {"两", 2},      {"三", 3},
    {"四", 4},      {"五", 5},      {"六", 6},    {"七", 7},    {"八", 8},      {"九", 9},
    {"十", 10},     {"十五", 15},   {"二十", 20}, {"三十", 30}, {"六十", 60},
};

struct change
{
    uint32_t from;
    const char *to; /* not longer than what it stands for */
};
static const struct change changes[] = {
    {0x3000, " "},  {0x3001, "\2"}, {0x3002, "."},  {0x2018, "'"},  {0x2019, "'"},  {0x201C, "\""},
    {0x201D, "\""}, {0x300C, "\""}, {0x300D, "\""}, {0x300E, "\""}, {0x300F, "\""}, {0x2013, "-"},
    {0x2014, "-"},  {0xFE0F, ""},   {0x1F3FB, ""},  {0x1F3FC, ""},  {0x1F3FD, ""},  {0x1F3FE, ""},
    {0x1F3FF, ""},  {0x8A31, "许"}, {0x57F7, "执"}, {0x6E96, "准"}, {0x78BA, "确"}, {0x8A8D, "认"},
    {0x7D55, "绝"}, {0x5C0D, "对"}, {0x904E, "过"}, {0x7E3D, "总"}, {0x9805, "项"}, {0x689D, "条"},
    {0x500B, "个"}, {0x9019, "这"}, {0x6C92, "没"}, {0x554F, "问"}, {0x984C, "题"}, {0x8B1D, "谢"},
    {0x8ACB, "请"}, {0x99C1, "驳"}, {0x6703, "会"}, {0x8A71, "话"}, {0x9418, "钟"}, {0x9673, "陈"},
    {0x6642, "时"}, {0x9593, "间"}, {0x50C5, "仅"}, {0x9918, "余"}, {0x70BA, "为"}, {0x6B0A, "权"},
    {0x904B, "运"}, {0x767C, "发"}, {0x958B, "开"}, {0x9078, "选"}, {0x5225, "别"}, {0x8655, "处"},
    {0x865F, "号"}, {0x6C38, "永"}, {0x9060, "远"}, {0x59CB, "始"}, {0x7D42, "终"}, {0x88E1, "里"},
    {0x88CF, "里"}, {0x5169, "两"}, {0x9580, "门"}, {0x505A, "做"}, {0x5E79, "干"}, {0x9084, "还"},
    {0x5269, "剩"}, {0x5F8C, "后"}, {0x4F86, "来"}, {0x555F, "启"}, {0x9031, "周"},
};

/* -- one form of each sign --------------------------------------------------------------------------------------- */
static size_t point_len(char lead)
{
    unsigned char byte = (unsigned char)lead;
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

static uint32_t point_of(const char *at, size_t len)
{
    uint32_t point = len == 1 ? (unsigned char)*at : (unsigned char)*at & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        point = point << 6 | ((unsigned char)at[i] & 0x3Fu);
    return point;
}

static char lower(uint32_t point)
{
    if (point == '\t' || point == '\r')
        return ' ';
    return (char)(point >= 'A' && point <= 'Z' ? point + 32 : point);
}

static void append(struct plain *plain, const char *bytes, size_t len, size_t from)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == ' ' && plain->len > 0 && plain->text[plain->len - 1] == ' ')
            continue;
        plain->text[plain->len] = bytes[i];
        plain->from[plain->len++] = (uint16_t)from;
    }
}

static void append_point(struct plain *plain, const char *bytes, size_t len, size_t from)
{
    uint32_t point = point_of(bytes, len);
    if (point >= 0xFF01 && point <= 0xFF5E)
        point -= 0xFF01 - '!';
    if (point < 0x80) {
        char byte = lower(point);
        append(plain, &byte, 1, from);
        return;
    }
    for (size_t i = 0; i < SMA_COUNT_OF(changes); i++) {
        if (changes[i].from != point)
            continue;
        append(plain, changes[i].to, strlen(changes[i].to), from);
        return;
    }
    append(plain, bytes, len, from);
}

static void make_plain(struct plain *plain, struct sma_str text)
{
    plain->len = 0;
    for (size_t at = 0; at < text.len;) {
        size_t len = point_len(text.ptr[at]);
        append_point(plain, text.ptr + at, len, at);
        at += len;
    }
    plain->text[plain->len] = '\0';
    plain->from[plain->len] = (uint16_t)text.len;
}

/* -- matching ---------------------------------------------------------------------------------------------------- */
static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || byte == '_';
}
static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}
static bool is_letter_or_digit(char byte)
{
    return is_letter(byte) || is_digit(byte);
}

/* Does the word stand at `at`, not inside a longer one? @return its bytes, or 0 */
static size_t match(const struct reader *reader, size_t at, const char *word)
{
    const struct plain *plain = &reader->plain;
    size_t len = strlen(word);
    if (len > plain->len - at || memcmp(plain->text + at, word, len) != 0)
        return 0;
    char next = plain->text[at + len];
    if (is_letter(word[len - 1]) && (is_letter_or_digit(next) || next == '\''))
        return 0;
    return len;
}

static size_t skip_blanks(const struct reader *reader, size_t at)
{
    while (reader->plain.text[at] == ' ')
        at++;
    return at;
}

static struct token *add(struct reader *reader, enum token_kind kind, size_t from, size_t to)
{
    struct words *words = reader->words;
    if (words->count == ANSWER_TOKEN_COUNT_MAX) {
        words->is_whole = false;
        words->count--; /* the rest overwrites the last place; nobody reads it as whole */
    }
    struct token *token = &words->tokens[words->count++];
    *token = (struct token){
        .kind = kind, .from = reader->plain.from[from], .to = reader->plain.from[to]};
    return token;
}

/* -- numbers and times ------------------------------------------------------------------------------------------- */
/* Digits at `at`. @return their count, 0 when there are none or too many */
static size_t read_digits(const struct reader *reader, size_t at, int64_t *ret_number)
{
    size_t count = 0;
    int64_t number = 0;
    for (; is_digit(reader->plain.text[at + count]); count++) {
        if (count == DIGIT_COUNT_MAX)
            return 0;
        number = number * 10 + (reader->plain.text[at + count] - '0');
    }
    *ret_number = number;
    return count;
}

/* ①..⑳ */
static size_t read_circled(const struct reader *reader, size_t at, int64_t *ret_number)
{
    const unsigned char *text = (const unsigned char *)reader->plain.text + at;
    if (reader->plain.len - at < 3 || text[0] != 0xE2 || text[1] != 0x91 || text[2] < 0xA0 ||
        text[2] > 0xB3)
        return 0;
    *ret_number = text[2] - 0xA0 + 1;
    return 3;
}

static size_t read_count(const struct reader *reader, size_t at, int64_t *ret_number)
{
    size_t longest = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(counts); i++) {
        size_t len = match(reader, at, counts[i].text);
        if (len > longest) {
            longest = len;
            *ret_number = counts[i].number;
        }
    }
    return longest;
}

static size_t read_unit(const struct reader *reader, size_t at, bool is_adjacent,
                        int64_t *ret_seconds)
{
    size_t longest = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(units); i++) {
        size_t len = match(reader, at, units[i].text);
        if (len > longest && (!units[i].is_letter || is_adjacent)) {
            longest = len;
            *ret_seconds = units[i].seconds;
        }
    }
    return longest;
}

static void add_time(struct reader *reader, int64_t number, int64_t unit_s, size_t to)
{
    int64_t seconds = number == 0 ? unit_s / 2 : number * unit_s;
    bool is_fit = seconds > 0 && seconds <= GRANT_S_MAX;
    struct token *token = add(reader, is_fit ? TOKEN_TIME : TOKEN_UNKNOWN, reader->at, to);
    token->seconds = seconds;
    reader->at = to;
}

static bool is_item(const struct reader *reader, int64_t number)
{
    return number >= 1 && number <= reader->item_count;
}

static void add_numbers(struct reader *reader, int64_t first, int64_t last, size_t to)
{
    bool is_fit = is_item(reader, first) && is_item(reader, last) && first <= last;
    struct token *token = add(reader, is_fit ? TOKEN_NUMBERS : TOKEN_UNKNOWN, reader->at, to);
    for (int64_t number = first; is_fit && number <= last; number++)
        token->mask |= UINT64_C(1) << (number - 1);
    reader->at = to;
}

/* "1-3" "1到3": @return where it ends, or 0 */
static size_t read_range(const struct reader *reader, size_t at, int64_t *ret_last)
{
    static const char *const marks[] = {"-", "~", "到", "至", " - ", " to "};
    for (size_t i = 0; i < SMA_COUNT_OF(marks); i++) {
        size_t len = strlen(marks[i]);
        if (len > reader->plain.len - at || memcmp(reader->plain.text + at, marks[i], len) != 0)
            continue;
        size_t count = read_digits(reader, at + len, ret_last);
        if (count > 0)
            return at + len + count;
    }
    return 0;
}

/* What may stand behind the number of an item and says nothing: "1." "1)" "1:" "1、" "1号". */
static size_t skip_mark(const struct reader *reader, size_t at)
{
    static const char *const marks[] = {"号", "项", "条", "个", ".", ")", ":", "\2"};
    for (size_t i = 0; i < SMA_COUNT_OF(marks); i++) {
        size_t len = strlen(marks[i]);
        if (len > reader->plain.len - at || memcmp(reader->plain.text + at, marks[i], len) != 0)
            continue;
        char next = reader->plain.text[skip_blanks(reader, at + len)];
        bool is_sign = len == 1;
        return is_sign && (is_digit(next) || next == '.' || next == '\0') ? at : at + len;
    }
    return at;
}

/* "两个都": as many as there are. */
static bool read_count_of_all(struct reader *reader, int64_t number, size_t at)
{
    static const char word[] = "个都";
    size_t len = sizeof word - 1;
    if (number < 2 || len > reader->plain.len - at ||
        memcmp(reader->plain.text + at, word, len) != 0)
        return false;
    bool is_all = number == (int64_t)reader->item_count;
    add(reader, is_all ? TOKEN_ALL : TOKEN_UNKNOWN, reader->at, at + len)->is_strong = true;
    reader->at = at + len;
    return true;
}

static bool read_number(struct reader *reader)
{
    int64_t number = 0, last = 0, unit_s = 0;
    const char *text = reader->plain.text;
    size_t from = reader->at;
    if (text[from] == '#' && is_digit(text[from + 1]))
        from++;
    size_t count = read_digits(reader, from, &number);
    if (count == 0)
        count = read_circled(reader, from, &number);
    if (count == 0)
        return false;
    size_t end = from + count, unit_from = skip_blanks(reader, end);
    size_t unit_len = read_unit(reader, unit_from, unit_from == end, &unit_s);
    if (unit_len > 0) {
        add_time(reader, number == 0 ? -1 : number, unit_s, unit_from + unit_len);
        return true;
    }
    if (read_count_of_all(reader, number, end))
        return true;
    size_t range_end = read_range(reader, end, &last);
    size_t to = range_end > 0 ? range_end : skip_mark(reader, end);
    if (is_letter(text[to]) && to == end)
        return false; /* "2nd", "3x": no number of ours */
    if (text[end] == '.' && is_digit(text[end + 1]))
        return false;
    add_numbers(reader, number, range_end > 0 ? last : number, to);
    return true;
}

/* "第二个" */
static bool read_ordinal(struct reader *reader)
{
    int64_t number = 0;
    size_t len = match(reader, reader->at, "第");
    if (len == 0)
        return false;
    size_t at = skip_blanks(reader, reader->at + len);
    size_t count = read_digits(reader, at, &number);
    if (count == 0)
        count = read_count(reader, at, &number);
    if (count == 0)
        return false;
    add_numbers(reader, number, number, skip_mark(reader, at + count));
    return true;
}

static bool read_written_time(struct reader *reader)
{
    int64_t number = 0, unit_s = 0;
    size_t len = read_count(reader, reader->at, &number);
    if (len == 0)
        return false;
    size_t at = reader->at + len;
    if (read_count_of_all(reader, number, at))
        return true;
    at = skip_blanks(reader, at);
    size_t unit_len = read_unit(reader, at, false, &unit_s);
    if (unit_len == 0)
        return false;
    add_time(reader, number, unit_s, at + unit_len);
    return true;
}

/* -- words ------------------------------------------------------------------------------------------------------- */
static bool read_quoted(struct reader *reader)
{
    const struct plain *plain = &reader->plain;
    char mark = plain->text[reader->at];
    if (mark != '`' && mark != '"' && mark != '\'')
        return false;
    const char *close = strchr(plain->text + reader->at + 1, mark);
    if (close == NULL)
        return false;
    size_t end = (size_t)(close - plain->text);
    struct token *token = add(reader, TOKEN_QUOTED, reader->at, end + 1);
    /* the mark itself may have been a longer one */
    size_t from = plain->from[reader->at] + point_len(reader->source.ptr[plain->from[reader->at]]);
    token->text = (struct sma_str){reader->source.ptr + from, plain->from[end] - from};
    reader->at = end + 1;
    return true;
}

static bool read_word(struct reader *reader)
{
    const struct word *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(dictionary); i++) {
        size_t len = match(reader, reader->at, dictionary[i].text);
        if (len > longest) {
            longest = len;
            best = &dictionary[i];
        }
    }
    if (best == NULL)
        return false;
    struct token *token = add(reader, best->kind, reader->at, reader->at + longest);
    token->is_strong = best->is_strong;
    token->seconds = SMA_GRANT_ALWAYS;
    reader->at += longest;
    return true;
}

/* "both", "neither" of exactly two. */
static bool read_both(struct reader *reader)
{
    size_t len = match(reader, reader->at, "both");
    if (len == 0 || reader->item_count != 2)
        return false;
    add(reader, TOKEN_ALL, reader->at, reader->at + len)->is_strong = true;
    reader->at += len;
    return true;
}

static bool read_sign(struct reader *reader)
{
    const char *text = reader->plain.text + reader->at;
    enum token_kind kind;
    switch (text[0]) {
    case '\n':
    case ',':
    case ';':
    case ':':
    case '!':
    case '\2':
        kind = TOKEN_COMMA;
        break;
    case '.':
        if (text[1] == '.') /* an ellipsis hesitates */
            return false;
        kind = TOKEN_COMMA;
        break;
    case '-':
        if (text[1] == '-') /* a dash, or an option */
            return false;
        kind = text[1] == ' ' ? TOKEN_COMMA : TOKEN_UNKNOWN;
        break;
    case '&':
    case '+':
        kind = TOKEN_AND;
        break;
    case '~':
        kind = TOKEN_FILLER;
        break;
    default:
        return false;
    }
    add(reader, kind, reader->at, reader->at + 1);
    reader->at++;
    return true;
}

static void read_unknown(struct reader *reader)
{
    const struct plain *plain = &reader->plain;
    size_t from = reader->at, at = from;
    if (is_letter_or_digit(plain->text[at])) {
        while (is_letter_or_digit(plain->text[at]) || plain->text[at] == '\'')
            at++;
    } else {
        at += point_len(plain->text[at]);
    }
    reader->at = at > plain->len ? plain->len : at;
    add(reader, TOKEN_UNKNOWN, from, reader->at);
}

void sma_answer_words(struct sma_str text, uint32_t item_count, struct words *words)
{
    struct reader reader = {.source = text, .item_count = item_count, .words = words};
    words->count = 0;
    words->is_whole = text.len <= ANSWER_BYTES_MAX && sma_utf8_is_valid(text) &&
                      (text.len == 0 || memchr(text.ptr, '\0', text.len) == NULL);
    if (!words->is_whole)
        return;
    make_plain(&reader.plain, text);
    while (reader.at < reader.plain.len && words->is_whole) {
        if (reader.plain.text[reader.at] == ' ')
            reader.at++;
        else if (!read_number(&reader) && !read_ordinal(&reader) && !read_written_time(&reader) &&
                 !read_quoted(&reader) && !read_both(&reader) && !read_word(&reader) &&
                 !read_sign(&reader))
            read_unknown(&reader);
    }
}
