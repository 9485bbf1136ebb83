# The store: everything durable, and the order of runs and deliveries. Its parts: docs/notes/store-actor.md.
sma_library(sma_actor_store
    SOURCES store/store.c store/part.c store/batch.c store/item.c store/trouble.c store/chat.c store/map.c store/facts.c
            store/lines.c store/asides.c store/flush.c store/recover.c store/import.c
            store/access.c store/people.c store/people_keep.c store/pairing.c store/paired.c store/people_list.c store/known.c store/let_in.c store/stranger.c store/strangers_keep.c
            store/approval.c store/requests.c store/clock.c store/case.c store/park.c store/decide.c store/answer.c store/meant.c store/grant.c store/project.c store/list.c
            store/runs.c store/step.c store/run_order.c store/control.c store/wait.c store/learned.c store/usage.c store/usage_sum.c store/trace.c store/seen.c
            store/runs_load.c store/suspect.c
            store/intake.c store/accept.c store/notice.c store/prepare.c store/group.c store/migrate.c
            store/outbox.c store/handout.c store/aside.c store/receipt.c store/held.c store/await.c store/query.c store/lists.c store/wal.c store/contacts.c store/keep.c
    LINK sma_kernel sma_chat sma_access sma_text sma_json sma_approval sma_approval_talk sma_agent_run
    PRIVATE_LINK PkgConfig::JANSSON)
