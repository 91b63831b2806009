// strftime conversions (C and POSIX), written out here because the library's depend on the process's locale.
#include "text/template/strftime.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "text/template/runtime.h"

namespace kvern::jinja {

namespace {

constexpr size_t kMaxFormatBytes = 256;
constexpr size_t kMaxResultBytes = 4096;
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};

std::string number(int value, int width, char pad) {
  std::string digits = std::to_string(value);
  if (pad == '-') return digits;
  while (static_cast<int>(digits.size()) < width) digits.insert(digits.begin(), pad);
  return digits;
}

int hour_of_twelve(const std::tm& time) { return time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12; }

/// Days since Monday.
int monday_based(const std::tm& time) { return (time.tm_wday + 6) % 7; }

struct IsoWeek {
  int year = 0;
  int week = 0;
};

/// ISO 8601: week 1 is the one with the year's first Thursday.
IsoWeek iso_week(const std::tm& time) {
  const int year = time.tm_year + 1900;
  const int week = (time.tm_yday - monday_based(time) + 10) / 7;
  const auto weeks_in = [](int y) {
    const auto dec31 = [](int n) { return (n + n / 4 - n / 100 + n / 400) % 7; };
    return dec31(y) == 4 || dec31(y - 1) == 3 ? 53 : 52;
  };
  if (week < 1) return {year - 1, weeks_in(year - 1)};
  if (week > weeks_in(year)) return {year + 1, 1};
  return {year, week};
}

class TimeFormatter {
 public:
  explicit TimeFormatter(const std::tm& time, int64_t epoch) : time_(time), epoch_(epoch) {}
  Result<std::string> run(std::string_view format);

 private:
  bool text_field(std::string& out, char conversion) const;
  bool number_field(std::string& out, char conversion, char pad) const;
  static std::string_view composite(char conversion);

  const std::tm& time_;
  int64_t epoch_;
};

std::string_view TimeFormatter::composite(char conversion) {
  switch (conversion) {
    case 'F':
      return "%Y-%m-%d";
    case 'T':
      return "%H:%M:%S";
    case 'X':
      return "%H:%M:%S";
    case 'D':
      return "%m/%d/%y";
    case 'x':
      return "%m/%d/%y";
    case 'R':
      return "%H:%M";
    case 'r':
      return "%I:%M:%S %p";
    case 'c':
      return "%a %b %e %H:%M:%S %Y";
    default:
      return {};
  }
}

bool TimeFormatter::text_field(std::string& out, char conversion) const {
  const std::string_view day = kDays[static_cast<size_t>(time_.tm_wday)];
  const std::string_view month = kMonths[static_cast<size_t>(time_.tm_mon)];
  switch (conversion) {
    case 'A':
      out += day;
      return true;
    case 'a':
      out += day.substr(0, 3);
      return true;
    case 'B':
      out += month;
      return true;
    case 'b':
    case 'h':
      out += month.substr(0, 3);
      return true;
    case 'p':
      out += time_.tm_hour < 12 ? "AM" : "PM";
      return true;
    case 'P':
      out += time_.tm_hour < 12 ? "am" : "pm";
      return true;
    case 'Z':
      out += "UTC";
      return true;
    case 'z':
      out += "+0000";
      return true;
    case 'n':
      out += '\n';
      return true;
    case 't':
      out += '\t';
      return true;
    case '%':
      out += '%';
      return true;
    case 's':
      out += std::to_string(epoch_);
      return true;
    default:
      return false;
  }
}

bool TimeFormatter::number_field(std::string& out, char conversion, char pad) const {
  const auto put = [&](int value, int width, char usual) {
    out += number(value, width, pad == '\0' ? usual : pad);
    return true;
  };
  const int year = time_.tm_year + 1900;
  switch (conversion) {
    case 'Y':
      return put(year, 4, '0');
    case 'y':
      return put(year % 100, 2, '0');
    case 'C':
      return put(year / 100, 2, '0');
    case 'm':
      return put(time_.tm_mon + 1, 2, '0');
    case 'd':
      return put(time_.tm_mday, 2, '0');
    case 'e':
      return put(time_.tm_mday, 2, ' ');
    case 'H':
      return put(time_.tm_hour, 2, '0');
    case 'k':
      return put(time_.tm_hour, 2, ' ');
    case 'I':
      return put(hour_of_twelve(time_), 2, '0');
    case 'l':
      return put(hour_of_twelve(time_), 2, ' ');
    case 'M':
      return put(time_.tm_min, 2, '0');
    case 'S':
      return put(time_.tm_sec, 2, '0');
    case 'f':
      return put(0, 6, '0');
    case 'j':
      return put(time_.tm_yday + 1, 3, '0');
    case 'w':
      return put(time_.tm_wday, 1, '0');
    case 'u':
      return put(monday_based(time_) + 1, 1, '0');
    case 'U':
      return put((time_.tm_yday + 7 - time_.tm_wday) / 7, 2, '0');
    case 'W':
      return put((time_.tm_yday + 7 - monday_based(time_)) / 7, 2, '0');
    case 'V':
      return put(iso_week(time_).week, 2, '0');
    case 'G':
      return put(iso_week(time_).year, 4, '0');
    default:
      return false;
  }
}

Result<std::string> TimeFormatter::run(std::string_view format) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    char pad = '\0';
    if (i + 1 < format.size() && std::string_view("-_0").contains(format[i + 1])) {
      pad = format[++i] == '_' ? ' ' : format[i];
    }
    if (++i >= format.size()) return template_error("a time format ends with '%'");
    if (const std::string_view parts = composite(format[i]); !parts.empty()) {
      KVERN_TRY(const std::string text, run(parts));
      out += text;
    } else if (!text_field(out, format[i]) && !number_field(out, format[i], pad)) {
      return template_error(std::string("unknown conversion '%") + format[i] + "' in a time format");
    }
    if (out.size() > kMaxResultBytes) return fail(ErrorCode::kExhausted, "a formatted time is too long");
  }
  return out;
}

}  // namespace

Result<std::string> format_time(std::chrono::system_clock::time_point time, const std::string& format) {
  if (format.size() > kMaxFormatBytes) return fail(ErrorCode::kExhausted, "a time format is too long");
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return template_error("the time is out of range");
  return TimeFormatter(parts, int64_t{seconds}).run(format);
}

}  // namespace kvern::jinja
