#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/utf8_stream.h"

namespace loopless {
namespace {

const std::string kBad = "\xef\xbf\xbd";  // U+FFFD

/// What is shown after each byte, and at the end.
std::vector<std::string> shown(const std::string& bytes) {
  Utf8Stream stream;
  std::vector<std::string> result;
  for (char byte : bytes) result.push_back(stream.push(static_cast<uint8_t>(byte)));
  result.push_back(stream.finish());
  return result;
}

std::string text_of(const std::string& bytes) {
  std::string text;
  for (const std::string& part : shown(bytes)) text += part;
  return text;
}

using Parts = std::vector<std::string>;

TEST(Utf8Stream, holds_a_character_until_it_is_complete) {
  EXPECT_EQ(shown("ab"), (Parts{"a", "b", ""}));
  EXPECT_EQ(shown("\xc3\xa4!"), (Parts{"", "\xc3\xa4", "!", ""}));
  EXPECT_EQ(shown("\xe2\x82\xac"), (Parts{"", "", "\xe2\x82\xac", ""}));
  EXPECT_EQ(shown("\xf0\x9f\x99\x82"), (Parts{"", "", "", "\xf0\x9f\x99\x82", ""}));
  EXPECT_EQ(shown(std::string(1, '\0')), (Parts{std::string(1, '\0'), ""}));
}

TEST(Utf8Stream, shows_every_valid_character_as_it_is) {
  for (const char* edge :
       {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(text_of(edge), edge);
    EXPECT_EQ(text_of(std::string(edge) + edge), std::string(edge) + edge);
  }
}

TEST(Utf8Stream, shows_what_is_no_character_as_u_fffd) {
  EXPECT_EQ(text_of("a\x80z"), "a" + kBad + "z");                     // the rest of nothing
  EXPECT_EQ(text_of("\xc0\xaf"), kBad + kBad);                        // '/' in two bytes
  EXPECT_EQ(text_of("\xe0\x80\xaf"), kBad + kBad + kBad);             // '/' in three
  EXPECT_EQ(text_of("\xed\xa0\x80"), kBad + kBad + kBad);             // a surrogate
  EXPECT_EQ(text_of("\xf4\x90\x80\x80"), kBad + kBad + kBad + kBad);  // past U+10FFFF
  EXPECT_EQ(text_of("\xff"), kBad);
}

TEST(Utf8Stream, an_interrupted_character_is_one_u_fffd) {
  EXPECT_EQ(shown("\xe2\x82z"), (Parts{"", "", kBad + "z", ""}));
  EXPECT_EQ(shown("\xe2\xc3\xa4"), (Parts{"", kBad, "\xc3\xa4", ""}));
  EXPECT_EQ(shown("\xf0\x9f\x99"), (Parts{"", "", "", kBad}));
  // The example of the Unicode standard, table 3-11.
  EXPECT_EQ(text_of("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), kBad + kBad + kBad + kBad + "A");
}

TEST(Utf8Stream, starts_afresh_after_its_end) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push(0xe2), "");
  EXPECT_EQ(stream.finish(), kBad);
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.push('a'), "a");
}

}  // namespace
}  // namespace loopless
