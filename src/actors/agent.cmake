# The agent: runs and sessions. Thin: messages to events, actions to messages.
sma_library(sma_actor_agent SOURCES agent.c agent_ask.c agent_judge.c agent_learn.c agent_table.c
    LINK sma_kernel sma_agent_run sma_approval_talk sma_base)
