/*
 * state_priv.h — what the state_*.c files share: the struct, the statements, the undo log.
 *
 * Every change goes through sma_state_change() first: it begins the SQL transaction lazily, so that
 * an empty one costs nothing, and refuses once a change has failed (SQLite may have rolled back by
 * itself then, and a later statement would run outside of any transaction).
 */
#ifndef SMA_CHAT_STATE_PRIV_H
#define SMA_CHAT_STATE_PRIV_H

#include "runtime/chat/claims.h"
#include "runtime/chat/state.h"
#include "runtime/chat/state_keep.h"
#include "runtime/chat/state_model.h"
#include "runtime/chat/state_read.h"
#include "runtime/chat/state_vfs.h"

#include <sqlite3.h>

/* Of a new database. A commit writes a page for each table and index it touches, mostly the same
 * few last ones: with 4096 bytes a message alone cost 70 kB, with 1024 it is 30 kB (ADR 0023).
 * Older databases keep theirs until compacted. */
#define SMA_STATE_PAGE_BYTES 1024
#define SMA_STRING_OF_(text) #text
#define SMA_STRING_OF(text) SMA_STRING_OF_(text)
#define SMA_STATE_BLOCK_COUNT 4096      /* claims in one persisted generation */
#define SMA_STATE_BLOCK_PAIR_BYTES 14   /* 8 of hash, 6 of seq, little endian */
#define SMA_STATE_MARKS_COMMITS 256     /* commits between two writings of the marks */
#define SMA_STATE_MARKS_ROWS 4096       /* rows between two writings of the marks */
#define SMA_STATE_OPEN_LIST_MAX 1024    /* open rows listed below the watermark */
#define SMA_STATE_CONTACT_FLUSH_MAX 256 /* late contacts written in one commit */
#define SMA_STATE_WAL_TIMES 4           /* of the pre-grown size: a larger WAL is cut to it */

#define SMA_STATE_CONTACT_COLUMNS "id,channel,name,chat,key,type,thread,person,message,wall"
#define SMA_STATE_CHAT_COLUMNS \
    "id,key,channel,generation,stop_mark,clear_mark,rotation,moved,claims,place,seen"

/* From a day on; of one chat and its former records, or of all. */
#define SMA_USAGE_SUMS                                                                       \
    "sum(requests),sum(input),sum(cached),sum(written),sum(output),sum(reasoning),sum(cost)" \
    " FROM usage WHERE day>=?1 AND (?2=0 OR chat=?2 OR chat IN "                             \
    "(SELECT id FROM chats WHERE moved=?2 AND moved<>0)) "
#define SMA_USAGE_ORDER \
    " ORDER BY sum(cost) DESC,sum(input+cached+written+output) DESC,1,2 LIMIT ?3"

/* What a result counts for in runs.total: octets, not characters. */
#define SMA_RESULT_BYTES \
    "(length(CAST(output AS BLOB))+length(CAST(tools AS BLOB))+ifnull(length(trace),0)+64)"

/* No sum of a month is more than a number holds, whatever a damaged row says. */
#define SMA_STATE_SPENT_MAX 9007199254740992
#define SMA_SPENT_SUM_OF(column)        \
    "coalesce(sum(min(max(CAST(" column \
    " AS INTEGER),0)," SMA_STRING_OF(SMA_STATE_SPENT_MAX) ")),0)"

