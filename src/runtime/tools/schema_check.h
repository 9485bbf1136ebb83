/*
 * schema_check.h — do the arguments of a call fit the JSON Schema that a stranger gave for them?
 *
 * A subset: type, enum, const, properties, required, additionalProperties, items, minItems,
 * maxItems, minLength, maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, anyOf,
 * oneOf (read as anyOf: what the subset cannot see may tell the forms apart), allOf, and $ref
 * within the schema ("#/..."). Other words are ignored, so are regular expressions (a stranger's
 * may take for ever) and $ref to anywhere else: nothing is fetched. Who has the last word is the
 * server; the check is there so that a model learns what is wrong without a call.
 *
 * Untrusted: both. Bounded: SMA_SCHEMA_DEPTH_MAX deep, SMA_SCHEMA_STEP_COUNT_MAX steps; what is
 * beyond counts as fitting.
 * Threads: no state.
 */
#ifndef SMA_RUNTIME_TOOLS_SCHEMA_CHECK_H
#define SMA_RUNTIME_TOOLS_SCHEMA_CHECK_H

#include "sma/buf.h"

struct json_t;

#define SMA_SCHEMA_DEPTH_MAX 48         /* of schemas within schemas */
#define SMA_SCHEMA_STEP_COUNT_MAX 20000 /* values against schemas, and words compared */

/**
 * @why  when it does not fit, a clause for the model is appended: where, what was expected, what is
 *       there
 * @return does it fit?
 */
bool sma_schema_fits(const struct json_t *schema, const struct json_t *value, struct sma_buf *why);

#endif
