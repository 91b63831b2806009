#include "state/attend/view.h"

#include <algorithm>

#include "state/planted_fault.h"

namespace kvern::state {

bool KvPieces::operator==(const KvPieces& other) const { return std::ranges::equal(span(), other.span()); }

KvPieces KvView::pieces(int64_t position) const {
  KvPieces result;
  const auto add = [&](int64_t begin, int64_t end) {
    if (!mixed) return result.push({begin, end, KvForm::kEncoded});
    if (position < quant_start) return result.push({begin, end, KvForm::kFull});
    const int64_t encoded_begin = std::clamp(keep_first, begin, end);
    const int64_t encoded_end = std::clamp(position - keep_last + 1, encoded_begin, end);
    if (encoded_begin == encoded_end) return result.push({begin, end, KvForm::kFull});
    result.push({begin, encoded_begin, KvForm::kFull});
    result.push({encoded_begin, encoded_end, KvForm::kEncoded});
    result.push({encoded_end, end, KvForm::kFull});
  };
  const int64_t seen_sinks = planted(Fault::kSinkTooFew) && sinks > 0 ? sinks - 1 : sinks;
  int64_t begin = window_begin(position);
  if (planted(Fault::kWindowTooNarrow) && begin > 0 && begin < position) ++begin;
  if (planted(Fault::kWindowTooWide) && begin > 0) --begin;
  if (begin <= seen_sinks) {
    add(0, position + 1);
  } else {
    add(0, seen_sinks);
    add(begin, position + 1);
  }
  return result;
}

}  // namespace kvern::state
