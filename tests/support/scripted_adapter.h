/*
 * scripted_adapter.h — the fake platform of fake_adapter.h in a real process: events come in over a
 * unix socket.
 *
 * Configuration (its block in ship.json): {"socket": path to listen on, "saw": path of the file of
 * what was seen, "isIdempotent": bool}. Use "isIdempotent" with the idempotent table. Channel
 * "scripted", chat keys "scripted:chat:<chat>".
 *
 * Protocol, lines: in  {"id": "...", "chat": "...", "user": "...", "text": "..."}
 *                  out ACCEPTED <id> <accepted|duplicate|ignored|busy|conflict|refused> <seq>
 *                      ERROR <what is wrong with the line>
 * ACCEPTED is written only after the store has answered: what was answered "accepted" is durable.
 */
#ifndef SMA_TEST_SCRIPTED_ADAPTER_H
#define SMA_TEST_SCRIPTED_ADAPTER_H

#include "sma/adapter.h"

extern const struct sma_adapter_ops scripted_adapter_ops; /* no idempotency */
/* name "scripted-idempotent" */
extern const struct sma_adapter_ops scripted_idempotent_adapter_ops;

#endif