/* Every statement, prepared when first used and kept. */
#define SMA_STATE_SQL_MAP(X)                                                                       \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(SAVEPOINT, "SAVEPOINT item")                                                                 \
    X(SAVEPOINT_KEEP, "RELEASE item")                                                              \
    X(SAVEPOINT_BACK, "ROLLBACK TO item")                                                          \
    X(MESSAGE_INSERT,                                                                              \
      "INSERT INTO messages(seq,chat,kind,state,attempt,generation,place,run,body,event,person,"   \
      "line,facts) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)")                            \
    X(MESSAGE_UPGRADE,                                                                             \
      "UPDATE messages SET state=?2,generation=?3,place=?4,run=?5,line=?6,facts=?7 WHERE seq=?1")  \
    X(MESSAGE_STATE, "UPDATE messages SET state=?2 WHERE seq=?1")                                  \
    X(MESSAGE_RUN, "UPDATE messages SET state=?2,run=?3 WHERE seq=?1")                             \
    X(MESSAGE_ATTEMPT, "UPDATE messages SET attempt=?2 WHERE seq=?1")                              \
    X(MESSAGE_FACTS, "UPDATE messages SET facts=?2 WHERE seq=?1")                                  \
    X(MESSAGE_HEAD,                                                                                \
      "SELECT seq,chat,kind,state,attempt,generation,place,run,body,event,person FROM messages "   \
      "WHERE seq=?1")                                                                              \
    X(MESSAGE_GET,                                                                                 \
      "SELECT seq,chat,kind,state,attempt,generation,place,run,body,event,person,line,facts "      \
      "FROM messages WHERE seq=?1")                                                                \
    X(MESSAGE_LINE_NEXT,                                                                           \
      "SELECT seq FROM messages WHERE seq>?1 AND place IS NOT NULL ORDER BY seq LIMIT 1")          \
    X(MESSAGE_TAIL, "SELECT seq,chat,kind,state,event FROM messages WHERE seq>=?1 ORDER BY seq")   \
    X(MESSAGE_SLICE,                                                                               \
      "SELECT seq,state,kind,chat,event,place FROM messages WHERE seq>=?1 AND seq<=?2 "            \
      "ORDER BY seq LIMIT ?3")                                                                     \
    X(MESSAGE_EVENT,                                                                               \
      "SELECT seq FROM messages WHERE event=?1 AND seq>?2 AND kind<3 ORDER BY seq DESC LIMIT 1")   \
    X(MESSAGE_DELETE, "DELETE FROM messages WHERE seq=?1")                                         \
    X(MESSAGE_LAST,                                                                                \
      "SELECT m.seq FROM messages m JOIN runs r ON r.seq=m.seq WHERE m.seq>?2 AND m.seq<?3 "       \
      "AND m.chat=?1 AND m.kind=0 AND m.run=0 ORDER BY m.seq DESC LIMIT 1")                        \
    X(MESSAGE_COLLECTED,                                                                           \
      "SELECT seq FROM messages WHERE seq>=?2 AND seq<=?3 AND run=?1 AND kind=0 AND state<>11 "    \
      "ORDER BY seq LIMIT ?4")                                                                     \
    X(CHAT_INSERT, "INSERT INTO chats(id,key,channel,generation,stop_mark,clear_mark,seen) "       \
                   "VALUES(?1,?2,?3,0,0,0,?4)")                                                    \
    X(CHAT_UPDATE,                                                                                 \
      "UPDATE chats SET generation=?2,stop_mark=?3,clear_mark=?4,rotation=?5 WHERE id=?1")         \
    X(CHAT_SEEN, "UPDATE chats SET seen=?2 WHERE id=?1")                                           \
    X(CHAT_BY_KEY, "SELECT " SMA_STATE_CHAT_COLUMNS " FROM chats WHERE key=?1")                    \
    X(CHAT_BY_ID, "SELECT " SMA_STATE_CHAT_COLUMNS " FROM chats WHERE id=?1")                      \
    X(CHAT_MOVED, "SELECT " SMA_STATE_CHAT_COLUMNS " FROM chats INDEXED BY chats_moved "           \
                  "WHERE moved<>0 ORDER BY id")                                                    \
    X(CHAT_DELETE, "DELETE FROM chats WHERE id=?1")                                                \
    X(TURN_FORGET, "DELETE FROM turns WHERE seq IN "                                               \
                   "(SELECT seq FROM turns WHERE chat=?1 LIMIT ?2)")                               \
    X(CONTACT_OF_CHAT, "SELECT id,name FROM contacts WHERE key=?1 LIMIT 1")                        \
    X(CONTACT_DELETE, "DELETE FROM contacts WHERE id=?1")                                          \
    X(CHAT_LAST, "SELECT max(id) FROM chats WHERE id<2147483648")                                  \
    X(CHAT_BELOW, "SELECT id FROM chats WHERE id<?1 AND moved=0 ORDER BY id DESC LIMIT 1")         \
    X(CHAT_ANSWERED, "SELECT wall FROM runs WHERE seq=(SELECT max(seq) FROM turns WHERE chat=?1)") \
    X(CHAT_ROTATING,                                                                               \
      "SELECT id FROM chats INDEXED BY chats_rotating WHERE length(rotation)>0 AND id>?1 "         \
      "ORDER BY id LIMIT 1")                                                                       \
    X(CHAT_MOVE, "UPDATE chats SET key=?2,moved=?3,claims=?4,place=?5 WHERE id=?1")                \
    X(STEP_INSERT, "INSERT INTO steps(id,kind,data,usage,trace) VALUES(?1,?2,?3,?4,?5) "           \
                   "ON CONFLICT(id) DO NOTHING")                                                   \
    X(STEP_TRACE,                                                                                  \
      "SELECT trace FROM steps WHERE id>=?1 AND id<?2 AND trace IS NOT NULL ORDER BY id")          \
    X(STEP_USAGE, "SELECT usage FROM steps WHERE id>=?1 AND id<?2 AND usage IS NOT NULL")          \
    X(STEP_EACH, "SELECT id,kind,data FROM steps WHERE id>=?1 AND id<?2 ORDER BY id")              \
    X(STEP_LAST, "SELECT id FROM steps WHERE id>=?1 AND id<?2 ORDER BY id DESC LIMIT 1")           \
    X(STEP_DELETE, "DELETE FROM steps WHERE id>=?1 AND id<?2")                                     \
    X(RUN_INSERT,                                                                                  \
      "INSERT OR REPLACE INTO runs(seq,outcome,success,wall,output,tools,usage,trace,total) "      \
      "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)")                                                        \
    X(RUN_GET, "SELECT seq,outcome,success,wall,output,tools,usage FROM runs WHERE seq=?1")        \
    X(RUN_TRACE, "SELECT trace FROM runs WHERE seq=?1")                                            \
    X(RUN_TOTAL,                                                                                   \
      "SELECT max(total) FROM (SELECT total FROM runs WHERE seq>0 ORDER BY seq DESC LIMIT 64)")    \
    X(RUN_OLDEST,                                                                                  \
      "SELECT max(0,total-" SMA_RESULT_BYTES ") FROM runs WHERE seq>0 ORDER BY seq LIMIT 1")       \
    X(KEEP_RUNS,                                                                                   \
      "SELECT seq,max(0,total-" SMA_RESULT_BYTES ") FROM runs WHERE seq>0 ORDER BY seq LIMIT ?1")  \
    X(KEEP_TURNS,                                                                                  \
      "DELETE FROM turns WHERE seq IN (SELECT seq FROM turns WHERE seq<?1 ORDER BY seq LIMIT ?2)") \
    X(KEEP_MESSAGES,                                                                               \
      "SELECT seq,state,EXISTS(SELECT 1 FROM asides WHERE chat=messages.chat AND from_seq<=seq) "  \
      "FROM messages WHERE seq>=?1 AND seq<?2 ORDER BY seq LIMIT ?3")                              \
    X(KEEP_STRIP, "UPDATE messages SET line=NULL,facts=NULL WHERE seq=?1")                         \
    X(KEEP_OUTBOX, "DELETE FROM outbox WHERE id IN "                                               \
                   "(SELECT id FROM outbox WHERE id<?1 AND +state>1 ORDER BY id LIMIT ?2)")        \
    X(KEEP_APPROVALS,                                                                              \
      "DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE state<>0 AND "            \
      "responded<?1 ORDER BY responded LIMIT ?2)")                                                 \
    X(KEEP_USAGE,                                                                                  \
      "DELETE FROM usage WHERE (day,chat,person,platform,target) IN "                              \
      "(SELECT day,chat,person,platform,target FROM usage WHERE day<?1 ORDER BY day LIMIT ?2)")    \
    X(HOUR_NOTE, "INSERT INTO hours(hour,seq) VALUES(?1,?2) ON CONFLICT(hour) DO NOTHING")         \
    X(HOUR_FORGET, "DELETE FROM hours WHERE hour<?1")                                              \
    X(HOUR_SEQ, "SELECT seq FROM hours WHERE hour>=?1 ORDER BY hour LIMIT 1")                      \
    X(HOUR_ANY, "SELECT 1 FROM hours WHERE hour>0 LIMIT 1")                                        \
    X(SIZE_MESSAGES, "SELECT count(*),total(length(event)+length(person)+ifnull(length(line),0)"   \
                     "+ifnull(length(facts),0)+32) FROM messages WHERE seq>=?1 AND seq<?2")        \
    X(SIZE_TURNS,                                                                                  \
      "SELECT count(*),total(length(wire)+length(message)+length(turn)+16) FROM turns "            \
      "WHERE seq>=?1 AND seq<?2")                                                                  \
    X(SIZE_OUTBOX, "SELECT count(*),total(length(route)+length(text)+64) FROM outbox "             \
                   "WHERE id>=?1<<16 AND id<?2<<16")                                               \
    X(SIZE_RUNS, "SELECT count(*),0 FROM runs WHERE seq>=?1 AND seq<?2")                           \
    X(FIRST_MESSAGE, "SELECT seq FROM messages WHERE seq>0 ORDER BY seq LIMIT 1")                  \
    X(RUN_DELETE, "DELETE FROM runs WHERE seq=?1")                                                 \
    X(TURN_INSERT,                                                                                 \
      "INSERT OR REPLACE INTO turns(seq,chat,wire,message,turn) VALUES(?1,?2,?3,?4,?5)")           \
    X(TURN_NEWEST,                                                                                 \
      "SELECT seq FROM turns WHERE chat=?1 AND seq>=?2 AND seq<?3 ORDER BY seq DESC LIMIT ?4")     \
    X(TURN_NTH, "SELECT seq FROM turns WHERE chat=?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2")         \
    X(TURN_TRIM, "DELETE FROM turns WHERE seq IN "                                                 \
                 "(SELECT seq FROM turns WHERE chat=?1 ORDER BY seq DESC LIMIT ?2 OFFSET ?3)")     \
    X(PAST_SET, "INSERT OR REPLACE INTO pasts(chat,seq,first,data) VALUES(?1,?2,?3,?4)")           \
    X(PAST_GET, "SELECT data FROM pasts WHERE chat=?1")                                            \
    X(PAST_CLEAR, "DELETE FROM pasts WHERE chat=?1 AND first<?2")                                  \
    X(PAST_KEEP, "DELETE FROM pasts WHERE chat IN (SELECT chat FROM pasts WHERE seq<?1 LIMIT ?2)") \
    X(TURN_GET, "SELECT wire,message,turn FROM turns WHERE seq=?1")                                \
    X(TURN_SIZE, "SELECT length(turn) FROM turns WHERE seq=?1")                                    \
    X(TURN_CLEAR, "DELETE FROM turns WHERE chat=?1 AND seq<?2")                                    \
    X(TURN_REMOVE, "DELETE FROM turns WHERE seq=?1")                                               \
    X(OUTBOX_INSERT,                                                                               \
      "INSERT INTO outbox(id,state,begun,renderer,parts_done,parts,attempts,chat,intent,channel,"  \
      "error,route,text,salt,made) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15) "    \
      "ON CONFLICT(id) DO NOTHING")                                                                \
    X(OUTBOX_UPDATE, "UPDATE outbox SET "                                                          \
                     "state=?2,begun=?3,renderer=?4,parts_done=?5,parts=?6,attempts=?7,error=?8,"  \
                     "ended=max(ended,?9) "                                                        \
                     "WHERE id=?1")                                                                \
    X(OUTBOX_FAIL, "UPDATE outbox SET state=?2,error=?3,ended=max(ended,?4) WHERE id=?1")          \
    X(OUTBOX_GET,                                                                                  \
      "SELECT "                                                                                    \
      "id,state,begun,renderer,parts_done,parts,attempts,chat,intent,channel,error,route,text,"    \
      "salt,made,ended "                                                                           \
      "FROM outbox WHERE id=?1")                                                                   \
    X(OUTBOX_HEAD,                                                                                 \
      "SELECT "                                                                                    \
      "id,state,begun,renderer,parts_done,parts,attempts,chat,intent,channel,'','','',"            \
      "salt,made,ended "                                                                           \
      "FROM outbox WHERE id=?1")                                                                   \
    X(OUTBOX_OPEN, "SELECT id FROM outbox WHERE state<=1 ORDER BY +id")                            \
    X(OUTBOX_RUN,                                                                                  \
      "SELECT "                                                                                    \
      "id,state,begun,renderer,parts_done,parts,attempts,chat,intent,channel,error,route,text,"    \
      "salt,made,ended "                                                                           \
      "FROM outbox WHERE id>=?1 AND id<?2 ORDER BY id")                                            \
    X(OUTBOX_IS_OPEN, "SELECT 1 FROM outbox WHERE id>=?1 AND id<?2 AND +state<=1")                 \
    X(OUTBOX_DELETE, "DELETE FROM outbox WHERE id>=?1 AND id<?2")                                  \
    X(CURSOR_SET, "INSERT INTO cursors(name,value) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET " \
                  "value=excluded.value WHERE value<>excluded.value")                              \
    X(CURSOR_GET, "SELECT value FROM cursors WHERE name=?1")                                       \
    X(CONTACT_SET,                                                                                 \
      "INSERT OR REPLACE INTO contacts(id,channel,name,chat,key,type,thread,person,message,wall) " \
      "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)")                                                    \
    X(CONTACT_TOUCH, "UPDATE contacts SET message=?2,wall=?3 WHERE id=?1")                         \
    X(CONTACT_NAMED, "SELECT " SMA_STATE_CONTACT_COLUMNS " FROM contacts "                         \
                     "WHERE name=?1 COLLATE NOCASE")                                               \
    X(CONTACT_GET, "SELECT " SMA_STATE_CONTACT_COLUMNS " FROM contacts WHERE id=?1")               \
    X(CONTACT_PERSON, "SELECT id,name FROM contacts WHERE person=?1 AND channel=?2")               \
    X(CONTACT_TIMES, "SELECT id,wall FROM contacts WHERE id>?1 ORDER BY id LIMIT ?2")              \
    X(CONTACT_LAST, "SELECT max(id) FROM contacts")                                                \
    X(ACCESS_SET, "INSERT INTO access(key,value) VALUES(?1,?2) ON CONFLICT(key) DO UPDATE SET "    \
                  "value=excluded.value")                                                          \
    X(ACCESS_DELETE, "DELETE FROM access WHERE key=?1")                                            \
    X(ACCESS_GET, "SELECT value FROM access WHERE key=?1")                                         \
    X(ACCESS_PAGE, "SELECT key,value FROM access WHERE key>?1 AND key<?2 ORDER BY key LIMIT ?3")   \
    X(ACCESS_UNDER, "SELECT key,value FROM access WHERE key>=?1 AND key<?2 ORDER BY key")          \
    X(MESSAGE_AUTHORS, "SELECT DISTINCT chat,person FROM messages WHERE person<>''")               \
    X(APPROVAL_INSERT,                                                                             \
      "INSERT INTO approvals(id,run,chat,state,step,created,left_ms,responded,request,doc) "       \
      "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10) ON CONFLICT(id) DO NOTHING")                         \
    X(APPROVAL_UPDATE, "UPDATE approvals SET state=?2,left_ms=?3,responded=?4,doc=?5 WHERE id=?1") \
    X(APPROVAL_END,                                                                                \
      "UPDATE approvals SET state=?2,left_ms=?3,responded=?4,doc=?5,request='' WHERE id=?1")       \
    X(APPROVAL_LEFT, "UPDATE approvals SET left_ms=?2 WHERE id=?1")                                \
    X(APPROVAL_GET,                                                                                \
      "SELECT id,run,chat,state,step,created,left_ms,responded,request,doc FROM approvals "        \
      "WHERE id=?1")                                                                               \
    X(APPROVAL_IDS, "SELECT id FROM approvals WHERE id>=?1 AND id<?2 LIMIT 2")                     \
    X(ASKED_EACH, "SELECT a.id,a.run,a.chat,a.step,a.left_ms,m.chat,m.state FROM approvals a "     \
                  "LEFT JOIN messages m ON m.seq=a.run WHERE a.state=0 ORDER BY a.run")            \
    X(ASKED_DROP, "DELETE FROM approvals WHERE state=0 AND run=?1")                                \
    X(OUTBOX_PLACES,                                                                               \
      "SELECT id,chat FROM outbox WHERE id>=?1 AND id<=?2 AND intent=?3 ORDER BY id")              \
    X(GRANT_INSERT,                                                                                \
      "INSERT INTO grants(id,chat,created,until,tool,rule,person) VALUES(?1,?2,?3,?4,?5,?6,?7) "   \
      "ON CONFLICT(id) DO NOTHING")                                                                \
    X(GRANT_DELETE, "DELETE FROM grants WHERE id=?1")                                              \
    X(GRANT_OF_CHAT, "SELECT seq,id,chat,created,until,tool,rule,person FROM grants "              \
                     "WHERE chat=?1 ORDER BY seq")                                                 \
    X(GRANT_FIND, "SELECT seq,id,chat,created,until,tool,rule,person FROM grants "                 \
                  "WHERE id>=?1 AND id<?2 LIMIT 2")                                                \
    X(GRANT_NEXT, "SELECT seq,id,chat,created,until,tool,rule,person FROM grants "                 \
                  "WHERE seq>?1 ORDER BY seq LIMIT ?2")                                            \
    X(GRANT_FORGET, "DELETE FROM grants WHERE seq IN (SELECT seq FROM grants "                     \
                    "WHERE until>0 AND until<=?1 ORDER BY until LIMIT ?2)")                        \
    X(WAIT_SET, "INSERT OR REPLACE INTO waits(run,due,length) VALUES(?1,?2,?3)")                   \
    X(WAIT_REMOVE, "DELETE FROM waits WHERE run=?1")                                               \
    X(WAIT_SWEEP, "DELETE FROM waits WHERE NOT EXISTS"                                             \
                  "(SELECT 1 FROM messages WHERE seq=waits.run AND state=4)")                      \
    X(WAIT_EACH, "SELECT run,due,length FROM waits ORDER BY run")                                  \
    X(LEARNED_PUT, "INSERT INTO learned(target,member,seen) VALUES(?1,?2,?3) "                     \
                   "ON CONFLICT(target,member) DO UPDATE SET seen=excluded.seen")                  \
    X(LEARNED_CUT_TARGETS,                                                                         \
      "DELETE FROM learned WHERE target IN (SELECT target FROM learned WHERE target<>?1 "          \
      "GROUP BY target ORDER BY max(seen) DESC,target LIMIT -1 OFFSET ?2)")                        \
    X(LEARNED_CUT_MEMBERS,                                                                         \
      "DELETE FROM learned WHERE target=?1 AND member IN (SELECT member FROM learned WHERE "       \
      "target=?1 AND member<>?3 ORDER BY seen DESC,member LIMIT -1 OFFSET ?2)")                    \
    X(LEARNED_FORGET, "DELETE FROM learned WHERE seen<?1 OR seen>?2")                              \
    X(LEARNED_EACH,                                                                                \
      "SELECT target,member FROM learned WHERE seen BETWEEN ?1 AND ?2 ORDER BY target,member")     \
    X(USAGE_UPDATE,                                                                                \
      "UPDATE usage SET requests=requests+?6,input=input+?7,cached=cached+?8,written=written+?9,"  \
      "output=output+?10,reasoning=reasoning+?11,cost=cost+?12 "                                   \
      "WHERE day=?1 AND chat=?2 AND person=?3 AND platform=?4 AND target=?5")                      \
    X(USAGE_INSERT,                                                                                \
      "INSERT INTO usage(day,chat,person,platform,target,requests,input,cached,written,output,"    \
      "reasoning,cost) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)")                            \
    X(USAGE_COUNT, "SELECT count(*) FROM usage WHERE day=?1")                                      \
    X(USAGE_FORGET, "DELETE FROM usage WHERE day<?1")                                              \
    X(USAGE_BY_DAY, "SELECT day,''," SMA_USAGE_SUMS "GROUP BY day ORDER BY day DESC LIMIT ?3")     \
    X(USAGE_BY_CHAT, "SELECT chat,''," SMA_USAGE_SUMS "GROUP BY +chat" SMA_USAGE_ORDER)            \
    X(USAGE_BY_PERSON, "SELECT 0,person," SMA_USAGE_SUMS "GROUP BY +person" SMA_USAGE_ORDER)       \
    X(USAGE_BY_PLATFORM, "SELECT 0,platform," SMA_USAGE_SUMS "GROUP BY platform" SMA_USAGE_ORDER)  \
    X(USAGE_BY_TARGET, "SELECT 0,target," SMA_USAGE_SUMS "GROUP BY target" SMA_USAGE_ORDER)        \
    X(USAGE_OF_DAY,                                                                                \
      "SELECT chat,person,platform,target,requests,input,cached,written,output,reasoning,cost "    \
      "FROM usage WHERE day=?1 AND (?2=0 OR chat=?2 OR chat IN "                                   \
      "(SELECT id FROM chats WHERE moved=?2 AND moved<>0))")                                       \
    X(USAGE_TOTAL, "SELECT 0,''," SMA_USAGE_SUMS "HAVING count(*)>0 LIMIT ?3")                     \
    X(USAGE_OF_PERSON,                                                                             \
      "SELECT sum(requests),sum(input),sum(cached),sum(written),sum(output),sum(reasoning),"       \
      "sum(cost) FROM usage WHERE day>=?1 AND person=?2")                                          \
    X(SPENT_ADD, "INSERT INTO spent(scope,name,day,tokens,cost,runs) VALUES(?1,?2,?3,?4,?5,?6) "   \
                 "ON CONFLICT(scope,name,day) DO UPDATE SET tokens=tokens+excluded.tokens,"        \
                 "cost=cost+excluded.cost,runs=runs+excluded.runs")                                \
    X(SPENT_SET, "INSERT OR REPLACE INTO spent(scope,name,day,tokens,cost,runs) "                  \
                 "VALUES(?1,?2,?3,?4,?5,?6)")                                                      \
    X(SPENT_SUM,                                                                                   \
      "SELECT " SMA_SPENT_SUM_OF("tokens") "," SMA_SPENT_SUM_OF("cost") "," SMA_SPENT_SUM_OF(      \
          "runs") " FROM spent WHERE scope=?1 AND name=?2 AND day BETWEEN ?3 AND ?4")              \
    X(SPENT_CLEAR, "DELETE FROM spent")                                                            \
    X(SPENT_FILL_PERSONS,                                                                          \
      "INSERT INTO spent SELECT 1,person,day,sum(input+cached+written+output),sum(cost),0 "        \
      "FROM usage WHERE day>=?1 AND person<>'' GROUP BY day,+person")                              \
    X(SPENT_FILL_CHATS,                                                                            \
      "INSERT INTO spent SELECT 2,chat,day,sum(input+cached+written+output),sum(cost),0 "          \
      "FROM usage WHERE day>=?1 AND chat<>0 GROUP BY day,chat")                                    \
    X(SPENT_FILL_PLATFORMS,                                                                        \
      "INSERT INTO spent SELECT 3,platform,day,sum(input+cached+written+output),sum(cost),0 "      \
      "FROM usage WHERE day>=?1 AND platform<>'' GROUP BY day,platform")                           \
    X(SPENT_FILL_TOTAL,                                                                            \
      "INSERT INTO spent SELECT 4,'',day,sum(input+cached+written+output),sum(cost),0 "            \
      "FROM usage WHERE day>=?1 GROUP BY day")                                                     \
    X(KEEP_SPENT, "DELETE FROM spent WHERE (scope,name,day) IN "                                   \
                  "(SELECT scope,name,day FROM spent WHERE day<?1 ORDER BY day LIMIT ?2)")         \
    X(SHARE_SET, "INSERT OR REPLACE INTO shares(seq,chat,person,platform,tokens,cost,runs) "       \
                 "VALUES(?1,?2,?3,?4,?5,?6,?7)")                                                   \
    X(SHARE_REMOVE, "DELETE FROM shares WHERE seq=?1")                                             \
    X(SHARE_SWEEP, "DELETE FROM shares WHERE NOT EXISTS"                                           \
                   "(SELECT 1 FROM messages WHERE seq=shares.seq AND state BETWEEN 2 AND 4)")      \
    X(SHARE_EACH, "SELECT seq,chat,person,platform,tokens,cost,runs FROM shares ORDER BY seq")     \
    X(ASIDE_EACH, "SELECT chat,from_seq FROM asides ORDER BY chat")                                \
    X(ASIDE_GET, "SELECT from_seq FROM asides WHERE chat=?1")                                      \
    X(ASIDE_SET, "INSERT OR REPLACE INTO asides(chat,from_seq) VALUES(?1,?2)")                     \
    X(ASIDE_DROP, "DELETE FROM asides WHERE chat=?1")                                              \
    X(LINE_PLACE, "UPDATE messages SET generation=?2,place=?3 WHERE seq=?1")                       \
    X(META_SET, "INSERT INTO meta(name,value) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET "      \
                "value=excluded.value")                                                            \
    X(META_GET, "SELECT value FROM meta WHERE name=?1")                                            \
    X(BLOCK_INSERT, "INSERT INTO claims(id,last_seq,uptime,pairs) VALUES(?1,?2,?3,?4)")            \
    X(BLOCK_UPDATE, "UPDATE claims SET pairs=?2 WHERE id=?1")                                      \
    X(BLOCK_GET, "SELECT pairs FROM claims WHERE id=?1")                                           \
    X(BLOCK_DELETE, "DELETE FROM claims WHERE id=?1")                                              \
    X(BLOCK_EACH, "SELECT id,last_seq,uptime,pairs FROM claims ORDER BY id")

