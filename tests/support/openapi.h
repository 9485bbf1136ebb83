/*
 * openapi.h — is an answer of the HTTP API as docs/openapi.json describes it? A reader of the JSON
 * schema that the document uses: type, const, enum, properties, required, additionalProperties,
 * items, oneOf, minimum, maximum, maxItems, maxLength, $ref. Another keyword is a mistake.
 */
#ifndef SMA_TEST_OPENAPI_H
#define SMA_TEST_OPENAPI_H

#include <jansson.h>
#include <stdbool.h>

/** The document; loaded once. */
const json_t *openapi_document(void);
/** The path of the document that this one of a request (without its query) fits; NULL: none. */
const char *openapi_path(const char *path);
/** Does the value fit the schema? why: what does not. */
bool openapi_fits(const json_t *schema, const json_t *value, char why[200]);
/**
 * Is an answer described?
 * @request  "GET /api/runs/17?wait=3"
 * @type     its Content-Type; "" = none
 * @return   false: *why says what is not
 */
bool openapi_describes(const char *request, int status, const char *type, const char *body,
                       char why[200]);

#endif
