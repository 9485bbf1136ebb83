# The store: everything durable, and the order of runs and deliveries.
sma_library(sma_actor_store
    SOURCES store.c store_batch.c store_flush.c store_accept.c store_control.c store_runs.c store_run_order.c
            store_await.c store_outbox.c store_query.c store_recover.c store_facts.c
            store_notice.c store_approval.c store_case.c store_park.c store_decide.c store_answer.c store_grant.c store_project.c
            store_access.c store_prepare.c store_group.c store_migrate.c
            store_people.c store_pairing.c store_paired.c store_known.c store_let_in.c store_stranger.c store_meant.c store_seen.c store_trace.c
            store_held.c store_wait.c store_learned.c store_usage.c
    LINK sma_kernel sma_chat sma_access sma_text sma_json sma_approval sma_approval_talk sma_agent_run
    PRIVATE_LINK PkgConfig::JANSSON)