enum sma_state_sql
{
#define X(name, sql) SMA_SQL_##name,
    SMA_STATE_SQL_MAP(X)
#undef X
        SMA_SQL_COUNT
};

struct sma_state_chat_entry
{
    struct sma_state_chat pub;                   /* first: the caller's pointer is ours */
    struct sma_state_chat_entry *next, *next_id; /* with the same hash of the key, of the id */
    struct sma_state_chat_entry *newer, *older;  /* in order of use */
    uint64_t hash;
    uint64_t saved_in;      /* number of the transaction or savepoint that has a copy of pub */
    const char *plan_after; /* while a commit frees the plans of its copies */
    struct sma_state_chat_entry *moved_to;    /* NULL: a chat; else a former key of this one */
    struct sma_state_chat_entry *next_former; /* the next record of a former key of this chat */
    uint32_t moved_id;                        /* while loading */
};

struct sma_state_contact_entry
{
    struct sma_state_contact_entry *next; /* with the same name */
    struct sma_state_name *name;
    struct sma_state_contact pub; /* slices into bytes */
    int64_t id;
    size_t message_id_capacity;
    bool is_late; /* its message id and time are newer than its row */
    char bytes[];
};

enum sma_state_undo_kind
{
    SMA_UNDO_CLAIM_ADD,
    SMA_UNDO_CLAIM_REMOVE,
    SMA_UNDO_OPEN_ADD,
    SMA_UNDO_OPEN_REMOVE,
    SMA_UNDO_CHAT_ADD,
    SMA_UNDO_CHAT_CHANGE, /* a: index of the copy, b: the saved_in before */
    SMA_UNDO_CHAT_REMOVE,
    SMA_UNDO_CONTACT,
    SMA_UNDO_CHAT_MOVE, /* p, q: the two records; a: the former place, b: the former next_former */
};
struct sma_state_undo
{
    enum sma_state_undo_kind kind;
    uint64_t a, b;
    void *p, *q;
};

