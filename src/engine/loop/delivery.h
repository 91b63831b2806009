// Hands what happens to one request to its receiver, whatever that does.
#pragma once

#include "engine/loop/row.h"

namespace kvern::engine {

/// What a receiver throws comes back as an error (kInternal), and concerns this request alone. With `best`,
/// tokens and ends of choices are held back until deliver_best(). `logprob_sum`: of the choice's tokens.
Status deliver_prompt(Request& request);
Status deliver_token(Request& request, TokenEvent event, Follows follows);
Status deliver_choice_end(Request& request, ChoiceEnd end, double logprob_sum);
/// The best choices of those that were held back, the best first, as choices 0, 1, ...
Status deliver_best(Request& request);
Status deliver_end(Request& request, const RequestEnd& end);
/// What the receiver throws now is nobody's to hear.
void deliver_error(Request& request, const Error& error);

}  // namespace kvern::engine
