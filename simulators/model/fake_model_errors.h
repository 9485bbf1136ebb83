/* fake_model_errors.h — errors in the words and shapes of each provider. Source:
 * protocols/models.md §6.3. */
#ifndef FAKE_MODEL_ERRORS_H
#define FAKE_MODEL_ERRORS_H

#include "fake_model.h"
#include "fake_model_refuse.h"

void fake_put_refusal(struct fake_response *response, const struct fake_profile *profile,
                      const struct fake_refusal *refusal, const char *more_headers);
/** The request is longer than the model's window. */
void fake_put_overflow(struct fake_response *response, const struct fake_profile *profile,
                       size_t tokens, size_t window);
/** A fault by its name in the words of the provider. false: it has none of this name. */
bool fake_put_trouble(struct fake_response *response, const struct fake_profile *profile,
                      const char *fault, const char *more_headers);
/** "field-NAME": what a server was seen to send. false: there is no such row. */
bool fake_put_field(struct fake_response *response, const char *fault, const char *more_headers);

#endif