/* What the tables in memory are brought back to. */
struct sma_state_savepoint
{
    bool is_open, is_begun; /* is_begun: SQLite has it too, something changed behind it */
    bool is_block_done, is_block_removed;
    size_t undo, saves, pending;
    uint64_t next_seq, save_floor;
};

struct sma_state_pair
{
    uint64_t hash, seq;
};
struct sma_state_block
{
    int64_t id;
    uint64_t last_seq, uptime_ms;
};

/* A growing array; elements are moved by realloc. */
#define SMA_STATE_ARRAY(type)   \
    struct                      \
    {                           \
        type *items;            \
        size_t count, capacity; \
    }

#define SMA_STATE_CHAT_KEPT_MAX 8192
#define SMA_STATE_CHATS_REMOVED "state.chats_removed"
struct sma_state_chats
{
    struct sma_state_chat_entry **by_key, **by_id;
    size_t bucket_count; /* of each; power of two */
    size_t count, kept_max;
    struct sma_state_chat_entry *newest, *oldest; /* in order of use */
    uint64_t reads, reads_swept;
    uint32_t last_id; /* numbers are never used again */
    uint64_t removed; /* records below it that are not there */
};

#define SMA_STATE_NAME_BUCKETS 4096
struct sma_state_names
{
    struct sma_state_name **buckets;
    size_t count, kept_max;
    struct sma_state_name *newest, *oldest; /* in order of use */
    uint64_t reads, reads_swept;
};

struct sma_state_checkpointer;
/* How checkpoints went. */
struct sma_state_passes
{
    bool is_trouble; /* the last one failed or was held back, since then */
    int rc, os_errno;
    uint64_t since_ns, failure_count;
};

struct sma_state
{
    uint32_t turn_count_max; /* turns of a chat that are kept and read */
    uint32_t magic;
    sqlite3 *db;
    sqlite3_stmt *statements[SMA_SQL_COUNT];
    const struct sma_sys *sys;
    char *path;
    struct sma_error error;
    bool is_new, was_clean, is_fatal, is_durability_none, is_single_threaded;

    /* the transaction */
    /* callbacks that look at a row under its statement: nothing may be changed */
    uint32_t live_reads;
    bool is_in_transaction, is_begun; /* is_begun: SQL BEGIN was done, something changed */
    enum sma_err failed;              /* of the first failed change */
    uint64_t save_number;             /* counts transactions and savepoints */
    uint64_t save_floor;              /* a chat saved in this one or later needs no further copy */
    struct sma_state_savepoint savepoint;
    uint64_t next_seq, next_seq_at_begin, durable_seq;
    SMA_STATE_ARRAY(struct sma_state_undo) undo;
    SMA_STATE_ARRAY(struct sma_state_chat) saves;

    /* chats */
    struct sma_state_chats chats;
    uint8_t key[16]; /* of every hash; kept in meta */

    /* open rows: ascending seqs in items[head, count) */
    SMA_STATE_ARRAY(uint64_t) open;
    size_t open_head;

    /* claims */
    struct sma_claims claims;
    uint64_t (*test_hash)(const void *bytes, size_t len);
    SMA_STATE_ARRAY(struct sma_state_pair)
    pending; /* claims in no generation yet, in order of seq */
    size_t pending_at_begin, pending_taken;
    SMA_STATE_ARRAY(struct sma_state_block) blocks;
    size_t blocks_at_begin;
    uint64_t claims_soft, claims_hard, claims_age_min_ms;
    uint64_t claims_age_ms; /* how old those are that are written now */
    uint64_t expired_early;
    uint8_t *block_bytes; /* scratch of one generation */
    struct
    {
        size_t index;      /* generation under way */
        uint64_t next_seq; /* where its next slice starts; 0 = at its first */
        SMA_STATE_ARRAY(struct sma_state_pair) kept;      /* claims of unfinished rows */
        bool is_touched, is_block_removed, is_block_done; /* by the open transaction */
    } expiry;

    /* marks */
    uint64_t uptime_base_ms, opened_ns;
    uint64_t history_flushed;
    bool has_asides; /* there may be chats that are set aside */
    bool is_marks_dirty, is_marks_taken, is_unclean_written;
    bool is_marks_forced;              /* this transaction must write them */
    uint64_t marks_commits, marks_seq; /* commits since, next_seq at the last writing */

    /* contacts */
    struct sma_state_names names;
    uint64_t contact_news;
    int64_t contact_last_id;
    SMA_STATE_ARRAY(struct sma_state_contact_entry *) late;

    /* retention */
    int64_t hour_noted;     /* since 1970; its first seq is in the table. -1: not known */
    uint64_t results_total; /* bytes of all results so far */
    bool is_results_known;
    uint64_t stripped_below; /* rows with less have neither line nor facts, unless they are open */
    bool is_stripped_known;

    /* usage: rows of this day, counted; is_usage_counted false: not known */
    int64_t usage_day;
    uint32_t usage_row_count;
    bool is_usage_counted;

    /* slices of a head */
    char head_event[SMA_ID_BYTES_MAX + 1], head_user[SMA_ID_BYTES_MAX + 1];

    /* checkpoints and counting */
    struct sma_state_checkpointer *checkpointer;
    uint64_t wal_frames, wal_frames_asked,
        wal_frames_grown; /* grown: frames of the pre-grown size */
    uint64_t wal_bytes_grown, wal_asked_ns, inline_copied;
    struct sma_state_passes passes; /* of the writer itself */
    sma_state_fatal_fn *on_fatal;
    void *on_fatal_user;
    uint64_t commits, lazy_commits, inline_checkpoints;
    struct sma_state_vfs_counts counts_at_open;
};

#define SMA_STATE_MAGIC 0x53544d31u

/* Make room for one more element, then SMA_STATE_PUSH cannot fail. */
enum sma_err sma_state_array_grow(void *items, size_t *capacity, size_t count,
                                  size_t item_bytes) SMA_CHECKED;
#define SMA_STATE_RESERVE(array)                                                       \
    sma_state_array_grow((void *)&(array).items, &(array).capacity, (array).count + 1, \
                         sizeof *(array).items)
#define SMA_STATE_PUSH(array, ...) ((array).items[(array).count++] = (__VA_ARGS__))

/* state.c */
SMA_CHECKED enum sma_err sma_state_change(struct sma_state *state); /* before every change */
enum sma_err sma_state_fail(struct sma_state *state, int rc,
                            const char *what); /* maps, notes, marks the transaction */
enum sma_err sma_state_fail_change(struct sma_state *state,
                                   enum sma_err err); /* marks the transaction failed */
/** What a row holds cannot be: CORRUPT, and nothing else is the worse for it. */
SMA_CHECKED enum sma_err sma_state_damaged(struct sma_state *state, const char *what);
/** A failed change that another row would not have: its savepoint can be undone. */
bool sma_state_is_of_item(enum sma_err err);
/* state_undo.c */
SMA_CHECKED enum sma_err sma_state_undo_push(struct sma_state *state, struct sma_state_undo undo);
void sma_state_undo_all(struct sma_state *state);    /* the transaction has no effect */
void sma_state_undo_forget(struct sma_state *state); /* the transaction is durable */
SMA_CHECKED enum sma_err sma_state_savepoint_begin(struct sma_state *state);
/* state_schema.c */
SMA_CHECKED enum sma_err sma_state_migrate(struct sma_state *state);
sqlite3_stmt *sma_state_statement(struct sma_state *state,
                                  enum sma_state_sql sql); /* NULL: state->error is filled */
SMA_CHECKED enum sma_err sma_state_run(struct sma_state *state,
                                       sqlite3_stmt *stmt); /* step to the end, reset */
void sma_state_done(sqlite3_stmt *stmt);                    /* reset and forget the bindings */
void sma_state_bind(sqlite3_stmt *stmt, int index, struct sma_str bytes, bool is_text);
static inline void sma_state_bind_int(sqlite3_stmt *stmt, int index, int64_t number)
{
    (void)sqlite3_bind_int64(stmt, index, number); /* a valid index cannot fail */
}
/** Where a history line begins: a column that is NULL while it is not known. */
int64_t sma_state_column_place(sqlite3_stmt *stmt, int index);
/** The first number a bound statement answers with. NOTFOUND: no row. */
SMA_CHECKED enum sma_err sma_state_ask_number(struct sma_state *state, sqlite3_stmt *stmt,
                                              uint64_t *ret_number);
/** Named values, without a transaction of their own. */
SMA_CHECKED enum sma_err sma_state_meta_write(struct sma_state *state, struct sma_str name,
                                              struct sma_str value);
SMA_CHECKED enum sma_err sma_state_meta_read(struct sma_state *state, struct sma_str name,
                                             char *bytes, size_t max, size_t *ret_len);
struct sma_str sma_state_column(sqlite3_stmt *stmt, int index);
/** Copy these slices into one piece of memory, so that the statement they come from can be reset.
 *  free() it; NULL: NOMEM. */
char *sma_state_own(struct sma_str *const *slices, size_t count);
/* state_read.c */
/** Must the row of this line stay because its chat is set aside? (state_asides.c) */
SMA_CHECKED enum sma_err sma_state_line_is_aside(struct sma_state *state, uint32_t chat_id,
                                                 uint64_t seq, bool *ret_is);
void *sma_state_rows_take(struct sma_state_rows *rows, size_t bytes); /* NULL: NOMEM */
SMA_CHECKED enum sma_err sma_state_rows_own(struct sma_state_rows *rows,
                                            struct sma_str *const *slices, size_t count);
SMA_CHECKED enum sma_err sma_state_fail_row(struct sma_state *state, int rc, const char *what);
/* The row under a statement; its slices are the statement's. */
SMA_CHECKED enum sma_err sma_state_message_row(struct sma_state *state, sqlite3_stmt *stmt,
                                               struct sma_state_message *ret_message);
SMA_CHECKED enum sma_err sma_state_delivery_row(struct sma_state *state, sqlite3_stmt *stmt,
                                                struct sma_state_delivery *ret_delivery);
SMA_CHECKED enum sma_err sma_state_approval_row(struct sma_state *state, sqlite3_stmt *stmt,
                                                struct sma_state_approval *ret_approval);
/* state_chats.c */
SMA_CHECKED enum sma_err sma_state_chats_load(struct sma_state *state);
void sma_state_chats_free(struct sma_state *state);
void sma_state_chats_sweep(struct sma_state *state); /* with an empty undo log only */
void sma_state_chat_link(struct sma_state *state, struct sma_state_chat_entry *chat);
void sma_state_chat_unlink(struct sma_state *state, struct sma_state_chat_entry *chat);
void sma_state_chat_free(struct sma_state_chat_entry *chat);
/** The newest chat was never made. */
void sma_state_chat_unmake(struct sma_state *state, struct sma_state_chat_entry *chat);
/** Keep the chat of the row under the statement, which is not kept yet. OK | NOMEM | CORRUPT (this
 *  row). */
SMA_CHECKED enum sma_err sma_state_chat_read(struct sma_state *state, sqlite3_stmt *stmt,
                                             struct sma_state_chat_entry **ret_chat);
SMA_CHECKED enum sma_err sma_state_chat_visit(struct sma_state *state, uint32_t id,
                                              sma_state_chat_fn *each, void *user);
void sma_state_chat_remove_undo(struct sma_state *state, struct sma_state_chat_entry *entry);
SMA_CHECKED enum sma_err sma_state_contacts_forget(struct sma_state *state, struct sma_str chat_key,
                                                   uint32_t rows_max, uint32_t *ret_removed);
/** The record with this id, wherever its chat has gone. OK | NOTFOUND | IO ... */
SMA_CHECKED enum sma_err sma_state_chat_record(struct sma_state *state, uint32_t id,
                                               struct sma_state_chat_entry **ret_record);
/** The id of the chat that a record stands for. Reads nothing. */
uint32_t sma_state_chat_id_of(const struct sma_state *state, uint32_t record_id);
/** Somebody writes in it today: a row is written once a day. */
SMA_CHECKED enum sma_err sma_state_chat_seen(struct sma_state *state, struct sma_state_chat *chat);
/** Before a change of a chat's row, and after it. */
SMA_CHECKED enum sma_err sma_state_chat_begin(struct sma_state *state, struct sma_state_chat *chat);
SMA_CHECKED enum sma_err sma_state_chat_write(struct sma_state *state,
                                              const struct sma_state_chat *chat);
SMA_CHECKED enum sma_err sma_state_chat_save(struct sma_state *state, struct sma_state_chat *chat);
/* state_move.c */
void sma_state_chat_move_undo(struct sma_state *state, const struct sma_state_undo *undo);
void sma_state_chat_move_done(const struct sma_state_undo *undo);
SMA_CHECKED enum sma_err sma_state_moves_load(struct sma_state *state);
void sma_state_chat_relink(struct sma_state *state, struct sma_state_chat_entry *chat,
                           struct sma_str key);
/* state_turns.c */
SMA_CHECKED enum sma_err sma_state_turn_add(struct sma_state *state,
                                            const struct sma_state_chat *chat,
                                            const struct sma_state_finish *finish);
SMA_CHECKED enum sma_err sma_state_turns_clear(struct sma_state *state,
                                               const struct sma_state_chat *chat, uint64_t below);
/* state_messages.c */
SMA_CHECKED enum sma_err sma_state_tail_load(struct sma_state *state, uint64_t low,
                                             uint64_t covered);
SMA_CHECKED enum sma_err sma_state_open_add(struct sma_state *state, uint64_t seq);
void sma_state_open_remove(struct sma_state *state, uint64_t seq);
SMA_CHECKED enum sma_err sma_state_row_state_noted(struct sma_state *state, uint64_t seq,
                                                   int row_state);
/* state_claims.c */
uint64_t sma_state_claim_hash(const struct sma_state *state, uint32_t chat_id, uint8_t kind,
                              struct sma_str event_key);
SMA_CHECKED enum sma_err sma_state_claim_add(struct sma_state *state, uint64_t hash, uint64_t seq);
SMA_CHECKED enum sma_err sma_state_blocks_load(struct sma_state *state, uint64_t *ret_covered);
SMA_CHECKED enum sma_err sma_state_blocks_write(struct sma_state *state);
void sma_state_blocks_committed(struct sma_state *state);
void sma_state_blocks_undone(struct sma_state *state);
/* state_keep.c */
SMA_CHECKED enum sma_err sma_state_hour_note(struct sma_state *state);
/** The running sum after a result of so many bytes. */
SMA_CHECKED enum sma_err sma_state_results_add(struct sma_state *state, uint64_t bytes,
                                               uint64_t *ret_total);
void sma_state_keep_undone(struct sma_state *state);
SMA_CHECKED enum sma_err sma_state_ask_pragma(struct sma_state *state, const char *text,
                                              uint64_t *ret_number);
/* state_marks.c */
SMA_CHECKED enum sma_err sma_state_marks_load(struct sma_state *state);
SMA_CHECKED enum sma_err sma_state_marks_write(struct sma_state *state, bool is_forced);
void sma_state_marks_committed(struct sma_state *state);
/* state_usage.c */
#define SMA_STATE_USAGE_BYTES 56
/** For a column: empty when nothing was used. */
struct sma_str sma_state_usage_put(const struct sma_usage *usage,
                                   char bytes[SMA_STATE_USAGE_BYTES]);
void sma_state_usage_get(struct sma_str bytes, struct sma_usage *ret_usage);
/* state_contacts.c */
void sma_state_contacts_sweep(struct sma_state *state); /* with an empty undo log only */
SMA_CHECKED enum sma_err sma_state_contacts_load(struct sma_state *state);
void sma_state_contacts_free(struct sma_state *state);
void sma_state_contact_swap(struct sma_state *state, struct sma_state_contact_entry *out,
                            struct sma_state_contact_entry *in);
SMA_CHECKED enum sma_err sma_state_contacts_flush(struct sma_state *state, size_t count_max);
/* state_checkpoint.c */
SMA_CHECKED enum sma_err sma_state_checkpointer_start(struct sma_state *state);
void sma_state_checkpointer_stop(struct sma_state *state);
void sma_state_checkpoint_after_commit(struct sma_state *state);
void sma_state_checkpoint_before_begin(struct sma_state *state);
/* state_wal.c */
void sma_state_wal_limit(struct sma_state *state, bool is_closing);
/** After an unclean end, before anything is written: see there. */
SMA_CHECKED enum sma_err sma_state_wal_settle(struct sma_state *state);
void sma_state_wal_reader(const struct sma_state *state, char *name, size_t name_max);
/* state.c */
sqlite3_file *sma_state_wal_file(struct sma_state *state); /* NULL: it is not open */
/** With its checkpoint, unless an fsync has failed: that may not be asked again. */
void sma_state_close_connection(sqlite3 *db, bool is_fatal);
SMA_CHECKED enum sma_err sma_state_wal_grow(struct sma_state *state, uint64_t wal_bytes);

#endif
